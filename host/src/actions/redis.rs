//! Commands to a Redis server, past a guard, on one connection.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::{Actions, Undone};
use crate::lease::LeaseGuard;
use crate::object::{Object, ObjectKey};
use crate::plugin::bindings::{Argument, Part, RedisAction, RedisGuard};
use crate::query::{RedisSession, Unanswered, check_read_only};
use crate::target::Verified;

impl Actions {
    pub(super) async fn redis(
        &self,
        owner: &Object,
        action: &RedisAction,
        deadline: Instant,
        lease: &LeaseGuard,
    ) -> Result<Value, Undone> {
        let target = self.targets.verify(owner, &action.target)?;
        let login = action.login.as_ref();
        let login = self.queries.credentials(&owner.key, login).await?;
        let commands = self.filled(&owner.key, &action.commands).await?;
        let left = deadline.saturating_duration_since(Instant::now());
        let opened = self
            .databases
            .redis_session(target.at, login.as_ref(), left)
            .await;
        let mut session = opened.map_err(|error| Undone::NotSent(error.to_string()))?;
        if let Some(guard) = &action.guard {
            guarded(session.as_mut(), guard, &target, deadline).await?;
        }
        if lease.remaining().is_none() {
            return Err(Undone::NotSent("this host holds the lease no more".into()));
        }
        sent(session.as_mut(), &commands, &target, deadline).await
    }

    /// The commands with their secrets filled in.
    async fn filled(
        &self,
        owner: &ObjectKey,
        commands: &[Vec<Argument>],
    ) -> Result<Vec<Vec<Vec<u8>>>, Undone> {
        let mut filled = Vec::with_capacity(commands.len());
        for command in commands {
            let mut arguments = Vec::with_capacity(command.len());
            for argument in command {
                arguments.push(self.argument(owner, argument).await?);
            }
            filled.push(arguments);
        }
        Ok(filled)
    }

    async fn argument(&self, owner: &ObjectKey, argument: &Argument) -> Result<Vec<u8>, Undone> {
        let parts = match argument {
            Argument::Text(text) => return Ok(text.clone().into_bytes()),
            Argument::Parts(parts) => parts,
        };
        let mut joined = Vec::new();
        for part in parts {
            match part {
                Part::Text(text) => joined.extend_from_slice(text.as_bytes()),
                Part::Secret(key) => {
                    joined.extend_from_slice(self.secrets.value(key, owner).await?.expose())
                }
            }
        }
        Ok(joined)
    }
}

/// Sends the commands in order; the first error ends it.
async fn sent(
    session: &mut dyn RedisSession,
    commands: &[Vec<Vec<u8>>],
    target: &Verified,
    deadline: Instant,
) -> Result<Value, Undone> {
    let mut replies = Vec::with_capacity(commands.len());
    for command in commands {
        let reply = answered(session, command, target, deadline)
            .await
            .map_err(Undone::NoAnswer)?;
        if let Some(error) = reply.get("error").and_then(Value::as_str) {
            let before = replies.len();
            return Err(Undone::Refused(format!(
                "{error} (after {before} commands that were done)"
            )));
        }
        replies.push(reply);
    }
    Ok(Value::Array(replies))
}

/// Asks the guard's question on the same connection and compares.
async fn guarded(
    session: &mut dyn RedisSession,
    guard: &RedisGuard,
    target: &Verified,
    deadline: Instant,
) -> Result<(), Undone> {
    check_read_only(std::slice::from_ref(&guard.command))
        .map_err(|error| Undone::NotSent(error.to_string()))?;
    let command: Vec<_> = guard
        .command
        .iter()
        .map(|word| word.clone().into_bytes())
        .collect();
    let reply = answered(session, &command, target, deadline).await;
    // The guard itself changes nothing: without its answer nothing was sent.
    let reply =
        reply.map_err(|error| Undone::NotSent(format!("its guard was not answered: {error}")))?;
    let found = compared(guard, &reply);
    if found.as_deref() == Some(guard.equals.as_str()) {
        return Ok(());
    }
    let found = found.unwrap_or_else(|| reply.to_string());
    let asked = guard.command.join(" ");
    Err(Undone::NotSent(format!(
        "its guard did not hold: {asked} says {found}, not {}",
        guard.equals
    )))
}

/// What the guard compares: one field of an INFO-like text, or the whole reply.
fn compared(guard: &RedisGuard, reply: &Value) -> Option<String> {
    let reply = reply.get("ok")?;
    let text = reply
        .as_str()
        .map_or_else(|| reply.to_string(), str::to_owned);
    match &guard.field {
        None => Some(text),
        Some(field) => text.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name == field).then(|| value.trim_end().to_owned())
        }),
    }
}

async fn answered(
    session: &mut dyn RedisSession,
    command: &[Vec<u8>],
    target: &Verified,
    deadline: Instant,
) -> Result<Value, Unanswered> {
    let after = deadline
        .saturating_duration_since(Instant::now())
        .max(Duration::from_millis(1));
    let answer = timeout_at(deadline, session.send(command)).await;
    answer.unwrap_or(Err(Unanswered::TimedOut {
        at: target.at,
        after,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn guard(field: Option<&str>) -> RedisGuard {
        let command = vec!["INFO".into(), "server".into()];
        RedisGuard {
            command,
            field: field.map(str::to_owned),
            equals: "abc".into(),
        }
    }

    #[test]
    fn a_guard_reads_one_field_of_an_info_reply() {
        let reply = json!({"ok": "# Server\r\nredis_version:8.0.6\r\nrun_id:abc\r\n"});
        assert_eq!(
            compared(&guard(Some("run_id")), &reply).as_deref(),
            Some("abc")
        );
        assert_eq!(compared(&guard(Some("run")), &reply), None);
    }

    #[test]
    fn a_guard_without_a_field_reads_the_whole_reply_and_no_error() {
        assert_eq!(
            compared(&guard(None), &json!({"ok": "PONG"})).as_deref(),
            Some("PONG")
        );
        assert_eq!(compared(&guard(None), &json!({"error": "ERR abc"})), None);
    }
}
