//! YAML in order, with places for secret values.
//!
//! Strings are always quoted, so that no parser takes one for a number or a truth value; a secret value is a place
//! that the host fills and quotes.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Number;

/// Spaces by which each level is set in.
const STEP: usize = 2;

/// One key of a Secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretRef {
    /// The Secret's namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The key in its data.
    pub key: String,
}

/// A file that is mounted into the Prometheus container.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asset {
    /// The value of a Secret key.
    Secret(SecretRef),
    /// Text of a ConfigMap, which stands under this name.
    Text {
        /// The file's name.
        file: String,
        /// What it holds.
        text: String,
    },
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Yaml {
    /// true or false.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    Text(Cow<'static, str>),
    /// A string that only the host knows.
    Secret(SecretRef),
    /// The path of a mounted file.
    File {
        /// The path.
        path: String,
        /// What is mounted there.
        asset: Asset,
    },
    /// A list.
    List(Vec<Yaml>),
    /// A list, followed by the items of the lists that stand in Secrets.
    Joined(Vec<Yaml>, Vec<SecretRef>),
    /// A mapping.
    Map(Map),
}

/// A mapping in the order of writing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map(Vec<(Cow<'static, str>, Yaml)>);

impl Map {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an entry.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<Yaml>) -> Self {
        self.put(key, value);
        self
    }

    /// Adds an entry where there is a value.
    #[must_use]
    pub fn maybe<V: Into<Yaml>>(self, key: &'static str, value: Option<V>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Adds a string where it is not empty.
    #[must_use]
    pub fn filled(self, key: &'static str, text: &str) -> Self {
        self.maybe(key, (!text.is_empty()).then(|| text.to_owned()))
    }

    /// Adds an entry.
    pub fn put(&mut self, key: &'static str, value: impl Into<Yaml>) {
        self.0.push((Cow::Borrowed(key), value.into()));
    }

    /// Adds all entries of another.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(String, Yaml)> for Map {
    fn from_iter<I: IntoIterator<Item = (String, Yaml)>>(entries: I) -> Self {
        let entries = entries.into_iter();
        Self(entries.map(|(key, value)| (key.into(), value)).collect())
    }
}

impl From<bool> for Yaml {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<Number> for Yaml {
    fn from(value: Number) -> Self {
        Self::Number(value)
    }
}

impl From<u64> for Yaml {
    fn from(value: u64) -> Self {
        Self::Number(value.into())
    }
}

impl From<i64> for Yaml {
    fn from(value: i64) -> Self {
        Self::Number(value.into())
    }
}

impl From<i32> for Yaml {
    fn from(value: i32) -> Self {
        Self::Number(value.into())
    }
}

/// What a user wrote is owned: [`String`].
impl From<&'static str> for Yaml {
    fn from(value: &'static str) -> Self {
        Self::Text(Cow::Borrowed(value))
    }
}

impl From<String> for Yaml {
    fn from(value: String) -> Self {
        Self::Text(value.into())
    }
}

impl From<&String> for Yaml {
    fn from(value: &String) -> Self {
        Self::Text(value.clone().into())
    }
}

impl From<Map> for Yaml {
    fn from(value: Map) -> Self {
        Self::Map(value)
    }
}

impl<T: Into<Yaml>> From<Vec<T>> for Yaml {
    fn from(values: Vec<T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

impl From<&[String]> for Yaml {
    fn from(values: &[String]) -> Self {
        Self::List(values.iter().map(Into::into).collect())
    }
}

impl<const N: usize> From<[&'static str; N]> for Yaml {
    fn from(values: [&'static str; N]) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

/// A part of a written document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// As it stands.
    Text(String),
    /// A secret value, to be written as one quoted string.
    Scalar(SecretRef),
    /// The items of a list that stands in a Secret, each line set in by so many spaces.
    Items {
        /// Where the list stands.
        secret: SecretRef,
        /// Spaces before each line.
        indent: usize,
    },
}

/// A written document.
#[derive(Debug, Default, PartialEq)]
pub struct Written {
    /// Its text, and the places in it.
    pub pieces: Vec<Piece>,
    /// The files that it names, each once.
    pub assets: Vec<(String, Asset)>,
}

/// Writes a document.
#[must_use]
pub fn write(document: &Map) -> Written {
    let mut writer = Writer::default();
    writer.entries(document);
    writer.finish()
}

/// Writes a document entry by entry, so that a long one never stands in memory as values.
#[derive(Default)]
pub struct Writer {
    done: Vec<Piece>,
    text: String,
    assets: Vec<(String, Asset)>,
}

impl Writer {
    /// Entries of the document itself.
    pub fn entries(&mut self, entries: &Map) {
        self.map(entries, 0);
    }

    /// An entry of the document that is a list, each item of which is made when it is written; the items of the lists
    /// in `more` follow.
    pub fn list(&mut self, key: &str, items: impl IntoIterator<Item = Map>, more: &[SecretRef]) {
        self.key(key);
        let mut items = items.into_iter().map(Yaml::Map).peekable();
        if items.peek().is_none() && more.is_empty() {
            self.text.push_str(" []\n");
            return;
        }
        self.text.push('\n');
        for item in items {
            self.item(&item, 0);
        }
        self.joined(more, 0);
    }

    /// What was written.
    #[must_use]
    pub fn finish(mut self) -> Written {
        self.flush();
        self.assets.sort();
        self.assets.dedup();
        Written {
            pieces: self.done,
            assets: self.assets,
        }
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.done.push(Piece::Text(std::mem::take(&mut self.text)));
        }
    }

    fn piece(&mut self, piece: Piece) {
        self.flush();
        self.done.push(piece);
    }

    fn indent(&mut self, by: usize) {
        const SPACES: &str = "                                ";
        let mut left = by;
        while left > 0 {
            let now = left.min(SPACES.len());
            self.text.push_str(&SPACES[..now]);
            left -= now;
        }
    }

    /// The entries of a mapping, the first of which stands where the writer is.
    fn map(&mut self, map: &Map, by: usize) {
        for (at, (key, value)) in map.0.iter().enumerate() {
            if at > 0 {
                self.indent(by);
            }
            self.key(key);
            self.below(value, by);
        }
    }

    fn key(&mut self, key: &str) {
        match is_plain(key) {
            true => self.text.push_str(key),
            false => quote(&mut self.text, key),
        }
        self.text.push(':');
    }

    /// The value of an entry of a mapping that is set in by `by`.
    fn below(&mut self, value: &Yaml, by: usize) {
        match value {
            Yaml::Map(map) if !map.is_empty() => {
                self.text.push('\n');
                self.indent(by + STEP);
                self.map(map, by + STEP);
            }
            Yaml::List(items) if !items.is_empty() => {
                self.text.push('\n');
                self.items(items, by);
            }
            Yaml::Joined(items, more) if !items.is_empty() || !more.is_empty() => {
                self.text.push('\n');
                self.items(items, by);
                self.joined(more, by);
            }
            scalar => {
                self.text.push(' ');
                self.scalar(scalar);
                self.text.push('\n');
            }
        }
    }

    fn items(&mut self, items: &[Yaml], by: usize) {
        for item in items {
            self.item(item, by);
        }
    }

    fn item(&mut self, item: &Yaml, by: usize) {
        self.indent(by);
        self.text.push('-');
        match item {
            Yaml::Map(map) if !map.is_empty() => {
                self.text.push(' ');
                self.map(map, by + STEP);
            }
            other => self.below(other, by + STEP),
        }
    }

    fn joined(&mut self, more: &[SecretRef], indent: usize) {
        for secret in more {
            self.piece(Piece::Items {
                secret: secret.clone(),
                indent,
            });
        }
    }

    fn scalar(&mut self, value: &Yaml) {
        match value {
            Yaml::Bool(value) => self.text.push_str(if *value { "true" } else { "false" }),
            Yaml::Number(number) => {
                let _ = write!(self.text, "{number}");
            }
            Yaml::Text(text) => quote(&mut self.text, text),
            Yaml::File { path, asset } => {
                quote(&mut self.text, path);
                self.assets.push((path.clone(), asset.clone()));
            }
            Yaml::Secret(secret) => self.piece(Piece::Scalar(secret.clone())),
            Yaml::List(_) | Yaml::Joined(..) => self.text.push_str("[]"),
            Yaml::Map(_) => self.text.push_str("{}"),
        }
    }
}

/// Whether a key may stand without quotes: a word that no version of YAML takes for anything else.
fn is_plain(key: &str) -> bool {
    const WORDS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    const LONGEST: usize = "false".len();
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    key.as_bytes().first().is_some_and(u8::is_ascii_lowercase)
        && key.bytes().all(plain)
        && (key.len() > LONGEST || !WORDS.contains(&key))
}

/// Writes a string: between single quotes, which JSON does not escape, or between double ones what needs escapes.
fn quote(out: &mut String, text: &str) {
    let simple = |byte: u8| matches!(byte, b' '..=b'~' if byte != b'\'');
    match text.bytes().all(simple) {
        true => {
            out.push('\'');
            out.push_str(text);
            out.push('\'');
        }
        false => quote_twice(out, text),
    }
}

/// Writes a double-quoted string.
fn quote_twice(out: &mut String, text: &str) {
    out.push('"');
    let mut written = 0;
    for (at, character) in text.char_indices() {
        if !must_escape(character) {
            continue;
        }
        out.push_str(&text[written..at]);
        written = at + character.len_utf8();
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            _ => {
                let _ = match u32::from(character) {
                    code @ ..=0xff => write!(out, "\\x{code:02x}"),
                    code => write!(out, "\\u{code:04x}"),
                };
            }
        }
    }
    out.push_str(&text[written..]);
    out.push('"');
}

/// Whether a character may not stand in a double-quoted string as it is.
fn must_escape(character: char) -> bool {
    match character {
        '"' | '\\' | '\u{0}'..='\u{1f}' => true,
        ' '..='~' => false,
        '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(document: &Map) -> String {
        let pieces = write(document).pieces.into_iter().map(|piece| match piece {
            Piece::Text(text) => text,
            Piece::Scalar(secret) => format!("<{}/{}>", secret.name, secret.key),
            Piece::Items { secret, indent } => format!("<{}+{indent}>\n", secret.name),
        });
        pieces.collect()
    }

    fn secret() -> SecretRef {
        SecretRef {
            namespace: "a".into(),
            name: "s".into(),
            key: "k".into(),
        }
    }

    #[test]
    fn a_document_is_written_in_order() {
        let document = Map::new()
            .with("zeta", "yes")
            .with(
                "alpha",
                Map::new().with("list", vec![Map::new().with("b", 1u64).with("c", ["x"])]),
            )
            .with("none", Map::new())
            .with("on", Vec::<String>::new());
        assert_eq!(
            text(&document),
            "zeta: 'yes'\nalpha:\n  list:\n  - b: 1\n    c:\n    - 'x'\nnone: {}\n'on': []\n"
        );
    }

    #[test]
    fn secrets_are_places() {
        let jobs = Yaml::Joined(vec!["x".into()], vec![secret()]);
        let document = Map::new()
            .with("password", Yaml::Secret(secret()))
            .with("jobs", jobs);
        assert_eq!(text(&document), "password: <s/k>\njobs:\n- 'x'\n<s+0>\n");
    }

    #[test]
    fn every_string_is_read_back_as_it_was() {
        for value in [
            "",
            "no",
            "0x1",
            "a\nb",
            "tab\t\u{7}",
            "\u{85}\u{2028}",
            "ä\"\\",
            "it's",
            "'",
            "\\\"",
            "- x",
            "1e3",
            "é: #",
        ] {
            let yaml = text(&Map::new().with("value", value));
            let read: serde_json::Value = serde_saphyr::from_str(&yaml).unwrap();
            assert_eq!(read["value"], *value, "{yaml}");
        }
    }

    #[test]
    fn the_files_that_are_named_are_known_once() {
        let file = Yaml::File {
            path: "/x".into(),
            asset: Asset::Secret(secret()),
        };
        let document = Map::new().with("a", vec![file.clone(), file]);
        assert_eq!(write(&document).assets.len(), 1);
    }
}
