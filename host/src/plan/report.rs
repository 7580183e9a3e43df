//! Checks what a plan says to people: status, measurements, refusals, Events.

use serde_json::{Map, Value};

use crate::object::{Kind, Object};
use crate::plan::refused::Refused;
use crate::plugin::bindings::{Event, Measurement, Metric, Refusal};
use crate::plugin::{Grant, Grants};

/// The largest status, in bytes.
const LARGEST_STATUS: usize = 524_288;
/// How many measurements one plan may have.
const MOST_MEASUREMENTS: usize = 1024;
/// How many labels a metric may have beside the host's.
const MOST_LABELS: usize = 8;
/// How many refusals one plan may have.
const MOST_REFUSALS: usize = 64;
/// How many Events one plan may have.
const MOST_EVENTS: usize = 32;
/// The longest text of an Event or a refusal, in bytes.
const LONGEST_TEXT: usize = 1024;

/// A figure that changes all the time, read.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Where status shows it, as a JSON pointer.
    pub status: Option<String>,
    /// The metric that carries it.
    pub metric: Option<Metric>,
    /// Its value.
    pub value: Value,
}

pub(super) fn status(status: Option<&str>) -> Result<Option<Map<String, Value>>, Refused> {
    let Some(text) = status else { return Ok(None) };
    let form = |why: String| Err(Refused::form("status", why));
    if text.len() > LARGEST_STATUS {
        return form(format!(
            "it has {} bytes, at most {LARGEST_STATUS} are stored",
            text.len()
        ));
    }
    let status: Map<String, Value> = match serde_json::from_str(text) {
        Ok(status) => status,
        Err(error) => return form(format!("it is not a JSON object: {error}")),
    };
    match status.get("conditions").map_or(Ok(()), check_conditions) {
        Ok(()) => Ok(Some(status)),
        Err(why) => form(why),
    }
}

fn check_conditions(conditions: &Value) -> Result<(), String> {
    let list = conditions.as_array().ok_or("conditions is not a list")?;
    let complete = |condition: &&Value| {
        ["type", "status"]
            .iter()
            .all(|key| condition[*key].is_string())
    };
    match list.iter().find(|condition| !complete(condition)) {
        Some(condition) => Err(format!("a condition lacks type or status: {condition}")),
        None => Ok(()),
    }
}

pub(super) fn measurements(measurements: Vec<Measurement>) -> Result<Vec<Figure>, Refused> {
    if measurements.len() > MOST_MEASUREMENTS {
        return Err(Refused::form(
            "measurements",
            format!("a plan has at most {MOST_MEASUREMENTS}"),
        ));
    }
    measurements.into_iter().map(measurement).collect()
}

fn measurement(measurement: Measurement) -> Result<Figure, Refused> {
    let Measurement {
        status,
        metric,
        value,
    } = measurement;
    let name = || match (&metric, &status) {
        (Some(metric), _) => format!("measurement {}", metric.name),
        (None, status) => format!(
            "measurement {}",
            status.as_deref().unwrap_or("without a place")
        ),
    };
    let value = serde_json::from_str(&value)
        .map_err(|error| Refused::form(name(), format!("its value is not JSON: {error}")))?;
    if let Some(pointer) = status.as_deref()
        && (!pointer.starts_with('/') || pointer.len() < 2)
    {
        return Err(Refused::form(
            name(),
            "its place is not a JSON pointer, such as /replication/lagSeconds",
        ));
    }
    if let Some(metric) = &metric {
        check_metric(metric).map_err(|why| Refused::form(name(), why))?;
    }
    Ok(Figure {
        status,
        metric,
        value,
    })
}

fn check_metric(metric: &Metric) -> Result<(), String> {
    let Metric { name, labels } = metric;
    let own = |label: &str| ["namespace", "name"].contains(&label);
    if !is_metric_name(name) {
        return Err("a metric's name is of a-z, 0-9 and _, beginning with a letter".into());
    }
    if labels.len() > MOST_LABELS {
        return Err(format!("a metric has at most {MOST_LABELS} labels"));
    }
    match labels
        .iter()
        .find(|(label, _)| own(label) || !is_metric_name(label))
    {
        Some((label, _)) => Err(format!(
            "\"{label}\" is not a label's name of a-z, 0-9 and _ other than namespace and name"
        )),
        None => Ok(()),
    }
}

fn is_metric_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.len() <= 128
        && name.bytes().all(allowed)
}

/// A text that is too long is cut: what it is about matters more than its end.
pub(super) fn refusals(refusals: Vec<Refusal>) -> Result<Vec<Refusal>, Refused> {
    if refusals.len() > MOST_REFUSALS {
        return Err(Refused::form(
            "refusals",
            format!("a plan has at most {MOST_REFUSALS}"),
        ));
    }
    let cut = |mut refusal: Refusal| {
        let end = refusal.text.floor_char_boundary(LONGEST_TEXT);
        refusal.text.truncate(end);
        refusal
    };
    Ok(refusals.into_iter().map(cut).collect())
}

/// Texts that are too long are cut where they are written.
pub(super) fn events(events: &[Event], owner: &Object, grants: &Grants) -> Result<(), Refused> {
    if events.len() > MOST_EVENTS {
        return Err(Refused::form(
            "events",
            format!("a plan has at most {MOST_EVENTS}"),
        ));
    }
    events
        .iter()
        .try_for_each(|event| self::event(event, owner, grants))
}

fn event(event: &Event, owner: &Object, grants: &Grants) -> Result<(), Refused> {
    let Event {
        about,
        severity: _,
        reason,
        text: _,
    } = event;
    let form = |why: String| Err(Refused::form(format!("event {reason}"), why));
    if !reason.starts_with(|first: char| first.is_ascii_uppercase())
        || reason.len() > 128
        || !reason.bytes().all(|byte| byte.is_ascii_alphanumeric())
    {
        return form("its reason is not one word in CamelCase of at most 128 bytes".into());
    }
    let kind = Kind::new(&about.api_version, &about.kind);
    if about.namespace != owner.key.namespace && !grants.allows(&Grant::Read(kind)) {
        return form(format!(
            "it is about {} {}, which is not in the object's namespace nor of a kind that the plugin may read",
            about.kind, about.name
        ));
    }
    Ok(())
}
