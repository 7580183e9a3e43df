//! SQL text as words: enough to tell what a statement may do, and no grammar.
//!
//! The reading is MySQL's own under the SQL mode that the host sets: `'` and `"` quote strings, in which `\`
//! escapes; backticks quote names. What could be read in two ways is refused, comments above all: some of them
//! execute, others hint the optimiser.

/// What a statement consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// A keyword, a name or a number, in upper case.
    Bare(String),
    /// A name in backticks, in upper case, without them.
    Name(String),
    /// A string in quotes.
    Text,
    /// Anything else, a character at a time.
    Symbol(char),
}

impl Word {
    /// True for this keyword, which is given in upper case.
    pub(super) fn is(&self, keyword: &str) -> bool {
        matches!(self, Self::Bare(word) if word == keyword)
    }

    /// True for this name, quoted or not, which is given in upper case.
    pub(super) fn names(&self, name: &str) -> bool {
        matches!(self, Self::Bare(word) | Self::Name(word) if word == name)
    }
}

/// Outside of quotes nothing else stands in a statement but words and white space.
const SYMBOLS: &str = "()[],.*=<>!+-/%&|^~@:";

/// Splits one statement into words.
///
/// # Errors
/// In words, when it holds a comment, more than one statement, or a quote that does not end.
pub(super) fn words(statement: &str) -> Result<Vec<Word>, String> {
    let mut words = Vec::new();
    let mut rest = statement;
    while let Some(first) = rest.chars().next() {
        let (word, after) = match first {
            ' ' | '\t' | '\n' | '\r' => (None, &rest[1..]),
            '\'' | '"' => (Some(Word::Text), quoted(rest, first)?.1),
            '`' => {
                let (name, after) = quoted(rest, first)?;
                (Some(Word::Name(name.to_uppercase())), after)
            }
            _ if is_bare(first) => {
                let end = rest.find(|next| !is_bare(next)).unwrap_or(rest.len());
                (Some(Word::Bare(rest[..end].to_uppercase())), &rest[end..])
            }
            _ if begins_comment(rest) => return Err("it holds a comment".into()),
            ';' => return Err("it holds a semicolon: write one statement each".into()),
            _ if SYMBOLS.contains(first) => (Some(Word::Symbol(first)), &rest[first.len_utf8()..]),
            other => return Err(format!("it holds {other:?} outside of quotes")),
        };
        words.extend(word);
        rest = after;
    }
    Ok(words)
}

/// As MySQL reads a bare word: beyond ASCII every character belongs to a name.
fn is_bare(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '$') || !character.is_ascii()
}

fn begins_comment(text: &str) -> bool {
    ["--", "#", "/*", "*/"]
        .iter()
        .any(|mark| text.starts_with(mark))
}

/// What stands between the quote that `text` begins with and the one that ends it, and what comes after.
fn quoted(text: &str, quote: char) -> Result<(&str, &str), String> {
    let bytes = text.as_bytes();
    let mark = quote as u8;
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if quote != '`' => at += 2,
            byte if byte == mark && bytes.get(at + 1) == Some(&mark) => at += 2,
            byte if byte == mark => return Ok((&text[1..at], &text[at + 1..])),
            0 => return Err("it holds a zero byte".into()),
            _ => at += 1,
        }
    }
    Err(format!("its quote {quote} does not end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(word: &str) -> Word {
        Word::Bare(word.into())
    }

    #[test]
    fn quotes_end_where_mysql_ends_them() {
        for (statement, after) in [
            (r"'a' x", "X"),
            (r"'a''b' x", "X"),
            (r"'a\'b' x", "X"),
            (r"'a\\' x", "X"),
            (r#""a'b" x"#, "X"),
            (r#"'a"b' x"#, "X"),
            ("'ünï' x", "X"),
        ] {
            assert_eq!(
                words(statement).unwrap(),
                [Word::Text, bare(after)],
                "{statement}"
            );
        }
        let names = words(r"`a\` x").unwrap();
        assert_eq!(names, [Word::Name(r"A\".into()), bare("X")]);
    }

    #[test]
    fn comments_inside_quotes_are_text() {
        for statement in ["'--' x", "'/* */' x", "\"# ;\" x"] {
            assert_eq!(words(statement).unwrap(), [Word::Text, bare("X")]);
        }
    }

    #[test]
    fn what_cannot_be_read_in_one_way_only_is_refused() {
        for (statement, hint) in [
            ("a -- b", "comment"),
            ("a --b", "comment"),
            ("a # b", "comment"),
            ("a /* b */", "comment"),
            ("a /*!50000 b */", "comment"),
            ("a /*+ b */", "comment"),
            ("a */", "comment"),
            ("a; b", "semicolon"),
            ("a;", "semicolon"),
            ("'a", "does not end"),
            (r"'a\'", "does not end"),
            ("`a", "does not end"),
            ("'a\0b'", "zero byte"),
            ("a\0b", "outside of quotes"),
            (r"a \N", "outside of quotes"),
            ("{fn a}", "outside of quotes"),
            ("a\u{b}b", "outside of quotes"),
        ] {
            let error = words(statement).unwrap_err();
            assert!(error.contains(hint), "{statement}: {error}");
        }
    }

    #[test]
    fn a_space_that_is_not_ascii_belongs_to_a_name() {
        assert_eq!(words("a\u{a0}b").unwrap(), [bare("A\u{a0}B")]);
    }
}
