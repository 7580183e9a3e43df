//! Checks SQL actions, and what makes an action long.

use std::collections::BTreeSet;

use super::action::Checks;
use super::refused::Refused;
use crate::plugin::bindings::{Effect, Login, Long, Part, SqlAction, SqlGuard};
use crate::plugin::grants::{Grant, Protocol};
use crate::query::{SqlPart, check_parts, check_statements};

/// How many statements one action may have.
const MOST_STATEMENTS: usize = 64;
/// The longest statement, in bytes: GTID sets are long.
const LONGEST_STATEMENT: usize = 256 << 10;
/// The longest time that a long action may run, in milliseconds: a day.
const LONGEST_DEADLINE: u64 = 86_400_000;
/// The longest key of a long action, in bytes.
const LONGEST_KEY: usize = 256;

impl Checks<'_> {
    pub(super) fn sql(&self, what: &str, action: &SqlAction) -> Result<(), Refused> {
        let SqlAction {
            target,
            login,
            statements,
            guard,
        } = action;
        self.grant(what, Grant::Act(Protocol::Sql, target.port))?;
        self.sql_login(what, login)?;
        if statements.is_empty() || statements.len() > MOST_STATEMENTS {
            let why = format!(
                "it has {} statements: write 1 to {MOST_STATEMENTS}",
                statements.len()
            );
            return Err(Refused::form(what, why));
        }
        if let Some(guard) = guard {
            check_guard(what, guard)?;
        }
        statements
            .iter()
            .try_for_each(|parts| self.statement(what, parts))
    }

    fn sql_login(&self, what: &str, login: &Login) -> Result<(), Refused> {
        if login.user.is_empty() || login.passwords.is_empty() {
            return Err(Refused::form(what, "its login needs a user and a password"));
        }
        self.login(what, Some(login))
    }

    fn statement(&self, what: &str, parts: &[Part]) -> Result<(), Refused> {
        let length = |part: &Part| match part {
            Part::Text(text) => text.len(),
            Part::Secret(_) => 0,
        };
        if parts.iter().map(length).sum::<usize>() > LONGEST_STATEMENT {
            let why = format!("a statement has at most {LONGEST_STATEMENT} bytes");
            return Err(Refused::form(what, why));
        }
        let places: Vec<_> = parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => SqlPart::Text(text),
                Part::Secret(_) => SqlPart::Secret,
            })
            .collect();
        check_parts(&places).map_err(|why| Refused::form(what, why))?;
        self.parts(what, parts)
    }

    /// What `long` may say; `keys` are those that the plan named before.
    pub(super) fn long<'a>(
        what: &str,
        effect: &Effect,
        long: &'a Long,
        keys: &mut BTreeSet<&'a str>,
    ) -> Result<(), Refused> {
        let Long { key, deadline } = long;
        let wrong = |why: String| Err(Refused::form(what, why));
        if !matches!(effect, Effect::Sql(_)) {
            return wrong("only SQL actions may be long".into());
        }
        if key.is_empty() || key.len() > LONGEST_KEY {
            return wrong(format!(
                "the key of a long action has 1 to {LONGEST_KEY} bytes"
            ));
        }
        if *deadline == 0 || *deadline > LONGEST_DEADLINE {
            return wrong(format!(
                "its deadline is {deadline} ms: write 1 to {LONGEST_DEADLINE}"
            ));
        }
        match keys.insert(key) {
            true => Ok(()),
            false => wrong(format!(
                "another long action of this plan has the key {key}"
            )),
        }
    }
}

fn check_guard(what: &str, guard: &SqlGuard) -> Result<(), Refused> {
    check_statements(std::slice::from_ref(&guard.statement))
        .map_err(|why| Refused::form(what, format!("its guard: {why}")))?;
    match guard.equals.is_empty() {
        true => Err(Refused::form(
            what,
            "its guard names no value to compare with",
        )),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cache::tests::object;
    use crate::plugin::bindings::{Action, ActionStep, IfFailed, PodPort, SecretKey};
    use crate::plugin::grants::Grants;

    fn key() -> SecretKey {
        SecretKey {
            namespace: "default".into(),
            name: "auth".into(),
            key: "operator".into(),
        }
    }

    fn sql(statement: Vec<Part>) -> SqlAction {
        SqlAction {
            target: PodPort {
                pod: "db-0".into(),
                uid: "u".into(),
                port: 3306,
            },
            login: Login {
                user: "operator".into(),
                passwords: vec![key()],
            },
            statements: vec![statement],
            guard: None,
        }
    }

    fn text(text: &str) -> Part {
        Part::Text(text.into())
    }

    fn action(id: &str, sql: SqlAction) -> Action {
        Action {
            id: id.into(),
            effect: Effect::Sql(sql),
            timeout: 1000,
            long: None,
        }
    }

    fn long(key: &str, deadline: u64) -> Option<Long> {
        let key = key.to_owned();
        Some(Long { key, deadline })
    }

    /// Why the actions are refused; None when they are not.
    fn refused(actions: Vec<Action>) -> Option<String> {
        let grants: Grants = ["act:sql:3306", "act:evict"]
            .iter()
            .filter_map(|grant| grant.parse().ok())
            .collect();
        let meta = json!({"metadata": {"name": "a", "namespace": "default"}});
        let checks = Checks {
            owner: &object("example.com/v1", "Thing", meta),
            grants: &grants,
            children: &BTreeSet::new(),
        };
        let if_failed = IfFailed::Stop;
        let checked = checks.actions(&[ActionStep { actions, if_failed }]);
        checked.err().map(|error| error.to_string())
    }

    fn changed(change: impl FnOnce(&mut SqlAction)) -> Option<String> {
        let mut sql = sql(vec![text("STOP REPLICA")]);
        change(&mut sql);
        refused(vec![action("one", sql)])
    }

    #[test]
    fn statements_with_a_guard_and_a_password_pass() {
        let mut guarded = sql(vec![
            text("ALTER USER a IDENTIFIED BY "),
            Part::Secret(key()),
        ]);
        guarded.guard = Some(SqlGuard {
            statement: "SELECT @@server_uuid".into(),
            equals: vec![Some("abc".into())],
        });
        assert_eq!(refused(vec![action("one", guarded)]), None);
    }

    #[test]
    fn what_an_sql_action_may_not_be_is_refused_with_what_to_write() {
        let guard = |statement: &str, equals: Vec<Option<String>>| {
            let statement = statement.to_owned();
            Some(SqlGuard { statement, equals })
        };
        let elsewhere = SecretKey {
            namespace: "other".into(),
            ..key()
        };
        for (refusal, hint) in [
            (changed(|sql| sql.target.port = 3307), "act:sql:3307"),
            (
                changed(|sql| sql.login.passwords.clear()),
                "a user and a password",
            ),
            (
                changed(|sql| sql.login.passwords[0] = elsewhere),
                "slots-from:other",
            ),
            (changed(|sql| sql.statements.clear()), "0 statements"),
            (
                changed(|sql| sql.statements = vec![vec![text("STOP REPLICA")]; 65]),
                "65 statements",
            ),
            (
                changed(|sql| sql.statements[0] = vec![text("A; B")]),
                "semicolon",
            ),
            (
                changed(|sql| sql.statements[0] = vec![text("SELECT "), Part::Secret(key())]),
                "stands only",
            ),
            (
                changed(|sql| sql.statements[0] = vec![text(&"a".repeat(LONGEST_STATEMENT + 1))]),
                "bytes",
            ),
            (
                changed(|sql| sql.guard = guard("STOP REPLICA", vec![None])),
                "its guard",
            ),
            (
                changed(|sql| sql.guard = guard("SELECT 1", vec![])),
                "no value",
            ),
        ] {
            let refusal = refusal.unwrap_or_default();
            assert!(refusal.contains(hint), "{hint}: {refusal}");
        }
    }

    #[test]
    fn a_long_action_is_sql_and_has_a_key_of_its_own_and_an_end() {
        let clone = |id: &str, long| Action {
            long,
            ..action(id, sql(vec![text("CLONE LOCAL DATA DIRECTORY '/x'")]))
        };
        let evict = Action {
            effect: Effect::Evict(crate::plugin::bindings::EvictAction {
                pod: "db-0".into(),
                uid: "u".into(),
            }),
            ..clone("one", long("evict", 1))
        };
        let both = vec![clone("one", long("a", 1)), clone("two", long("b", 1))];
        assert_eq!(refused(both), None);
        for (actions, hint) in [
            (vec![evict], "only SQL"),
            (vec![clone("one", long("", 1))], "1 to 256"),
            (vec![clone("one", long("a", 0))], "0 ms"),
            (vec![clone("one", long("a", 86_400_001))], "86400001 ms"),
            (
                vec![clone("one", long("a", 1)), clone("two", long("a", 1))],
                "has the key a",
            ),
        ] {
            let refusal = refused(actions).unwrap_or_default();
            assert!(refusal.contains(hint), "{hint}: {refusal}");
        }
    }
}
