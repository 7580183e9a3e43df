//! Whether Prometheus takes a group of rules.

use std::collections::BTreeMap;

use super::promql::{self, Dialect};
use super::template;
use crate::api::{Port, Rule, RuleGroup};
use crate::units;

/// Checks a group; `before` are those of the same file that stand before it.
///
/// # Errors
/// In words: which rule, what is wrong.
pub(super) fn group(
    group: &RuleGroup,
    before: &[RuleGroup],
    dialect: Dialect,
) -> Result<(), String> {
    if group.name.is_empty() {
        return Err("a group has no name".to_owned());
    }
    if before.iter().any(|other| other.name == group.name) {
        return Err(format!("two groups are called \"{}\"", group.name));
    }
    for (field, duration) in [
        ("interval", &group.interval),
        ("query_offset", &group.query_offset),
    ] {
        said_duration(field, duration.as_deref())?;
    }
    labels(&group.labels)?;
    for (at, rule) in group.rules.iter().enumerate() {
        self::rule(rule, dialect).map_err(|why| format!("rules[{at}]: {why}"))?;
    }
    Ok(())
}

fn rule(rule: &Rule, dialect: Dialect) -> Result<(), String> {
    match (rule.record.as_str(), rule.alert.as_str()) {
        ("", "") => return Err("neither record nor alert is set".to_owned()),
        ("", _) => {}
        (record, "") => self::record(record, rule)?,
        _ => return Err("record and alert are set; write one of them".to_owned()),
    }
    if let Port::Name(text) = &rule.expr {
        promql::check(text, dialect).map_err(|why| format!("expr: {why}"))?;
    }
    said_duration("for", rule.hold.as_deref())?;
    said_duration("keep_firing_for", rule.keep_firing_for.as_deref())?;
    labels(&rule.labels)?;
    for (name, text) in rule.labels.iter().chain(&rule.annotations) {
        template::check(text).map_err(|why| format!("{name}: {why}"))?;
    }
    match rule.annotations.keys().find(|name| !is_label(name)) {
        Some(name) => Err(format!(
            "annotations: \"{name}\" is not a name of letters, digits and _"
        )),
        None => Ok(()),
    }
}

fn record(name: &str, rule: &Rule) -> Result<(), String> {
    let is_metric = |text: &str| {
        let allowed = |character: char| {
            character == '_' || character == ':' || character.is_ascii_alphanumeric()
        };
        text.chars().all(allowed) && !text.starts_with(|first: char| first.is_ascii_digit())
    };
    let said = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    match () {
        () if !is_metric(name) => Err(format!("record: \"{name}\" is not the name of a series")),
        () if !rule.annotations.is_empty() => Err("annotations go with alert only".to_owned()),
        () if said(&rule.hold) => Err("for goes with alert only".to_owned()),
        () if said(&rule.keep_firing_for) => Err("keep_firing_for goes with alert only".to_owned()),
        () => Ok(()),
    }
}

fn said_duration(field: &str, text: Option<&str>) -> Result<(), String> {
    match text {
        None | Some("") => Ok(()),
        Some(text) => units::duration(text)
            .map(drop)
            .map_err(|why| format!("{field}: {why}")),
    }
}

fn labels(labels: &BTreeMap<String, String>) -> Result<(), String> {
    match labels
        .keys()
        .find(|name| !is_label(name) || *name == "__name__")
    {
        Some(name) => Err(format!(
            "labels: \"{name}\" is not a label that a rule may set"
        )),
        None => Ok(()),
    }
}

fn is_label(text: &str) -> bool {
    let allowed = |character: char| character == '_' || character.is_ascii_alphanumeric();
    !text.is_empty()
        && text.chars().all(allowed)
        && !text.starts_with(|first: char| first.is_ascii_digit())
}
