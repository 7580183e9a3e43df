//! Putting statements for one server together.

use std::time::Duration;

use crate::context::millis;
use crate::slot::Argument;
use crate::wire::{self, Login, Long, PodPort, SqlGuard};

/// Statements on a MySQL server being put together. Made by [`crate::Action::sql`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "becomes an Action by `into`"]
pub struct SqlAction {
    id: String,
    timeout: Duration,
    long: Option<Long>,
    action: wire::SqlAction,
}

impl SqlAction {
    pub(crate) fn new(id: String, target: PodPort) -> Self {
        Self {
            id,
            timeout: Duration::from_secs(5),
            long: None,
            action: wire::SqlAction {
                target,
                login: Login {
                    user: String::new(),
                    passwords: Vec::new(),
                },
                statements: Vec::new(),
                guard: None,
            },
        }
    }

    /// Who to log in as. Needed: the host refuses an action without.
    pub fn login(mut self, login: &Login) -> Self {
        self.action.login = login.clone();
        self
    }

    /// Adds a statement. Statements go out in order on one session; the first error ends the action as failed.
    pub fn statement(self, statement: impl Into<String>) -> Self {
        let statement: String = statement.into();
        self.statement_parts([Argument::from(statement)])
    }

    /// Adds a statement with secret values in it, each of which becomes a string literal, quotes included.
    ///
    /// ```text
    /// action.statement_parts([
    ///     "ALTER USER 'backup'@'%' IDENTIFIED BY ".into(),
    ///     Argument::secret("", key),
    /// ])
    /// ```
    pub fn statement_parts(mut self, parts: impl IntoIterator<Item = Argument>) -> Self {
        let parts = parts.into_iter().flat_map(|part| match part.0 {
            wire::Argument::Text(text) => vec![wire::Part::Text(text)],
            wire::Argument::Parts(parts) => parts,
        });
        self.action.statements.push(parts.collect());
        self
    }

    /// Sends nothing unless the first row of this SELECT or SHOW, asked on the same connection, holds these
    /// values: a Pod's uid does not notice a restarted container, `SELECT @@server_uuid` does.
    pub fn only_if<V: Into<String>>(
        self,
        statement: impl Into<String>,
        equals: impl IntoIterator<Item = V>,
    ) -> Self {
        self.only_if_row(statement, equals.into_iter().map(Some))
    }

    /// As [`SqlAction::only_if`], where a value may be NULL.
    pub fn only_if_row<V: Into<String>>(
        mut self,
        statement: impl Into<String>,
        equals: impl IntoIterator<Item = Option<V>>,
    ) -> Self {
        self.action.guard = Some(SqlGuard {
            statement: statement.into(),
            equals: equals
                .into_iter()
                .map(|value| value.map(Into::into))
                .collect(),
        });
        self
    }

    /// For the whole action, connecting included; of a long one, for what comes before its statements. The
    /// default is five seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs beside the rounds, for as long as `deadline`; `key` names it among the object's long actions.
    /// While one runs ([`crate::Context::running`]), another of the same key is not started.
    pub fn long(mut self, key: impl Into<String>, deadline: Duration) -> Self {
        self.long = Some(Long {
            key: key.into(),
            deadline: millis(deadline),
        });
        self
    }

    pub(crate) fn wire(self) -> wire::Action {
        wire::Action {
            id: self.id,
            effect: wire::Effect::Sql(self.action),
            timeout: millis(self.timeout),
            long: self.long,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::Action;
    use crate::slot::Argument;
    use crate::wire::{self, Effect, Login, Part, PodPort, SecretKey};

    fn target() -> PodPort {
        PodPort {
            pod: "a-0".into(),
            uid: "u".into(),
            port: 3306,
        }
    }

    fn key() -> SecretKey {
        SecretKey {
            namespace: "default".into(),
            name: "auth".into(),
            key: "backup".into(),
        }
    }

    #[test]
    fn a_statement_keeps_its_parts_and_the_action_its_guard() {
        let login = Login {
            user: "operator".into(),
            passwords: vec![key()],
        };
        let action = Action::sql("set-password", target())
            .login(&login)
            .statement("SET SESSION sql_log_bin = 0")
            .statement_parts([
                "ALTER USER 'backup'@'%' IDENTIFIED BY ".into(),
                Argument::secret("", key()),
            ])
            .only_if("SELECT @@server_uuid", ["abc"]);
        let wire = wire::Action::from(Action::from(action));
        let Effect::Sql(sql) = wire.effect else {
            panic!("{:?}", wire.effect)
        };
        assert_eq!(sql.login, login);
        assert_eq!(sql.statements.len(), 2);
        assert_eq!(sql.statements[1].last(), Some(&Part::Secret(key())));
        let guard = sql.guard.unwrap();
        assert_eq!(guard.equals, [Some("abc".to_owned())]);
        assert_eq!((wire.timeout, wire.long), (5000, None));
    }

    #[test]
    fn a_long_action_has_a_key_and_a_deadline_of_its_own() {
        let action = Action::sql("clone", target())
            .statement("CLONE INSTANCE FROM 'd'@'h':3306 IDENTIFIED BY 'x'")
            .long("clone", Duration::from_secs(3600))
            .timeout(Duration::from_secs(2));
        let wire = wire::Action::from(Action::from(action));
        let long = wire.long.unwrap();
        assert_eq!((long.key.as_str(), long.deadline), ("clone", 3_600_000));
        assert_eq!(wire.timeout, 2000);
    }
}
