//! Whether Prometheus parses an expression. Pure.
//!
//! Prometheus refuses a whole configuration for one expression, so each is parsed here as its own parser of 3.5 does,
//! types and arguments included. What only a newer Prometheus knows is let through: what passes and is wrong all the
//! same is told by the condition Reconciled, and the last good configuration stays.

mod binary;
mod functions;
mod parser;
mod token;

use crate::version::Version;

/// Features that give the language more syntax than is known here.
const MORE_SYNTAX: [&str; 3] = [
    "promql-binop-fill-modifiers",
    "promql-duration-expr",
    "promql-extended-range-selectors",
];

/// Which PromQL a Prometheus speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// Experimental functions and aggregations are enabled.
    experimental: bool,
    /// There is syntax that is not known here.
    extended: bool,
    /// It may have functions that are not known here.
    newer: bool,
    /// It is of the second major version.
    second: bool,
}

impl Dialect {
    /// That of a version with features enabled.
    #[must_use]
    pub fn of(version: &Version, features: &[String]) -> Self {
        let enabled = |wanted: &str| {
            let mut all = features.iter().flat_map(|list| list.split(','));
            all.any(|feature| feature.trim() == wanted)
        };
        Self {
            experimental: enabled("promql-experimental-functions"),
            extended: MORE_SYNTAX.into_iter().any(enabled),
            newer: version.since_candidate(3, 6),
            second: version.major() == 2,
        }
    }
}

/// Checks an expression.
///
/// # Errors
/// In words, what is wrong and where.
pub(super) fn check(text: &str, dialect: Dialect) -> Result<(), String> {
    if dialect.extended {
        return Ok(());
    }
    let tokens = token::tokens(text)?;
    parser::parse(text, &tokens, dialect)
}

/// Line and column, as Prometheus counts them.
fn place(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default();
    format!("{line}:{}", column.chars().count() + 1)
}

#[cfg(test)]
mod tests;
