//! Label selectors.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// Chooses objects by their labels. An empty one chooses everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels that an object must carry with these values.
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements; all must hold.
    pub match_expressions: Vec<Requirement>,
}

/// One requirement on a label.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Requirement {
    /// The label's name.
    pub key: String,
    /// In, NotIn, Exists or DoesNotExist.
    pub operator: String,
    /// For In and NotIn.
    #[serde(default)]
    pub values: Vec<String>,
}

impl LabelSelector {
    /// The selector as kubectl and Prometheus take it: requirements sorted by label, values too.
    ///
    /// # Errors
    /// In words, when an operator or a value cannot be.
    pub fn text(&self) -> Result<String, String> {
        let mut terms: Vec<(String, String)> = self
            .match_labels
            .iter()
            .map(|(key, value)| (key.clone(), format!("{key}={value}")))
            .collect();
        for requirement in &self.match_expressions {
            terms.push((requirement.key.clone(), requirement.text()?));
        }
        if let Some((key, _)) = terms.iter().find(|(key, _)| !is_label_name(key)) {
            return Err(format!("\"{key}\" is not the name of a label"));
        }
        let values = self.match_labels.values().chain(
            self.match_expressions
                .iter()
                .flat_map(|requirement| &requirement.values),
        );
        if let Some(value) = values.into_iter().find(|value| !is_label_value(value)) {
            return Err(format!("\"{value}\" is not the value of a label"));
        }
        terms.sort_by(|(a, _), (b, _)| a.cmp(b));
        let terms: Vec<String> = terms.into_iter().map(|(_, term)| term).collect();
        Ok(terms.join(","))
    }
}

impl Requirement {
    fn text(&self) -> Result<String, String> {
        let Self {
            key,
            operator,
            values,
        } = self;
        let list = || {
            let mut sorted: Vec<&str> = values.iter().map(String::as_str).collect();
            sorted.sort_unstable();
            sorted.join(",")
        };
        match (operator.as_str(), values.is_empty()) {
            ("In", false) => Ok(format!("{key} in ({})", list())),
            ("NotIn", false) => Ok(format!("{key} notin ({})", list())),
            ("In" | "NotIn", true) => Err(format!("{operator} on {key} needs values")),
            ("Exists", true) => Ok(key.clone()),
            ("DoesNotExist", true) => Ok(format!("!{key}")),
            ("Exists" | "DoesNotExist", false) => {
                Err(format!("{operator} on {key} takes no values"))
            }
            _ => Err(format!(
                "\"{operator}\" on {key} is not an operator: write In, NotIn, Exists or DoesNotExist"
            )),
        }
    }
}

fn is_label_name(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    !name.is_empty()
        && is_label_value(name)
        && prefix.is_none_or(|prefix| {
            (1..=253).contains(&prefix.len())
                && prefix.split('.').all(|part| {
                    !part.is_empty()
                        && !part.starts_with('-')
                        && !part.ends_with('-')
                        && part.bytes().all(|byte| {
                            byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
                        })
                })
        })
}

fn is_label_value(text: &str) -> bool {
    let ends = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= 63
        && ends(bytes.first())
        && ends(bytes.last())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirement(operator: &str, values: &[&str]) -> LabelSelector {
        LabelSelector {
            match_labels: BTreeMap::from([("b".into(), "1".into())]),
            match_expressions: vec![Requirement {
                key: "a".into(),
                operator: operator.into(),
                values: values.iter().map(ToString::to_string).collect(),
            }],
        }
    }

    #[test]
    fn a_selector_is_written_as_kubectl_takes_it() {
        for (operator, values, text) in [
            ("In", &["y", "x"][..], "a in (x,y),b=1"),
            ("NotIn", &["x"], "a notin (x),b=1"),
            ("Exists", &[], "a,b=1"),
            ("DoesNotExist", &[], "!a,b=1"),
        ] {
            assert_eq!(requirement(operator, values).text().unwrap(), text);
        }
    }

    #[test]
    fn a_selector_that_cannot_be_says_why() {
        for (operator, values, hint) in [
            ("In", &[][..], "needs values"),
            ("Exists", &["x"], "takes no values"),
            ("Like", &["x"], "not an operator"),
            ("In", &["a b"], "not the value"),
        ] {
            let why = requirement(operator, values).text().unwrap_err();
            assert!(why.contains(hint), "{why}");
        }
    }
}
