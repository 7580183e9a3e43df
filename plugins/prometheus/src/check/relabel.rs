//! Whether Prometheus takes a rule that rewrites labels.

use super::re2;
use crate::api::Relabeling;
use crate::version::Version;

/// What Prometheus takes where a rule says nothing.
const REGEX: &str = "(.*)";
const SEPARATOR: &str = ";";
const REPLACEMENT: &str = "$1";

/// Checks rules.
///
/// # Errors
/// The first that is wrong, as `[INDEX]: why`.
pub(super) fn check(version: &Version, rules: &[Relabeling]) -> Result<(), String> {
    let mut rules = rules.iter().enumerate();
    rules
        .try_for_each(|(at, rule)| check_one(version, rule).map_err(|why| format!("[{at}]: {why}")))
}

fn check_one(version: &Version, rule: &Relabeling) -> Result<(), String> {
    let action = match rule.action.to_lowercase().as_str() {
        "" => "replace".to_owned(),
        action => action.to_owned(),
    };
    let action = action.as_str();
    let since = |major, minor| match version.since(major, minor) {
        true => Ok(()),
        false => Err(format!(
            "{action} needs Prometheus {major}.{minor} or newer"
        )),
    };
    match action {
        "lowercase" | "uppercase" => since(2, 36)?,
        "keepequal" | "dropequal" => since(2, 41)?,
        "replace" | "keep" | "drop" | "hashmod" | "labelmap" | "labeldrop" | "labelkeep" => {}
        _ => return Err(format!("{action} is not an action")),
    }
    re2::check(&rule.regex)?;
    match action {
        "hashmod" => hashmod(rule),
        "replace" => target(rule, action),
        "lowercase" | "uppercase" => {
            target(rule, action).and_then(|()| no_replacement(rule, action))
        }
        "keepequal" | "dropequal" => {
            target(rule, action).and_then(|()| only(rule, action, &["sourceLabels", "targetLabel"]))
        }
        "labeldrop" | "labelkeep" => only(rule, action, &["regex"]),
        "labelmap" => labelmap(rule),
        _ => Ok(()),
    }
}

fn hashmod(rule: &Relabeling) -> Result<(), String> {
    if rule.modulus == 0 {
        return Err("hashmod needs a modulus above 0".to_owned());
    }
    match is_label(&rule.target_label) {
        true => Ok(()),
        false => Err(format!(
            "\"{}\" is not a label that hashmod may write",
            rule.target_label
        )),
    }
}

fn target(rule: &Relabeling, action: &str) -> Result<(), String> {
    match rule.target_label.as_str() {
        "" => Err(format!("{action} needs targetLabel")),
        target if !is_template(target) => Err(format!(
            "\"{target}\" is not a label that {action} may write"
        )),
        _ => Ok(()),
    }
}

fn no_replacement(rule: &Relabeling, action: &str) -> Result<(), String> {
    match rule.replacement.as_deref() {
        None | Some(REPLACEMENT) => Ok(()),
        Some(_) => Err(format!("{action} takes no replacement")),
    }
}

fn labelmap(rule: &Relabeling) -> Result<(), String> {
    match rule.replacement.as_deref() {
        Some(replacement) if !is_template(replacement) => Err(format!(
            "\"{replacement}\" is not a label that labelmap may write"
        )),
        _ => Ok(()),
    }
}

/// Only these fields may say anything else than what holds anyway.
fn only(rule: &Relabeling, action: &str, fields: &[&str]) -> Result<(), String> {
    let said = [
        ("sourceLabels", !rule.source_labels.is_empty()),
        ("targetLabel", !rule.target_label.is_empty()),
        ("regex", !rule.regex.is_empty() && rule.regex != REGEX),
        ("modulus", rule.modulus != 0),
        (
            "separator",
            rule.separator
                .as_deref()
                .is_some_and(|separator| separator != SEPARATOR),
        ),
        (
            "replacement",
            rule.replacement
                .as_deref()
                .is_some_and(|replacement| replacement != REPLACEMENT),
        ),
    ];
    match said
        .iter()
        .find(|(field, said)| *said && !fields.contains(field))
    {
        Some((field, _)) => Err(format!("{action} takes no {field}")),
        None => Ok(()),
    }
}

/// Whether a text is the name of a label.
pub(super) fn is_label(text: &str) -> bool {
    text.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic())
        && text.chars().all(is_word)
}

/// Whether a label of Kubernetes can become one of Prometheus, where what Prometheus 2 does not take becomes `_`.
pub(super) fn is_takeable(version: &Version, label: &str) -> bool {
    let digit = label.starts_with(|first: char| first.is_ascii_digit());
    !label.is_empty() && (!digit || version.major() >= 3)
}

fn is_word(character: char) -> bool {
    character == '_' || character.is_ascii_alphanumeric()
}

/// Whether a text is the name of a label, with groups of the expression as `$1`, `$name` or `${name}`.
fn is_template(text: &str) -> bool {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        rest = match first {
            '$' => match reference(after) {
                Some(rest) => rest,
                None => return false,
            },
            digit if digit.is_ascii_digit() && rest.len() < text.len() => after,
            letter if letter == '_' || letter.is_ascii_alphabetic() => after,
            _ => return false,
        };
    }
    !text.is_empty()
}

/// What follows a reference to a group, of which the `$` was taken.
fn reference(text: &str) -> Option<&str> {
    if let Some(inside) = text.strip_prefix('{') {
        let (name, rest) = inside.split_once('}')?;
        return (!name.is_empty() && name.chars().all(is_word)).then_some(rest);
    }
    let rest = text.trim_start_matches(is_word);
    (rest.len() < text.len()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(json: &str) -> Relabeling {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn rules_that_prometheus_takes_pass() {
        let version = Version::parse("v3.5.0").unwrap();
        for json in [
            r#"{"targetLabel": "a", "sourceLabels": ["b"]}"#,
            r#"{"targetLabel": "${1}_x$2"}"#,
            r#"{"action": "HashMod", "modulus": 2, "targetLabel": "__tmp"}"#,
            r#"{"action": "labelmap", "regex": "x_(.+)", "replacement": "$1"}"#,
            r#"{"action": "labeldrop", "regex": "x", "separator": ";"}"#,
            r#"{"action": "keepequal", "sourceLabels": ["a"], "targetLabel": "b"}"#,
        ] {
            assert_eq!(check(&version, &[rule(json)]), Ok(()), "{json}");
        }
    }

    #[test]
    fn a_rule_that_prometheus_refuses_says_which_and_why() {
        let version = Version::parse("v2.35.0").unwrap();
        for (json, hint) in [
            (r#"{"action": "keep", "regex": "("}"#, "regular expression"),
            (r#"{}"#, "needs targetLabel"),
            (r#"{"targetLabel": "1a"}"#, "not a label"),
            (r#"{"targetLabel": "a-b"}"#, "not a label"),
            (r#"{"action": "hashmod", "targetLabel": "a"}"#, "modulus"),
            (
                r#"{"action": "labeldrop", "sourceLabels": ["a"]}"#,
                "takes no sourceLabels",
            ),
            (
                r#"{"action": "lowercase", "targetLabel": "a"}"#,
                "needs Prometheus 2.36",
            ),
            (r#"{"action": "shout"}"#, "not an action"),
        ] {
            let why = check(
                &version,
                &[
                    Relabeling {
                        target_label: "a".into(),
                        ..Relabeling::default()
                    },
                    rule(json),
                ],
            )
            .unwrap_err();
            assert!(why.starts_with("[1]: ") && why.contains(hint), "{why}");
        }
    }
}
