//! Label selectors as kubectl writes them.

use std::collections::BTreeSet;

use kube::core::{Expression, Selector};

/// A text that is not a label selector.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{text}\" is not a label selector: {why}; write terms such as app=web,tier in (a,b),!canary"
)]
pub struct NotASelector {
    text: String,
    why: String,
}

/// Reads `app=web,tier in (a,b),!canary`; empty selects everything.
///
/// # Errors
/// When a term is none of `KEY`, `!KEY`, `KEY=VALUE`, `KEY==VALUE`, `KEY!=VALUE`, `KEY in (…)`, `KEY notin (…)`.
pub fn parse(text: &str) -> Result<Selector, NotASelector> {
    let wrong = |why: String| NotASelector {
        text: text.into(),
        why,
    };
    if text.trim().is_empty() {
        return Ok(Selector::default());
    }
    terms(text)
        .into_iter()
        .map(expression)
        .collect::<Result<_, _>>()
        .map_err(wrong)
}

/// Splits at commas that stand outside parentheses.
fn terms(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(|letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    })
    .map(str::trim)
    .collect()
}

fn expression(term: &str) -> Result<Expression, String> {
    if let Some(key) = term.strip_prefix('!') {
        return Ok(Expression::DoesNotExist(label_key(key)?));
    }
    if let Some((key, value)) = term.split_once("!=") {
        return Ok(Expression::NotEqual(label_key(key)?, label_value(value)?));
    }
    if let Some((key, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
        return Ok(Expression::Equal(label_key(key)?, label_value(value)?));
    }
    set_expression(term)
}

fn set_expression(term: &str) -> Result<Expression, String> {
    let Some((head, list)) = term.split_once('(') else {
        return Ok(Expression::Exists(label_key(term)?));
    };
    let list = list
        .strip_suffix(')')
        .ok_or_else(|| format!("\"{term}\" has no closing parenthesis"))?;
    let values: BTreeSet<_> = list.split(',').map(label_value).collect::<Result<_, _>>()?;
    match head.split_whitespace().collect::<Vec<_>>().as_slice() {
        [key, "in"] => Ok(Expression::In(label_key(key)?, values)),
        [key, "notin"] => Ok(Expression::NotIn(label_key(key)?, values)),
        _ => Err(format!(
            "\"{term}\" is neither KEY in (…) nor KEY notin (…)"
        )),
    }
}

fn label_key(text: &str) -> Result<String, String> {
    let text = text.trim();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    match !text.is_empty() && text.len() <= 317 && text.bytes().all(allowed) {
        true => Ok(text.into()),
        false => Err(format!("\"{text}\" is not a label's key")),
    }
}

fn label_value(text: &str) -> Result<String, String> {
    let text = text.trim();
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    match text.len() <= 63 && text.bytes().all(allowed) {
        true => Ok(text.into()),
        false => Err(format!("\"{text}\" is not a label's value")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::SelectorExt;

    #[test]
    fn every_form_of_a_term_selects_as_kubectl_does() {
        let labels = [
            ("app".to_owned(), "web".to_owned()),
            ("tier".to_owned(), "a".to_owned()),
        ]
        .into();
        for (text, expected) in [
            ("", true),
            ("app", true),
            ("!app", false),
            ("!canary", true),
            ("app=web", true),
            ("app == web", true),
            ("app!=web", false),
            ("canary!=yes", true),
            ("tier in (a,b)", true),
            ("tier in (b)", false),
            ("tier notin (b, c)", true),
            ("app=web,tier in (a,b),!canary", true),
            ("app=web,tier in (b,c)", false),
        ] {
            let selector = parse(text).expect(text);
            assert_eq!(selector.matches(&labels), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for text in [
            "=web",
            "app=a b",
            "app in (a",
            "app within (a)",
            "app=web,,tier",
            "a b",
            "app=(a)",
        ] {
            assert!(parse(text).is_err(), "{text} was accepted");
        }
    }
}
