//! Statements that secrets are filled into: where they may stand, and how they are written.

use super::words::{Word, words};

/// Statements in which a password may be given, by their first words. None of them gives it back.
const TAKE_PASSWORDS: &[&[&str]] = &[
    &["CREATE", "USER"],
    &["ALTER", "USER"],
    &["CLONE", "INSTANCE", "FROM"],
    &["CHANGE", "REPLICATION", "SOURCE", "TO"],
];

/// One part of a statement, as far as its place matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlPart<'a> {
    /// The plugin's own words.
    Text(&'a str),
    /// A secret value, to become a string literal.
    Secret,
}

/// Refuses a statement of an action that is not one statement, or that holds a secret where no password stands.
///
/// # Errors
/// In words, with what to write.
pub fn check_parts(parts: &[SqlPart<'_>]) -> Result<(), String> {
    let mut before = Vec::new();
    for part in parts {
        match part {
            // A part is read by itself, so no quote can begin in one and end in another.
            SqlPart::Text(text) => before.extend(words(text)?),
            SqlPart::Secret if takes_password(&before) => before.push(Word::Text),
            SqlPart::Secret => {
                return Err(
                    "a secret stands only after IDENTIFIED BY, IDENTIFIED WITH PLUGIN BY or \
                     SOURCE_PASSWORD = in CREATE USER, ALTER USER, CLONE INSTANCE FROM and \
                     CHANGE REPLICATION SOURCE TO"
                        .into(),
                );
            }
        }
    }
    match before.is_empty() {
        true => Err("a statement is empty".into()),
        false => Ok(()),
    }
}

fn takes_password(before: &[Word]) -> bool {
    let begins = |words: &&[&str]| {
        words.len() <= before.len() && words.iter().zip(before).all(|(word, is)| is.is(word))
    };
    TAKE_PASSWORDS.iter().any(begins) && ends_before_password(before)
}

fn ends_before_password(before: &[Word]) -> bool {
    match before {
        [.., word, Word::Symbol('=')] if word.is("SOURCE_PASSWORD") => true,
        [.., identified, by] if identified.is("IDENTIFIED") && by.is("BY") => true,
        [
            ..,
            identified,
            with,
            Word::Bare(_) | Word::Name(_) | Word::Text,
            by,
        ] => identified.is("IDENTIFIED") && with.is("WITH") && by.is("BY"),
        _ => false,
    }
}

/// A value as a string literal, quotes included, sound under the SQL mode that the host sets.
pub fn literal(value: &[u8]) -> Vec<u8> {
    let mut quoted = Vec::with_capacity(value.len() + 2);
    quoted.push(b'\'');
    for &byte in value {
        match byte {
            b'\'' => quoted.extend_from_slice(b"''"),
            b'\\' => quoted.extend_from_slice(b"\\\\"),
            0 => quoted.extend_from_slice(b"\\0"),
            other => quoted.push(other),
        }
    }
    quoted.push(b'\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::SqlPart::{Secret, Text};
    use super::*;

    #[test]
    fn a_secret_may_stand_where_a_password_does() {
        for parts in [
            &[
                Text("CREATE USER IF NOT EXISTS 'a'@'%' IDENTIFIED BY "),
                Secret,
            ][..],
            &[
                Text("create user a identified by"),
                Secret,
                Text(" REQUIRE SSL"),
            ],
            &[
                Text("ALTER USER a IDENTIFIED WITH caching_sha2_password BY "),
                Secret,
            ],
            &[
                Text("ALTER USER a IDENTIFIED WITH 'caching_sha2_password' BY "),
                Secret,
            ],
            &[
                Text("ALTER USER a IDENTIFIED BY "),
                Secret,
                Text(" RETAIN CURRENT PASSWORD"),
            ],
            &[
                Text("CREATE USER a IDENTIFIED BY "),
                Secret,
                Text(", b IDENTIFIED BY "),
                Secret,
            ],
            &[
                Text("CLONE INSTANCE FROM 'd'@'h':3306 IDENTIFIED BY "),
                Secret,
            ],
            &[
                Text("CHANGE REPLICATION SOURCE TO SOURCE_USER='r', SOURCE_PASSWORD="),
                Secret,
                Text(", SOURCE_AUTO_POSITION=1"),
            ],
            &[Text("STOP REPLICA")],
            &[Text("SET @@GLOBAL.read_only = 0")],
        ] {
            assert_eq!(check_parts(parts), Ok(()), "{parts:?}");
        }
    }

    #[test]
    fn a_secret_anywhere_else_is_refused() {
        for (parts, hint) in [
            (&[Text("SELECT "), Secret][..], "stands only"),
            (&[Secret], "stands only"),
            (
                &[Text("INSERT INTO t VALUES ("), Secret, Text(")")],
                "stands only",
            ),
            (
                &[Text("SELECT 1 AS a, IDENTIFIED BY "), Secret],
                "stands only",
            ),
            (&[Text("CREATE USER "), Secret], "stands only"),
            (&[Text("CREATE USER a COMMENT "), Secret], "stands only"),
            (
                &[Text("CREATE USER a IDENTIFIED BY 'x"), Secret, Text("'")],
                "does not end",
            ),
            (
                &[Text("CREATE USER a IDENTIFIED BY "), Secret, Secret],
                "stands only",
            ),
            (
                &[Text("CREATE USER a IDENTIFIED /* "), Text("*/ BY"), Secret],
                "comment",
            ),
            (
                &[
                    Text("CREATE USER a IDENTIFIED BY "),
                    Secret,
                    Text("; DROP TABLE t"),
                ],
                "semicolon",
            ),
            (
                &[Text("CREATE USER 'a IDENTIFIED BY '"), Secret],
                "stands only",
            ),
            (&[Text("STOP REPLICA; START REPLICA")], "semicolon"),
            (&[Text(" ")], "empty"),
            (&[], "empty"),
        ] {
            let error = check_parts(parts).expect_err("allowed");
            assert!(error.contains(hint), "{parts:?}: {error}");
        }
    }

    #[test]
    fn what_would_end_a_literal_is_escaped() {
        for (value, expected) in [
            (&b"plain"[..], &b"'plain'"[..]),
            (b"it's", b"'it''s'"),
            (b"a\\", b"'a\\\\'"),
            (b"\\' OR 1=1", b"'\\\\'' OR 1=1'"),
            (b"a\nb\"c\0", b"'a\nb\"c\\0'"),
            (b"\xff'", b"'\xff'''"),
        ] {
            assert_eq!(literal(value), expected, "{value:?}");
        }
    }
}
