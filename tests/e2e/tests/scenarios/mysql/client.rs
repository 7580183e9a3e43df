//! An application's client: it knows a Service and what stands in the generated Secret.

use std::time::Duration;

use mysql_async::prelude::{FromRow, Queryable};
use mysql_async::{Conn, OptsBuilder, SslOpts};
use windlass_e2e::prelude::*;

/// A server that is silent for longer has not answered. A commit that waits for its acknowledgement for longer is
/// given up by the client, which then does not know what became of it.
const ANSWER: Duration = Duration::from_secs(2);

/// Where and as whom an application logs in.
#[derive(Clone)]
pub(super) struct Login {
    pub(super) host: String,
    pub(super) user: String,
    pub(super) password: String,
    pub(super) database: String,
}

impl Login {
    /// A session.
    pub(super) async fn connect(&self) -> Result<Session> {
        // A server makes its own certificate.
        let tls = SslOpts::default().with_danger_accept_invalid_certs(true);
        let options = OptsBuilder::default()
            .ip_or_hostname(self.host.clone())
            .user(Some(self.user.clone()))
            .pass(Some(self.password.clone()))
            .db_name(Some(self.database.clone()))
            .ssl_opts(tls)
            .prefer_socket(false)
            .stmt_cache_size(0);
        let connected = answered(Conn::new(options)).await;
        let connection = connected.with_context(|| format!("failed to log in at {}", self.host))?;
        Ok(Session { connection })
    }
}

/// A session that never waits for longer than a moment.
pub(super) struct Session {
    connection: Conn,
}

impl Session {
    /// Runs a statement.
    pub(super) async fn run(&mut self, statement: &str) -> Result<()> {
        answered(self.connection.query_drop(statement))
            .await
            .with_context(|| format!("failed to run {statement:?}"))
    }

    /// The rows that a query gives.
    pub(super) async fn rows<T>(&mut self, query: &str) -> Result<Vec<T>>
    where
        T: FromRow + Send + 'static,
    {
        answered(self.connection.query(query))
            .await
            .with_context(|| format!("failed to ask {query:?}"))
    }

    /// The one row that a query gives.
    pub(super) async fn row<T>(&mut self, query: &str) -> Result<T>
    where
        T: FromRow + Send + 'static,
    {
        let mut rows = self.rows(query).await?;
        ensure!(rows.len() == 1, "{query:?} gives {} rows", rows.len());
        rows.pop().context("there is one")
    }
}

async fn answered<T>(answer: impl Future<Output = mysql_async::Result<T>>) -> Result<T> {
    let answer = tokio::time::timeout(ANSWER, answer).await;
    Ok(answer.context("no answer")??)
}
