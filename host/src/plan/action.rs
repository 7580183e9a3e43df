//! Checks the actions of a plan: each allowed, each within its limits.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::object::{DOMAIN, Kind, Object, ObjectKey};
use crate::plan::refused::Refused;
use crate::plugin::bindings::{
    Action, ActionStep, Argument, DeleteAction, Effect, EvictAction, HttpAction, Login, ObjectRef,
    Part, PatchAction, RedisAction, SecretKey,
};
use crate::plugin::grants::{Grant, Grants, Protocol};
use crate::query::{check_read_only, check_request};

/// How many actions one plan may have.
const MOST_ACTIONS: usize = 1024;
/// How many commands one action may have.
const MOST_COMMANDS: usize = 1024;
/// The longest time-out of an action, in milliseconds.
const LONGEST: u64 = 30_000;
/// The longest id, in bytes.
const LONGEST_ID: usize = 256;

/// What the checks of one plan's actions look at.
pub(super) struct Checks<'a> {
    pub(super) owner: &'a Object,
    pub(super) grants: &'a Grants,
    /// Children of the same plan: they are applied, not patched.
    pub(super) children: &'a BTreeSet<ObjectKey>,
}

impl Checks<'_> {
    pub(super) fn actions(&self, steps: &[ActionStep]) -> Result<(), Refused> {
        let actions = || steps.iter().flat_map(|step| &step.actions);
        if actions().count() > MOST_ACTIONS {
            return Err(Refused::form(
                "actions",
                format!("a plan has at most {MOST_ACTIONS}"),
            ));
        }
        let mut ids = BTreeSet::new();
        let mut keys = BTreeSet::new();
        for action in actions() {
            if !ids.insert(&action.id) {
                return Err(Refused::form(
                    format!("action {}", action.id),
                    "another action has this id",
                ));
            }
            self.action(action)?;
            if let Some(long) = &action.long {
                Self::long(
                    &format!("action {}", action.id),
                    &action.effect,
                    long,
                    &mut keys,
                )?;
            }
        }
        Ok(())
    }

    fn action(&self, action: &Action) -> Result<(), Refused> {
        let Action {
            id,
            effect,
            timeout,
            long: _,
        } = action;
        if id.is_empty() || id.len() > LONGEST_ID {
            return Err(Refused::form(
                "an action's id",
                format!("write 1 to {LONGEST_ID} bytes"),
            ));
        }
        let what = format!("action {id}");
        if *timeout == 0 || *timeout > LONGEST {
            return Err(Refused::form(
                what,
                format!("its time-out is {timeout} ms: write 1 to {LONGEST}"),
            ));
        }
        match effect {
            Effect::Redis(redis) => self.redis(&what, redis),
            Effect::Sql(sql) => self.sql(&what, sql),
            Effect::Http(http) => self.http(&what, http),
            Effect::Patch(patch) => self.patch(&what, patch),
            Effect::Delete(delete) => self.delete(&what, delete),
            Effect::Evict(evict) => self.evict(&what, evict),
        }
    }

    fn redis(&self, what: &str, action: &RedisAction) -> Result<(), Refused> {
        let RedisAction {
            target,
            login,
            commands,
            guard,
        } = action;
        self.grant(what, Grant::Act(Protocol::Redis, target.port))?;
        self.login(what, login.as_ref())?;
        if commands.is_empty() || commands.len() > MOST_COMMANDS {
            let why = format!(
                "it has {} commands: write 1 to {MOST_COMMANDS}",
                commands.len()
            );
            return Err(Refused::form(what, why));
        }
        if let Some(guard) = guard {
            check_read_only(std::slice::from_ref(&guard.command))
                .map_err(|why| Refused::form(what, format!("its guard: {why}")))?;
        }
        commands
            .iter()
            .try_for_each(|command| self.command(what, command))
    }

    fn command(&self, what: &str, command: &[Argument]) -> Result<(), Refused> {
        if !matches!(command.first(), Some(Argument::Text(name)) if !name.is_empty()) {
            return Err(Refused::form(
                what,
                "a command begins with its name as text",
            ));
        }
        for (at, argument) in command.iter().enumerate() {
            let Argument::Parts(parts) = argument else {
                continue;
            };
            if !takes_secret(command, at, parts) {
                let why = format!(
                    "argument {at} of {} holds a secret; secrets stand only where a password does: AUTH, \
                     ACL SETUSER NAME >PASSWORD, CONFIG SET masterauth",
                    text(command.first())
                );
                return Err(Refused::form(what, why));
            }
            self.parts(what, parts)?;
        }
        Ok(())
    }

    pub(super) fn parts(&self, what: &str, parts: &[Part]) -> Result<(), Refused> {
        let secrets = parts.iter().filter_map(|part| match part {
            Part::Secret(key) => Some(key),
            Part::Text(_) => None,
        });
        secrets
            .into_iter()
            .try_for_each(|key| self.secret(what, key))
    }

    fn http(&self, what: &str, action: &HttpAction) -> Result<(), Refused> {
        let HttpAction {
            target,
            method: _,
            path,
            headers,
            body: _,
        } = action;
        self.grant(what, Grant::Act(Protocol::Http, target.port))?;
        check_request(path, headers).map_err(|why| Refused::form(what, why))
    }

    fn patch(&self, what: &str, action: &PatchAction) -> Result<(), Refused> {
        let PatchAction { object, uid, patch } = action;
        let key = self.object(what, object)?;
        self.grant(what, Grant::Patch(key.kind.clone()))?;
        self.uid(what, uid)?;
        if self.children.contains(&key) {
            return Err(Refused::form(
                what,
                format!("{key} is a child of this plan: change its manifest"),
            ));
        }
        check_patch(patch).map_err(|why| Refused::form(what, why))
    }

    fn delete(&self, what: &str, action: &DeleteAction) -> Result<(), Refused> {
        let DeleteAction {
            object,
            uid,
            grace_seconds: _,
            wait,
        } = action;
        let key = self.object(what, object)?;
        self.grant(what, Grant::Delete(key.kind))?;
        self.uid(what, uid)?;
        match *wait > LONGEST {
            true => Err(Refused::form(
                what,
                format!("it waits {wait} ms: write at most {LONGEST}"),
            )),
            false => Ok(()),
        }
    }

    fn evict(&self, what: &str, action: &EvictAction) -> Result<(), Refused> {
        let EvictAction { pod: _, uid } = action;
        self.grant(what, Grant::Evict)?;
        self.uid(what, uid)
    }

    pub(super) fn login(&self, what: &str, login: Option<&Login>) -> Result<(), Refused> {
        let passwords = login.into_iter().flat_map(|login| &login.passwords);
        passwords
            .into_iter()
            .try_for_each(|key| self.secret(what, key))
    }

    /// A Secret of another namespace than the object's own needs a grant of its own.
    pub(super) fn secret(&self, what: &str, key: &SecretKey) -> Result<(), Refused> {
        match Grant::to_take(key, &self.owner.key) {
            None => Ok(()),
            Some(grant) => self.grant(
                &format!("{what}, which takes Secret {}/{},", key.namespace, key.name),
                grant,
            ),
        }
    }

    pub(super) fn grant(&self, what: &str, grant: Grant) -> Result<(), Refused> {
        match self.grants.allows(&grant) {
            true => Ok(()),
            false => Err(Refused::Grant {
                what: what.into(),
                grant,
            }),
        }
    }

    /// Names the object that an action is about; only the owner's own namespace is within reach.
    fn object(&self, what: &str, object: &ObjectRef) -> Result<ObjectKey, Refused> {
        let ObjectRef {
            api_version,
            kind,
            namespace,
            name,
        } = object;
        if namespace.is_some() && *namespace != self.owner.key.namespace {
            let namespace = namespace.as_deref().unwrap_or_default();
            let why =
                format!("it reaches into namespace {namespace}; actions stay in the object's own");
            return Err(Refused::form(what, why));
        }
        let kind = Kind::new(api_version, kind);
        Ok(ObjectKey {
            kind,
            namespace: namespace.clone(),
            name: name.clone(),
        })
    }

    fn uid(&self, what: &str, uid: &str) -> Result<(), Refused> {
        match uid.is_empty() {
            true => Err(Refused::form(
                what,
                "it names no uid: say which object was meant",
            )),
            false => Ok(()),
        }
    }
}

/// Whether a secret may stand as argument `at` of `command`: only where Redis takes a password, and so keeps it
/// to itself. As a user's name or a key pattern it could be read back.
fn takes_secret(command: &[Argument], at: usize, parts: &[Part]) -> bool {
    let word = |at: usize| text(command.get(at)).to_ascii_uppercase();
    match (word(0).as_str(), word(1).as_str()) {
        ("AUTH", _) => at >= 1 && at + 1 == command.len(),
        ("ACL", "SETUSER") => {
            let first = parts.first();
            at >= 3 && matches!(first, Some(Part::Text(text)) if text == ">" || text == "<")
        }
        ("CONFIG", "SET") => at >= 3 && at % 2 == 1 && word(at - 1) == "MASTERAUTH",
        _ => false,
    }
}

/// An argument's text; empty for one that is none.
fn text(argument: Option<&Argument>) -> &str {
    match argument {
        Some(Argument::Text(text)) => text,
        Some(Argument::Parts(_)) | None => "",
    }
}

fn check_patch(patch: &str) -> Result<(), String> {
    let patch: Map<String, Value> = serde_json::from_str(patch)
        .map_err(|error| format!("its patch is not a JSON object: {error}"))?;
    if let Some(key) = ["apiVersion", "kind"]
        .into_iter()
        .find(|key| patch.contains_key(*key))
    {
        return Err(format!("its patch may not change {key}"));
    }
    let meta = patch
        .get("metadata")
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    for (part, entries) in meta {
        if part != "labels" && part != "annotations" {
            return Err(format!(
                "its patch may not change metadata.{part}: only labels and annotations"
            ));
        }
        let Some(entries) = entries.as_object() else {
            return Err(format!(
                "its patch replaces all metadata.{part}: name the keys to change"
            ));
        };
        if let Some(key) = entries.keys().find(|key| key.starts_with(DOMAIN)) {
            return Err(format!(
                "its patch may not change metadata.{part} \"{key}\": it is the host's"
            ));
        }
    }
    match patch.get("metadata") {
        None | Some(Value::Object(_)) => Ok(()),
        Some(_) => Err("its patch replaces all of metadata".into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cache::tests::object;
    use crate::plugin::bindings::{HttpActionMethod, PodPort};

    /// Why an HTTP action is refused; None when it is not.
    fn refused(path: &str, header: &str) -> Option<String> {
        let effect = Effect::Http(HttpAction {
            target: PodPort {
                pod: "p".into(),
                uid: "u".into(),
                port: 9090,
            },
            method: HttpActionMethod::Post,
            path: path.into(),
            headers: vec![(header.into(), "x".into())],
            body: String::new(),
        });
        let meta = json!({"metadata": {"name": "a", "namespace": "default"}});
        let checks = Checks {
            owner: &object("example.com/v1", "Thing", meta),
            grants: &["act:http:9090".parse().unwrap()].into_iter().collect(),
            children: &BTreeSet::new(),
        };
        let action = Action {
            id: "one".into(),
            effect,
            timeout: 1,
            long: None,
        };
        checks.action(&action).err().map(|error| error.to_string())
    }

    #[test]
    fn an_http_action_keeps_to_what_a_query_keeps_to() {
        assert_eq!(refused("/-/reload", "Accept"), None);
        for (path, header, hint) in [
            ("@other.example.com/", "Accept", "does not begin with /"),
            ("/\r\n", "Accept", "control character"),
            ("/", "Cookie", "not the plugin's to set"),
        ] {
            let why = refused(path, header).unwrap_or_default();
            assert!(why.starts_with("action one: "), "{why}");
            assert!(why.contains(hint), "{path:?} {header}: {why}");
        }
    }
}
