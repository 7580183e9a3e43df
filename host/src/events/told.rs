//! What a round has to tell: the plan's Events, and what the host did to children.

use crate::apply::{Applied, ChildEnded, Pruned};
use crate::object::{Object, ObjectKey};
use crate::plan::Checked;
use crate::plugin::bindings::{Event, ObjectRef, Severity};

/// All Events of a round, the host's own first: they happened before what the plugin decided next.
pub fn of(owner: &Object, plan: &Checked, applied: &Applied, pruned: &Pruned) -> Vec<Event> {
    let mut events = Vec::new();
    let mut tell = |severity, reason: &str, text: String| {
        events.push(Event {
            about: about(owner),
            severity,
            reason: reason.into(),
            text,
        });
    };
    let those = |wanted: fn(&ChildEnded) -> bool| {
        applied
            .children
            .iter()
            .filter(move |child| wanted(&child.ended))
            .map(|child| &child.key)
    };
    if let Some(made) = list(those(|ended| matches!(ended, ChildEnded::Made))) {
        tell(Severity::Normal, "ChildrenMade", format!("made {made}"));
    }
    if let Some(changed) = list(those(|ended| matches!(ended, ChildEnded::Changed))) {
        tell(
            Severity::Normal,
            "ChildrenChanged",
            format!("changed {changed}"),
        );
    }
    if let Some(again) = list(those(|ended| matches!(ended, ChildEnded::MadeAgain))) {
        tell(
            Severity::Warning,
            "ChildMadeAgain",
            format!("made {again} again, which somebody had deleted"),
        );
    }
    for child in &applied.children {
        match &child.ended {
            ChildEnded::PutRight(path) => {
                let text = format!(
                    "put {path} of {} right, which somebody had changed",
                    short(&child.key)
                );
                tell(Severity::Warning, "ChildPutRight", text);
            }
            ChildEnded::Failed(trouble) => {
                tell(
                    Severity::Warning,
                    trouble.reason(),
                    format!("{}: {trouble}", short(&child.key)),
                );
            }
            _ => {}
        }
    }
    if let Some(deleted) = list(pruned.deleted.iter()) {
        tell(
            Severity::Normal,
            "ChildrenDeleted",
            format!("deleted {deleted}"),
        );
    }
    for (key, error) in &pruned.failed {
        tell(
            Severity::Warning,
            "PruneFailed",
            format!("{}: {error}", short(key)),
        );
    }
    events.extend(plan.events().iter().cloned());
    events
}

fn about(owner: &Object) -> ObjectRef {
    ObjectRef {
        api_version: owner.key.kind.api_version(),
        kind: owner.key.kind.kind.clone(),
        namespace: owner.key.namespace.clone(),
        name: owner.key.name.clone(),
    }
}

fn list<'a>(keys: impl Iterator<Item = &'a ObjectKey>) -> Option<String> {
    let names: Vec<_> = keys.map(short).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// A child by kind and name: its namespace is the owner's.
fn short(key: &ObjectKey) -> String {
    format!("{} {}", key.kind.kind, key.name)
}
