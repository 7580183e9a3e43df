//! What the host asks and tells a real MySQL server, by the very client that it uses.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use windlass::query::{Credentials, Databases, Network, SqlSession, Unanswered, literal};
use windlass::secrets::SecretValue;
use windlass_e2e::prelude::*;

const MYSQL: &str = include_str!("../../manifests/mysql.yaml");
/// For what should be answered, on a machine that may be busy.
const PATIENT: Duration = Duration::from_secs(10);
/// For what should not.
const SECOND: Duration = Duration::from_secs(1);
/// An account for actions, and one for queries with the rights that they need and no more.
const ACCOUNTS: &str = "
    SET sql_log_bin = 0;
    CREATE USER operator IDENTIFIED BY 'operator-password';
    GRANT ALL ON *.* TO operator WITH GRANT OPTION;
    CREATE USER observer IDENTIFIED BY 'observer-password';
    GRANT REPLICATION CLIENT, PROCESS ON *.* TO observer;
    GRANT SELECT ON performance_schema.* TO observer;";

/// A server that is up, and the host's client.
struct Subject {
    pod: Pod,
    at: SocketAddr,
    wire: Network,
}

impl Subject {
    async fn start(ns: &Namespace) -> Result<Self> {
        ns.apply(MYSQL).await?;
        let pod = ns.pod("mysql-0");
        pod.ready().await?;
        let client = [
            "mysql",
            "--user=root",
            "--socket=/tmp/mysqld.sock",
            "--execute",
            ACCOUNTS,
        ];
        pod.exec(&client).await?;
        let at = SocketAddr::new(pod.ip().await?, 3306);
        let wire = Network::default();
        Ok(Self { pod, at, wire })
    }

    async fn ask(&self, login: &Credentials, statements: &[&str]) -> Result<Value, Unanswered> {
        self.ask_within(PATIENT, login, statements).await
    }

    async fn ask_within(
        &self,
        within: Duration,
        login: &Credentials,
        statements: &[&str],
    ) -> Result<Value, Unanswered> {
        let statements: Vec<_> = statements.iter().map(|&text| text.to_owned()).collect();
        let asked = self.wire.sql(self.at, login, &statements, within).await?;
        Ok(Value::Array(asked.replies))
    }

    async fn session(&self) -> Result<Box<dyn SqlSession>, Unanswered> {
        self.wire.sql_session(self.at, &operator(), PATIENT).await
    }
}

fn login(user: &str, passwords: &[&str]) -> Credentials {
    let value = |password: &&str| SecretValue::new(password.as_bytes().to_vec());
    Credentials {
        user: user.into(),
        passwords: passwords.iter().map(value).collect(),
    }
}

fn operator() -> Credentials {
    login("operator", &["operator-password"])
}

fn observer() -> Credentials {
    login("observer", &["observer-password"])
}

#[tokio::test]
async fn a_query_reads_status_on_a_session_that_is_used_again() -> Result<()> {
    scenario(async |ns| {
        let mysql = Subject::start(ns).await?;
        let rotated = login("observer", &["a-newer-password", "observer-password"]);
        let asked = mysql
            .wire
            .sql(
                mysql.at,
                &rotated,
                &["SELECT NULL, 'ünï', ''".into()],
                PATIENT,
            )
            .await?;
        ensure!(
            asked.password == Some(1),
            "the password {:?} was accepted",
            asked.password
        );
        ensure!(
            asked.replies[0]["rows"] == json!([[null, "ünï", ""]]),
            "{:?}",
            asked.replies
        );

        let settings = "SELECT @@autocommit, @@transaction_read_only, @@time_zone, \
                        @@max_execution_time, @@sql_mode";
        let cipher = "SHOW SESSION STATUS LIKE 'Ssl_cipher'";
        let id = "SELECT CONNECTION_ID()";
        let first = mysql
            .ask(&observer(), &[settings, cipher, id, "SHOW REPLICA STATUS"])
            .await?;
        let expected = json!([
            "1",
            "1",
            "+00:00",
            "10000",
            "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
        ]);
        ensure!(
            first[0]["rows"][0] == expected,
            "the session is set up as {}",
            first[0]
        );
        ensure!(
            first[1]["rows"][0][1] != "",
            "the connection has no cipher: {}",
            first[1]
        );
        ensure!(
            first[3]["rows"] == json!([]),
            "a server without a source says {}",
            first[3]
        );
        let second = mysql.ask(&observer(), &[id]).await?;
        ensure!(
            second[0] == first[2],
            "another session answered: {second} after {}",
            first[2]
        );
        Ok(())
    })
    .await
}

#[tokio::test]
async fn what_gets_past_the_check_is_stopped_by_session_rights_and_time() -> Result<()> {
    scenario(async |ns| {
        let mysql = Subject::start(ns).await?;
        let answers = mysql
            .ask(
                &operator(),
                &["CREATE DATABASE port", "DROP USER observer", "SELECT 1"],
            )
            .await?;
        for read_only in [&answers[0], &answers[1]] {
            ensure!(read_only["error"]["code"] == 1792, "{read_only}");
        }
        ensure!(
            answers[2]["rows"] == json!([["1"]]),
            "an error stopped what follows: {answers}"
        );

        let denied = mysql
            .ask(&observer(), &["SELECT * FROM mysql.user"])
            .await?;
        ensure!(denied[0]["error"]["code"] == 1142, "{denied}");

        let slept = mysql
            .ask_within(SECOND, &observer(), &["SELECT SLEEP(60)"])
            .await;
        ensure!(slept.is_err() || slept.is_ok_and(|it| it[0]["rows"] == json!([["1"]])));
        let sleeping =
            "SELECT COUNT(*) FROM performance_schema.processlist WHERE INFO LIKE '%SLEEP(60)'";
        eventually("nobody sleeps at the server", async || {
            let left = mysql.ask(&operator(), &[sleeping]).await?;
            ensure!(left[0]["rows"] == json!([["0"]]), "{left}");
            Ok(())
        })
        .await?;

        let large = mysql
            .ask(&operator(), &["SELECT REPEAT('a', 2000000)", "SELECT 1"])
            .await?;
        ensure!(large[0]["error"]["code"] == 0, "{}", large[0]["error"]);
        ensure!(large[1]["rows"] == json!([["1"]]), "{}", large[1]);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn every_password_survives_being_written_as_a_literal() -> Result<()> {
    scenario(async |ns| {
        let mysql = Subject::start(ns).await?;
        let mut session = mysql.session().await?;
        for password in [
            "it's",
            r"back\slash",
            r"\'; DROP USER observer; -- ",
            "line\nbreak\r\t",
            "\"double\"",
            "ünï€",
            r"ends in \",
            "/* no comment */",
            "%_`#",
        ] {
            let mut create = b"CREATE USER sailor IDENTIFIED BY ".to_vec();
            create.extend(literal(password.as_bytes()));
            let created = session.send(&create).await?;
            ensure!(created.get("error").is_none(), "{password:?}: {created}");
            let me = mysql
                .ask(&login("sailor", &[password]), &["SELECT CURRENT_USER()"])
                .await;
            let me = me.with_context(|| format!("{password:?} does not open the door"))?;
            ensure!(me[0]["rows"] == json!([["sailor@%"]]), "{password:?}: {me}");
            session.send(b"DROP USER sailor").await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_server_that_says_no_or_nothing_is_told_apart() -> Result<()> {
    scenario(async |ns| {
        let mysql = Subject::start(ns).await?;
        mysql.ask(&observer(), &["SELECT 1"]).await?;

        let refused = mysql
            .ask(&login("observer", &["wrong"]), &["SELECT 1"])
            .await;
        ensure!(
            matches!(refused, Err(Unanswered::LoginRefused { .. })),
            "{refused:?}"
        );

        let mut nobody = mysql.at;
        nobody.set_port(3999);
        let missed = mysql
            .wire
            .sql(nobody, &observer(), &["SELECT 1".into()], PATIENT)
            .await;
        ensure!(matches!(missed, Err(Unanswered::NotConnected { .. })));

        // On the session that is kept, then on new ones: the kernel still takes connections.
        let frozen = mysql.pod.freeze().await?;
        for _ in 0..3 {
            let silent = mysql.ask_within(SECOND, &observer(), &["SELECT 1"]).await;
            ensure!(
                matches!(silent, Err(Unanswered::TimedOut { .. })),
                "{silent:?}"
            );
        }
        frozen.thaw();
        eventually("mysql answers again", async || {
            Ok(mysql.ask(&observer(), &["SELECT 1"]).await?)
        })
        .await?;

        // A restart breaks the kept session, which is no silence.
        let killed = mysql.pod.kill().await?;
        mysql.pod.ready_again(&killed).await?;
        mysql.ask(&observer(), &["SELECT 1"]).await?;
        Ok(())
    })
    .await
}
