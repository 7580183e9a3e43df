//! From PrometheusRules to rule files. Pure.
//!
//! A group that Prometheus would refuse is left out alone: the other alerts go on working.

mod check;
mod pack;
mod promql;
mod template;

use crate::api::{Port, Rule, RuleGroup, RuleSpec};
use crate::version::Version;
use crate::yaml::{Map, Piece, Yaml, write};

pub use pack::pack;
pub use promql::Dialect;

/// A PrometheusRule as a rule file.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// The file, without the groups that were left out.
    pub document: Map,
    /// How many groups are in it.
    pub groups: usize,
    /// Groups that were left out, and why.
    pub left_out: Vec<(String, String)>,
}

impl File {
    /// The file as text.
    #[must_use]
    pub fn text(&self) -> String {
        let pieces = write(&self.document)
            .pieces
            .into_iter()
            .map(|piece| match piece {
                Piece::Text(text) => text,
                Piece::Scalar(_) | Piece::Items { .. } => String::new(),
            });
        pieces.collect()
    }
}

/// The rule file of a PrometheusRule.
#[must_use]
pub fn file(version: &Version, dialect: Dialect, spec: &RuleSpec) -> File {
    let (mut groups, mut left_out): (Vec<Yaml>, Vec<_>) = (Vec::new(), Vec::new());
    for (at, group) in spec.groups.iter().enumerate() {
        match check::group(group, &spec.groups[..at], dialect) {
            Ok(()) => groups.push(Yaml::Map(rendered(version, group))),
            Err(why) => left_out.push((group.name.clone(), why)),
        }
    }
    File {
        groups: groups.len(),
        document: Map::new().with("groups", Yaml::List(groups)),
        left_out,
    }
}

fn rendered(version: &Version, group: &RuleGroup) -> Map {
    let said = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let rules: Vec<Map> = group
        .rules
        .iter()
        .map(|rule| rendered_rule(version, rule))
        .collect();
    Map::new()
        .with("name", &group.name)
        .maybe(
            "labels",
            texts(&group.labels).filter(|_| version.since(3, 0)),
        )
        .maybe("interval", said(&group.interval))
        .maybe(
            "query_offset",
            said(&group.query_offset).filter(|_| version.since(2, 53)),
        )
        .maybe("limit", group.limit.filter(|_| version.since(2, 31)))
        .maybe("rules", (!rules.is_empty()).then_some(rules))
}

fn rendered_rule(version: &Version, rule: &Rule) -> Map {
    let said = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let expression = match &rule.expr {
        Port::Name(text) => Yaml::from(text),
        Port::Number(number) => Yaml::from(*number),
    };
    Map::new()
        .filled("record", &rule.record)
        .filled("alert", &rule.alert)
        .with("expr", expression)
        .maybe("for", said(&rule.hold))
        .maybe(
            "keep_firing_for",
            said(&rule.keep_firing_for).filter(|_| version.since(2, 42)),
        )
        .maybe("labels", texts(&rule.labels))
        .maybe("annotations", texts(&rule.annotations))
}

fn texts(entries: &std::collections::BTreeMap<String, String>) -> Option<Map> {
    let map = entries
        .iter()
        .map(|(name, value)| (name.clone(), Yaml::from(value)));
    (!entries.is_empty()).then(|| map.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_group_is_left_out_alone() {
        let spec: RuleSpec = serde_json::from_str(
            r#"{"groups": [
                {"name": "good", "rules": [{"alert": "A", "expr": "up == 0", "for": "5m"}]},
                {"name": "bad", "rules": [{"alert": "B", "expr": "sum(up"}]},
                {"name": "good", "rules": [{"record": "a:b", "expr": 1}]}]}"#,
        )
        .unwrap();
        let version = Version::parse("v3.5.0").unwrap();
        let file = file(&version, Dialect::of(&version, &[]), &spec);
        assert_eq!(file.groups, 1);
        assert!(file.text().contains("'up == 0'") && !file.text().contains("sum(up"));
        let left_out: Vec<&str> = file
            .left_out
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(left_out, ["bad", "good"]);
    }
}
