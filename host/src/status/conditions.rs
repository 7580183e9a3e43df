//! Conditions: the plugin's and the host's in one list, transition times kept.

use serde_json::{Map, Value, json};

/// The host's condition on whether the cluster follows the plan.
pub const SYNCED: &str = "Synced";
/// The host's condition on whether all of the spec is followed.
pub const SPEC_ACCEPTED: &str = "SpecAccepted";

/// The longest message, in bytes: what the usual schema of conditions takes.
const LONGEST_MESSAGE: usize = 32_768;

/// One condition of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCondition {
    /// [`SYNCED`] or [`SPEC_ACCEPTED`].
    pub kind: &'static str,
    /// Whether it holds.
    pub holds: bool,
    /// One word in CamelCase.
    pub reason: String,
    /// In words, with the remedy.
    pub message: String,
}

/// The plugin's conditions followed by the host's. A condition keeps the transition time of `seen` while its status
/// is the same; one that is new or turned gets `now`, an RFC 3339 time.
pub(super) fn merge(
    plugin: &[Value],
    host: &[HostCondition],
    seen: &[Value],
    generation: i64,
    now: &str,
) -> Vec<Value> {
    let theirs = plugin
        .iter()
        .filter(|condition| !is_hosts(condition))
        .cloned();
    let ours = host.iter().map(|condition| written(condition, generation));
    theirs
        .chain(ours)
        .map(|condition| timed(condition, seen, now))
        .collect()
}

/// Whether a condition is the host's to set.
fn is_hosts(condition: &Value) -> bool {
    matches!(condition["type"].as_str(), Some(SYNCED | SPEC_ACCEPTED))
}

fn written(condition: &HostCondition, generation: i64) -> Value {
    let HostCondition {
        kind,
        holds,
        reason,
        message,
    } = condition;
    let mut written = json!({
        "type": kind,
        "status": if *holds { "True" } else { "False" },
        "reason": reason,
        "message": cut(message),
    });
    if generation > 0 {
        written["observedGeneration"] = generation.into();
    }
    written
}

fn cut(message: &str) -> &str {
    &message[..message.floor_char_boundary(LONGEST_MESSAGE)]
}

fn timed(mut condition: Value, seen: &[Value], now: &str) -> Value {
    let before = seen
        .iter()
        .find(|before| before["type"] == condition["type"]);
    let kept = before
        .filter(|before| before["status"] == condition["status"])
        .and_then(|before| before["lastTransitionTime"].as_str());
    if let Value::Object(fields) = &mut condition {
        // The API server's schema for conditions wants both to be there.
        fields.entry("reason").or_insert_with(|| "Unknown".into());
        fields.entry("message").or_insert_with(|| "".into());
        fields.insert("lastTransitionTime".into(), kept.unwrap_or(now).into());
    }
    condition
}

/// The conditions in a status; none where there are none.
pub(super) fn of(status: &Map<String, Value>) -> &[Value] {
    status
        .get("conditions")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(kind: &str, status: &str, time: &str) -> Value {
        json!({"type": kind, "status": status, "reason": "R", "message": "m", "lastTransitionTime": time})
    }

    #[test]
    fn a_condition_keeps_its_time_until_its_status_turns() {
        let seen = [
            condition("Ready", "True", "then"),
            condition("Full", "False", "then"),
        ];
        let plugin = [
            condition("Ready", "True", "x"),
            condition("Full", "True", "x"),
            condition("New", "True", "x"),
        ];
        let merged = merge(&plugin, &[], &seen, 1, "now");
        let times: Vec<_> = merged
            .iter()
            .map(|c| c["lastTransitionTime"].as_str().unwrap())
            .collect();
        assert_eq!(times, ["then", "now", "now"]);
    }

    #[test]
    fn a_plugin_cannot_set_the_conditions_of_the_host() {
        let plugin = [
            condition(SYNCED, "True", "then"),
            condition("Ready", "True", "then"),
        ];
        let host = [HostCondition {
            kind: SYNCED,
            holds: false,
            reason: "Paused".into(),
            message: "m".into(),
        }];
        let merged = merge(&plugin, &host, &plugin, 3, "now");
        let kinds: Vec<_> = merged.iter().map(|c| c["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["Ready", SYNCED]);
        assert_eq!(merged[1]["status"], "False");
        assert_eq!(merged[1]["observedGeneration"], 3);
    }
}
