//! From characters to tokens.

use super::place;
use crate::units;

/// A token. Words keep their spelling: whether one is a keyword depends on where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'t> {
    Word(&'t str),
    Number(f64),
    /// In seconds.
    Duration(f64),
    Text(String),
    Symbol(&'static str),
    End,
}

/// A token and where it begins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placed<'t> {
    pub(super) token: Token<'t>,
    pub(super) at: usize,
}

impl Placed<'_> {
    pub(super) fn is(&self, symbol: &str) -> bool {
        matches!(self.token, Token::Symbol(own) if own == symbol)
    }

    /// The word in lower case, as keywords are compared.
    pub(super) fn keyword(&self) -> String {
        match self.token {
            Token::Word(word) => word.to_ascii_lowercase(),
            _ => String::new(),
        }
    }

    /// As it stands in a message.
    pub(super) fn shown(&self) -> String {
        match &self.token {
            Token::Word(word) => format!("\"{word}\""),
            Token::Number(_) => "number".to_owned(),
            Token::Duration(_) => "duration".to_owned(),
            Token::Text(_) => "string".to_owned(),
            Token::Symbol(symbol) => format!("\"{symbol}\""),
            Token::End => "end".to_owned(),
        }
    }
}

/// What may stand where.
#[derive(Clone, Copy, PartialEq)]
enum Within {
    Nothing,
    Braces,
    Brackets,
}

impl Within {
    /// Longer ones first.
    fn symbols(self) -> &'static [&'static str] {
        match self {
            Self::Nothing => &[
                "==", "!=", "<=", ">=", "=", "<", ">", "+", "-", "*", "/", "%", "^", "(", ")", "{",
                "[", ",", "@",
            ],
            Self::Braces => &["=~", "!~", "!=", "=", ",", "}"],
            Self::Brackets => &["+", "-", "*", "/", "%", "^", "(", ")", ":", "]"],
        }
    }

    fn after(self, symbol: &str) -> Self {
        match symbol {
            "{" => Self::Braces,
            "[" => Self::Brackets,
            "}" | "]" => Self::Nothing,
            _ => self,
        }
    }
}

/// All tokens, the last of them the end.
///
/// # Errors
/// In words, what is no token and where.
pub(super) fn tokens(text: &str) -> Result<Vec<Placed<'_>>, String> {
    let mut tokens = Vec::new();
    let (mut rest, mut within) = (text, Within::Nothing);
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        let at = text.len() - rest.len();
        if let Some(comment) = rest.strip_prefix('#') {
            rest = &comment[comment.find(['\n', '\r']).unwrap_or(comment.len())..];
            continue;
        }
        let (token, length) =
            token(rest, within).map_err(|why| format!("{why} at {}", place(text, at)))?;
        rest = &rest[length..];
        if let Token::Symbol(symbol) = token {
            within = within.after(symbol);
        }
        let ends = token == Token::End;
        tokens.push(Placed { token, at });
        if ends {
            return Ok(tokens);
        }
    }
}

/// The first token and its length.
fn token(rest: &str, within: Within) -> Result<(Token<'_>, usize), String> {
    let Some(first) = rest.chars().next() else {
        return match within {
            Within::Nothing => Ok((Token::End, 0)),
            Within::Braces => Err("a { is not closed".to_owned()),
            Within::Brackets => Err("a [ is not closed".to_owned()),
        };
    };
    match first {
        '"' | '\'' | '`' if within != Within::Brackets => quoted(rest, first),
        _ if within != Within::Brackets && (is_letter(first) || first == ':') => word(rest, within),
        _ if within != Within::Braces && begins_number(rest) => number(rest),
        _ => {
            let mut symbols = within.symbols().iter();
            let found = symbols.find(|symbol| rest.starts_with(**symbol));
            let symbol = *found.ok_or_else(|| format!("unexpected character {first:?}"))?;
            Ok((Token::Symbol(symbol), symbol.len()))
        }
    }
}

fn is_letter(character: char) -> bool {
    character == '_' || character.is_ascii_alphabetic()
}

fn is_alphanumeric(character: char) -> bool {
    is_letter(character) || character.is_ascii_digit()
}

fn word(rest: &str, within: Within) -> Result<(Token<'_>, usize), String> {
    let colons = within == Within::Nothing;
    let ends = |character: char| !(is_alphanumeric(character) || (colons && character == ':'));
    match rest.find(ends).unwrap_or(rest.len()) {
        0 => Err("unexpected character ':'".to_owned()),
        length => Ok((Token::Word(&rest[..length]), length)),
    }
}

fn begins_number(rest: &str) -> bool {
    rest.trim_start_matches('.')
        .starts_with(|next: char| next.is_ascii_digit())
        && !rest.starts_with("..")
}

fn number(rest: &str) -> Result<(Token<'_>, usize), String> {
    let ends = |length: usize| !rest[length..].starts_with(is_alphanumeric);
    if let Some((value, length)) = hexadecimal(rest).or_else(|| decimal(rest))
        && ends(length)
    {
        return Ok((Token::Number(value), length));
    }
    let length = rest.find(|next| !is_alphanumeric(next));
    let length = length.unwrap_or(rest.len());
    let seconds = units::duration(&rest[..length])
        .map_err(|_| format!("\"{}\" is neither a number nor a duration", &rest[..length]))?;
    let seconds = seconds as f64 / 1000.0;
    Ok((Token::Duration(seconds), length))
}

fn hexadecimal(rest: &str) -> Option<(f64, usize)> {
    let digits = rest
        .strip_prefix("0x")
        .or_else(|| rest.strip_prefix("0X"))?;
    let is_part = |character: char| character == '_' || character.is_ascii_hexdigit();
    let length = digits.find(|next| !is_part(next)).unwrap_or(digits.len());
    let value = u64::from_str_radix(&digits[..length].replace('_', ""), 16).ok()?;
    Some((value as f64, length + 2))
}

fn decimal(rest: &str) -> Option<(f64, usize)> {
    let run = |from: usize| {
        let digits = rest[from..].find(|next: char| !(next == '_' || next.is_ascii_digit()));
        digits.map_or(rest.len(), |digits| from + digits)
    };
    let mut end = run(0);
    if rest[end..].starts_with('.') {
        end = run(end + 1);
    }
    if let Some(exponent) = rest[end..].strip_prefix(['e', 'E']) {
        let signed = exponent.starts_with(['+', '-']);
        let from = end + 1 + usize::from(signed);
        if run(from) > from {
            end = run(from);
        }
    }
    let value: f64 = rest[..end].replace('_', "").parse().ok()?;
    value.is_finite().then_some((value, end))
}

/// A string with its escapes resolved. Between backticks there are none.
fn quoted(rest: &str, quote: char) -> Result<(Token<'_>, usize), String> {
    let unclosed = || format!("a {quote} is not closed");
    let mut bytes = Vec::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            _ if character == quote => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                return Ok((Token::Text(text), at + 1));
            }
            '\\' if quote != '`' => {
                let length = escape(&rest[at + 1..], quote, &mut bytes)?;
                characters.by_ref().take(length).for_each(drop);
            }
            '\n' if quote != '`' => return Err(unclosed()),
            _ => bytes.extend(character.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    Err(unclosed())
}

/// Adds what stands behind a backslash, and returns of how many characters it is.
fn escape(rest: &str, quote: char, bytes: &mut Vec<u8>) -> Result<usize, String> {
    let first = rest.chars().next().unwrap_or_default();
    let (skipped, digits, radix) = match first {
        'a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '\\' => {
            bytes.push(simple(first));
            return Ok(1);
        }
        _ if first == quote => {
            bytes.extend(first.encode_utf8(&mut [0; 4]).bytes());
            return Ok(1);
        }
        '0'..='7' => (0, 3, 8),
        'x' => (1, 2, 16),
        'u' => (1, 4, 16),
        'U' => (1, 8, 16),
        _ => return Err(format!("unknown escape \\{first} in a string")),
    };
    let text = rest.get(skipped..skipped + digits).unwrap_or_default();
    let code = u32::from_str_radix(text, radix).ok();
    let wrong = || format!("\\{first} is not followed by a character's number");
    let code = code.filter(|_| !text.starts_with('+')).ok_or_else(wrong)?;
    match digits {
        2 | 3 => bytes.push(u8::try_from(code).map_err(|_| wrong())?),
        _ => {
            let character = char::from_u32(code).ok_or_else(wrong)?;
            bytes.extend(character.encode_utf8(&mut [0; 4]).bytes());
        }
    }
    Ok(skipped + digits)
}

fn simple(letter: char) -> u8 {
    match letter {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        _ => b'\\',
    }
}
