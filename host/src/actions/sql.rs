//! Statements on a MySQL server, past a guard, on one session.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, timeout_at};
use zeroize::Zeroizing;

use super::{Actions, Undone};
use crate::lease::LeaseGuard;
use crate::object::{Object, ObjectKey};
use crate::plugin::bindings::{Part, SqlAction, SqlGuard};
use crate::query::{SqlSession, Unanswered, check_statements, literal};
use crate::target::Verified;

/// Told in place of a server's text that may repeat a secret, in a form that no mask would find.
const LEFT_OUT: &str = "(the text is left out: the statement holds a secret)";

/// Until when an action must have come how far.
#[derive(Clone, Copy)]
pub(super) struct Deadlines {
    /// Connected, logged in, guard answered.
    pub(super) ready: Instant,
    /// All statements answered.
    pub(super) done: Instant,
}

/// A statement with its secrets filled in.
struct Statement {
    text: Zeroizing<Vec<u8>>,
    holds_secret: bool,
}

impl Actions {
    pub(super) async fn sql(
        &self,
        owner: &Object,
        action: &SqlAction,
        deadlines: Deadlines,
        lease: &LeaseGuard,
    ) -> Result<Value, Undone> {
        let Deadlines { ready, done } = deadlines;
        let target = self.targets.verify(owner, &action.target)?;
        let login = self.queries.filled(&owner.key, &action.login).await?;
        let statements = self.statements(&owner.key, &action.statements).await?;
        let left = ready.saturating_duration_since(Instant::now());
        let opened = self.databases.sql_session(target.at, &login, left).await;
        let mut session = opened.map_err(|error| Undone::NotSent(error.to_string()))?;
        if let Some(guard) = &action.guard {
            guarded(session.as_mut(), guard, &target, ready).await?;
        }
        if lease.remaining().is_none() {
            return Err(Undone::NotSent("this host holds the lease no more".into()));
        }
        sent(session.as_mut(), &statements, &target, done).await
    }

    async fn statements(
        &self,
        owner: &ObjectKey,
        statements: &[Vec<Part>],
    ) -> Result<Vec<Statement>, Undone> {
        let mut filled = Vec::with_capacity(statements.len());
        for parts in statements {
            filled.push(self.statement(owner, parts).await?);
        }
        Ok(filled)
    }

    async fn statement(&self, owner: &ObjectKey, parts: &[Part]) -> Result<Statement, Undone> {
        let mut text = Zeroizing::new(Vec::new());
        for part in parts {
            match part {
                Part::Text(words) => text.extend_from_slice(words.as_bytes()),
                Part::Secret(key) => {
                    let value = self.secrets.value(key, owner).await?;
                    text.extend_from_slice(&Zeroizing::new(literal(value.expose())));
                }
            }
        }
        let holds_secret = parts.iter().any(|part| matches!(part, Part::Secret(_)));
        Ok(Statement { text, holds_secret })
    }
}

/// Sends the statements in order; the first error ends it.
async fn sent(
    session: &mut dyn SqlSession,
    statements: &[Statement],
    target: &Verified,
    deadline: Instant,
) -> Result<Value, Undone> {
    let mut replies = Vec::with_capacity(statements.len());
    for statement in statements {
        let reply = answered(session, &statement.text, target, deadline)
            .await
            .map_err(Undone::NoAnswer)?;
        if let Some(error) = reply.get("error") {
            return Err(Undone::Refused(refusal(error, statement, replies.len())));
        }
        replies.push(reply);
    }
    Ok(Value::Array(replies))
}

/// `CODE (STATE): TEXT`, as the contract has it, and what was done before.
fn refusal(error: &Value, statement: &Statement, done: usize) -> String {
    let part = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
    let text = match statement.holds_secret {
        true => LEFT_OUT,
        false => part("text"),
    };
    let before = match done {
        0 => String::new(),
        done => format!(" (after {done} statements that were done)"),
    };
    format!("{} ({}): {text}{before}", error["code"], part("state"))
}

/// Asks the guard's question on the same session and compares.
async fn guarded(
    session: &mut dyn SqlSession,
    guard: &SqlGuard,
    target: &Verified,
    deadline: Instant,
) -> Result<(), Undone> {
    check_statements(std::slice::from_ref(&guard.statement))
        .map_err(|error| Undone::NotSent(error.to_string()))?;
    let reply = answered(session, guard.statement.as_bytes(), target, deadline).await;
    // The guard itself changes nothing: without its answer nothing was sent.
    let reply =
        reply.map_err(|error| Undone::NotSent(format!("its guard was not answered: {error}")))?;
    let found = reply.pointer("/rows/0");
    if found == Some(&serde_json::json!(guard.equals)) {
        return Ok(());
    }
    let found = found.unwrap_or(&reply);
    let expected = serde_json::json!(guard.equals);
    Err(Undone::NotSent(format!(
        "its guard did not hold: {} says {found}, not {expected}",
        guard.statement
    )))
}

async fn answered(
    session: &mut dyn SqlSession,
    statement: &[u8],
    target: &Verified,
    deadline: Instant,
) -> Result<Value, Unanswered> {
    let after = deadline
        .saturating_duration_since(Instant::now())
        .max(Duration::from_millis(1));
    let answer = timeout_at(deadline, session.send(statement)).await;
    answer.unwrap_or(Err(Unanswered::TimedOut {
        at: target.at,
        after,
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use async_trait::async_trait;
    use serde_json::json;

    use super::*;

    /// A session that answers as it is told, and notes what it was sent.
    #[derive(Default)]
    struct Scripted {
        answers: VecDeque<Value>,
        sent: Vec<String>,
    }

    impl Scripted {
        fn new(answers: impl IntoIterator<Item = Value>) -> Self {
            Self {
                answers: answers.into_iter().collect(),
                sent: Vec::new(),
            }
        }
    }

    #[async_trait]
    impl SqlSession for Scripted {
        async fn send(&mut self, statement: &[u8]) -> Result<Value, Unanswered> {
            self.sent
                .push(String::from_utf8_lossy(statement).into_owned());
            match self.answers.pop_front() {
                Some(answer) => Ok(answer),
                None => std::future::pending().await,
            }
        }
    }

    fn target() -> Verified {
        Verified {
            uid: "u".into(),
            at: ([10, 0, 0, 1], 3306).into(),
        }
    }

    fn statement(text: &str, holds_secret: bool) -> Statement {
        Statement {
            text: Zeroizing::new(text.into()),
            holds_secret,
        }
    }

    fn rows(row: Value) -> Value {
        json!({"columns": ["a"], "rows": [row]})
    }

    fn denied() -> Value {
        json!({"error": {"code": 1064, "state": "42000", "text": "near 'canary'"}})
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(1)
    }

    #[tokio::test]
    async fn the_first_error_ends_the_action_and_says_what_was_done() {
        let mut session = Scripted::new([rows(json!(["1"])), denied(), rows(json!(["1"]))]);
        let statements = [
            statement("a", false),
            statement("b", false),
            statement("c", false),
        ];
        let ended = sent(&mut session, &statements, &target(), soon()).await;
        let Err(Undone::Refused(why)) = ended else {
            panic!("{ended:?}")
        };
        assert_eq!(
            why,
            "1064 (42000): near 'canary' (after 1 statements that were done)"
        );
        assert_eq!(session.sent, ["a", "b"]);
    }

    #[tokio::test]
    async fn the_text_of_an_error_is_left_out_where_the_statement_holds_a_secret() {
        let mut session = Scripted::new([denied()]);
        let ended = sent(&mut session, &[statement("a", true)], &target(), soon()).await;
        let Err(Undone::Refused(why)) = ended else {
            panic!("{ended:?}")
        };
        assert!(why.starts_with("1064 (42000): "), "{why}");
        assert!(!why.contains("canary"), "{why}");
    }

    #[tokio::test(start_paused = true)]
    async fn without_an_answer_it_is_not_known_how_it_ended() {
        let mut session = Scripted::default();
        let ended = sent(&mut session, &[statement("a", false)], &target(), soon()).await;
        assert!(matches!(ended, Err(Undone::NoAnswer(_))), "{ended:?}");
    }

    #[tokio::test]
    async fn a_guard_holds_only_for_the_very_same_row() {
        let guard = |equals: &[Option<&str>]| SqlGuard {
            statement: "SELECT @@server_uuid".into(),
            equals: equals
                .iter()
                .map(|value| value.map(str::to_owned))
                .collect(),
        };
        for (answer, equals, holds) in [
            (rows(json!(["abc"])), &[Some("abc")][..], true),
            (rows(json!([null])), &[None], true),
            (rows(json!(["abc"])), &[Some("ab")], false),
            (rows(json!(["abc", "1"])), &[Some("abc")], false),
            (rows(json!([null])), &[Some("")], false),
            (json!({"columns": ["a"], "rows": []}), &[Some("abc")], false),
            (denied(), &[Some("abc")], false),
        ] {
            let mut session = Scripted::new([answer.clone()]);
            let held = guarded(&mut session, &guard(equals), &target(), soon()).await;
            assert_eq!(held.is_ok(), holds, "{answer} {equals:?}");
        }
    }
}
