//! Writing a plugin's own words as SQL. Secrets are not among them: the host fills those in.

/// A text as a string literal, quotes included.
///
/// Sound for every text under the SQL mode that the host sets for its sessions.
///
/// ```
/// assert_eq!(windlass_sdk::sql::literal("it's"), "'it''s'");
/// ```
#[must_use]
pub fn literal(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for character in text.chars() {
        match character {
            '\'' => quoted.push_str("''"),
            '\\' => quoted.push_str("\\\\"),
            '\0' => quoted.push_str("\\0"),
            other => quoted.push(other),
        }
    }
    quoted.push('\'');
    quoted
}

/// A name of a table, column, schema or the like, in backticks.
///
/// ```
/// assert_eq!(windlass_sdk::sql::identifier("a`b"), "`a``b`");
/// ```
#[must_use]
pub fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

#[cfg(test)]
mod tests {
    use super::{identifier, literal};

    #[test]
    fn what_would_end_a_literal_is_escaped() {
        for (text, expected) in [
            ("", "''"),
            ("plain", "'plain'"),
            ("it's", "'it''s'"),
            (r"ends in \", r"'ends in \\'"),
            (r"\' OR 1=1", r"'\\'' OR 1=1'"),
            ("a\0b", r"'a\0b'"),
            ("ünï", "'ünï'"),
        ] {
            assert_eq!(literal(text), expected);
        }
    }

    #[test]
    fn what_would_end_a_name_is_doubled() {
        assert_eq!(identifier("a` FROM b"), "`a`` FROM b`");
    }
}
