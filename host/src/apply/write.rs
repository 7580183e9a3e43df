//! One server-side apply.

use kube::api::{DynamicObject, Patch, PatchParams, ValidationDirective};
use serde_json::Value;

use crate::apply::desired::{Desired, SlotValues};
use crate::apply::trouble::ChildTrouble;
use crate::cache::is_secret;
use crate::cluster::{Cluster, ClusterError, asked};
use crate::object::{Kind, Object};
use crate::secrets::MASK;

/// Whether fields that others own are taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conflicts {
    /// The child is ours: what we want holds.
    Force,
    /// The child was not there a moment ago: what somebody made since is not ours to take.
    Refuse,
}

/// Writes the child and returns it as the API server has it now, without the values of a Secret. What it says
/// instead passes through `mask`.
pub(super) async fn write(
    cluster: &Cluster,
    desired: &Desired<'_>,
    values: &SlotValues,
    conflicts: Conflicts,
    mask: impl Fn(&str) -> String,
) -> Result<Object, ChildTrouble> {
    let key = &desired.child.key;
    if key.namespace.is_some() && !cluster.served(&key.kind).await?.namespaced {
        return Err(ChildTrouble::ClusterScoped(key.clone()));
    }
    let api = cluster.api(&key.kind, key.namespace.as_deref()).await?;
    let document = Value::Object(desired.filled(values));
    let params = PatchParams {
        field_manager: Some(desired.manager.clone()),
        force: conflicts == Conflicts::Force,
        field_validation: Some(ValidationDirective::Strict),
        ..PatchParams::default()
    };
    let what = format!("apply {key}");
    match asked(
        &what,
        api.patch(&key.name, &params, &Patch::Apply(&document)),
    )
    .await
    {
        Ok(live) => Ok(kept(&key.kind, live)?),
        Err(error) => Err(refused(error, |text| {
            mask(&without(values, &document, text))
        })),
    }
}

/// What a refusal means, in words that passed through `mask`.
fn refused(error: ClusterError, mask: impl Fn(&str) -> String) -> ChildTrouble {
    // Asked first: a value may stand in the very words.
    match is_immutable(&error) {
        true => ChildTrouble::Immutable(error.masked(mask)),
        false => error.masked(mask).into(),
    }
}

/// `text` without what slots became: an admission webhook may quote what it refuses, values in base64 among it.
fn without(values: &SlotValues, document: &Value, text: &str) -> String {
    let data = &document["data"];
    let written = values
        .keys()
        .filter_map(|key| data[key].as_str().map(str::to_owned));
    let plain = values
        .values()
        .map(|value| String::from_utf8_lossy(value.expose()).into_owned());
    let secret = written.chain(plain).filter(|value| !value.is_empty());
    secret.fold(text.to_owned(), |text, value| text.replace(&value, MASK))
}

/// What the host keeps of the answer: never a secret value.
pub(super) fn kept(kind: &Kind, mut live: DynamicObject) -> Result<Object, ClusterError> {
    if is_secret(kind)
        && let Some(fields) = live.data.as_object_mut()
    {
        fields.remove("data");
        fields.remove("stringData");
    }
    let name = live.metadata.name.clone().unwrap_or_default();
    Object::new(kind, live).map_err(|error| ClusterError::Unreachable {
        what: format!("read the answer about {kind} {name}"),
        why: error.to_string(),
    })
}

/// Whether the answer says that a field may not change. The API server has no code of its own for it: it is an
/// `Invalid` whose causes say so in these words.
fn is_immutable(error: &ClusterError) -> bool {
    let ClusterError::Refused { source, .. } = error else {
        return false;
    };
    let words = [
        "immutable",
        "Forbidden: updates to",
        "cannot be changed",
        "may not be changed",
    ];
    source.code == 422 && words.iter().any(|words| source.message.contains(words))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::secrets::SecretValue;

    fn values(value: &str) -> SlotValues {
        BTreeMap::from([("key".to_owned(), SecretValue::new(value.into()))])
    }

    #[test]
    fn what_a_slot_became_is_taken_out_of_an_answer_plain_and_as_it_was_sent() {
        let document = json!({"data": {"key": "bG9naW4=", "other": "b3RoZXI="}});
        let text = without(&values("login"), &document, "login bG9naW4= b3RoZXI=");
        assert_eq!(text, "[masked] [masked] b3RoZXI=");
    }

    #[test]
    fn a_value_among_the_words_does_not_hide_that_a_field_is_immutable() {
        let status = kube::core::Status::failure("spec: field is immutable", "Invalid");
        let error = ClusterError::Refused {
            what: "apply".into(),
            source: Box::new(status.with_code(422)),
        };
        let trouble = refused(error, |text| {
            without(&values("immutable"), &json!({}), text)
        });
        assert!(matches!(trouble, ChildTrouble::Immutable(_)), "{trouble}");
        assert!(
            trouble.to_string().contains("field is [masked]"),
            "{trouble}"
        );
    }
}
