//! Whether a regular expression is one that Go compiles.
//!
//! Prometheus refuses a whole configuration for one expression, and the syntaxes of other libraries differ from Go's
//! in details, so this follows https://pkg.go.dev/regexp/syntax. Of Unicode scripts only the common ones are known.

use std::collections::BTreeSet;

/// The most that a repetition may count, also of nested ones.
const MOST: u32 = 1000;
/// The deepest nesting.
const DEEPEST: u32 = 900;

const CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

const UNICODE: [&str; 66] = [
    "Any",
    "C",
    "Cc",
    "Cf",
    "Co",
    "Cs",
    "L",
    "Ll",
    "Lm",
    "Lo",
    "Lt",
    "Lu",
    "M",
    "Mc",
    "Me",
    "Mn",
    "N",
    "Nd",
    "Nl",
    "No",
    "P",
    "Pc",
    "Pd",
    "Pe",
    "Pf",
    "Pi",
    "Po",
    "Ps",
    "S",
    "Sc",
    "Sk",
    "Sm",
    "So",
    "Z",
    "Zl",
    "Zp",
    "Zs",
    "Arabic",
    "Armenian",
    "Bengali",
    "Bopomofo",
    "Cherokee",
    "Common",
    "Coptic",
    "Cyrillic",
    "Devanagari",
    "Ethiopic",
    "Georgian",
    "Greek",
    "Gujarati",
    "Gurmukhi",
    "Han",
    "Hangul",
    "Hebrew",
    "Hiragana",
    "Inherited",
    "Kannada",
    "Katakana",
    "Khmer",
    "Lao",
    "Latin",
    "Malayalam",
    "Mongolian",
    "Tamil",
    "Telugu",
    "Thai",
];

/// Checks an expression as Prometheus anchors it.
///
/// # Errors
/// In words, what Go does not take.
pub(crate) fn check(expression: &str) -> Result<(), String> {
    let anchored = format!("^(?s:{expression})$");
    let mut parser = Parser {
        rest: &anchored,
        names: BTreeSet::new(),
        depth: 0,
    };
    let checked = parser.alternatives().and_then(|_| match parser.rest {
        "" => Ok(()),
        _ => Err("a closing parenthesis without an opening one".to_owned()),
    });
    checked.map_err(|why| format!("the regular expression \"{expression}\" has {why}"))
}

struct Parser<'a> {
    rest: &'a str,
    names: BTreeSet<&'a str>,
    depth: u32,
}

/// The product of nested counts.
type Weight = u32;

impl<'a> Parser<'a> {
    fn eat(&mut self, prefix: &str) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn next(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let next = characters.next()?;
        self.rest = characters.as_str();
        Some(next)
    }

    fn alternatives(&mut self) -> Result<Weight, String> {
        let mut weight = self.sequence()?;
        while self.eat("|") {
            weight = weight.max(self.sequence()?);
        }
        Ok(weight)
    }

    fn sequence(&mut self) -> Result<Weight, String> {
        let mut heaviest = 1;
        // What a repetition would repeat: nothing yet.
        let mut last: Option<Weight> = None;
        let mut repeated = false;
        while let Some(next) = self
            .rest
            .chars()
            .next()
            .filter(|next| !"|)".contains(*next))
        {
            if let Some(counts) = self.repetition(next)? {
                let weight = last.ok_or("nothing to repeat")?;
                if std::mem::replace(&mut repeated, true) {
                    return Err("a repetition of a repetition".to_owned());
                }
                let weight = weight.saturating_mul(counts);
                if weight > MOST {
                    return Err(format!("a repetition of more than {MOST}"));
                }
                last = Some(weight);
                heaviest = heaviest.max(weight);
                continue;
            }
            repeated = false;
            if let Some(weight) = self.atom()? {
                heaviest = heaviest.max(weight);
                last = Some(weight);
            }
        }
        Ok(heaviest)
    }

    /// A repetition that stands next, and how often it counts for the limit.
    fn repetition(&mut self, next: char) -> Result<Option<Weight>, String> {
        let counts = match next {
            '*' | '+' | '?' => {
                self.next();
                1
            }
            '{' => match self.counts()? {
                Some(counts) => counts,
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        self.eat("?");
        Ok(Some(counts))
    }

    /// `{2}`, `{2,}` or `{2,3}`; anything else is literal.
    fn counts(&mut self) -> Result<Option<Weight>, String> {
        let Some((inside, after)) = self.rest[1..].split_once('}') else {
            return Ok(None);
        };
        let (least, most) = match inside.split_once(',') {
            Some((least, most)) => (least, most),
            None => (inside, inside),
        };
        let is_number = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_digit())
                && (text.len() == 1 || !text.starts_with('0'))
        };
        if !is_number(least) || !(most.is_empty() || is_number(most)) {
            return Ok(None);
        }
        let number = |text: &str| text.parse::<u32>().unwrap_or(u32::MAX);
        let low = number(least);
        let high = if most.is_empty() { low } else { number(most) };
        if low > MOST || high > MOST || low > high {
            return Err(format!(
                "the repetition {{{inside}}}, which is out of order or above {MOST}"
            ));
        }
        self.rest = after;
        Ok(Some(high.max(1)))
    }

    /// One thing that may be repeated; None for flags, which are nothing themselves.
    fn atom(&mut self) -> Result<Option<Weight>, String> {
        match self.next() {
            Some('(') => self.group(),
            Some('[') => self.class().map(|()| Some(1)),
            Some('\\') => self.escape().map(|()| Some(1)),
            _ => Ok(Some(1)),
        }
    }

    fn group(&mut self) -> Result<Option<Weight>, String> {
        if self.eat("?") && !self.head()? {
            return Ok(None);
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("too many parentheses within each other".to_owned());
        }
        let weight = self.alternatives()?;
        self.depth -= 1;
        match self.eat(")") {
            true => Ok(Some(weight)),
            false => Err("an opening parenthesis without a closing one".to_owned()),
        }
    }

    /// What follows `(?`. True when an expression follows.
    fn head(&mut self) -> Result<bool, String> {
        if self.eat("P<")
            || (self.rest.starts_with('<')
                && !self.rest.starts_with("<=")
                && !self.rest.starts_with("<!")
                && self.eat("<"))
        {
            let (name, rest) = self
                .rest
                .split_once('>')
                .ok_or("a group's name without an end")?;
            let is_word = |character: char| character == '_' || character.is_ascii_alphanumeric();
            if name.is_empty() || !name.chars().all(is_word) {
                return Err(format!("a group that is called \"{name}\""));
            }
            if !self.names.insert(name) {
                return Err(format!("two groups that are called {name}"));
            }
            self.rest = rest;
            return Ok(true);
        }
        self.flags()
    }

    fn flags(&mut self) -> Result<bool, String> {
        let (mut minus, mut any) = (false, false);
        loop {
            match self.next() {
                Some('i' | 'm' | 's' | 'U') => any = true,
                Some('-') if !minus => (minus, any) = (true, false),
                Some(end @ (':' | ')')) if any || !minus => {
                    // `(?)` is nothing at all, which Go refuses.
                    return match end {
                        ':' => Ok(true),
                        _ if any => Ok(false),
                        _ => Err("(?), which is nothing".to_owned()),
                    };
                }
                _ => return Err("Perl syntax that is not supported after (?".to_owned()),
            }
        }
    }

    fn class(&mut self) -> Result<(), String> {
        self.eat("^");
        let mut first = true;
        loop {
            if !first && self.eat("]") {
                return Ok(());
            }
            first = false;
            if self.rest.is_empty() {
                return Err("a [ without a ]".to_owned());
            }
            if self.rest.starts_with("[:") && self.posix()? {
                continue;
            }
            if self.rest.starts_with('\\') && self.perl_class()? {
                continue;
            }
            self.range()?;
        }
    }

    /// `[:alpha:]`; false where it is not closed and so literal.
    fn posix(&mut self) -> Result<bool, String> {
        let Some((name, rest)) = self.rest[2..].split_once(":]") else {
            return Ok(false);
        };
        if !CLASSES.contains(&name.trim_start_matches('^')) {
            return Err(format!("the unknown class [:{name}:]"));
        }
        self.rest = rest;
        Ok(true)
    }

    /// `\d` or `\pL` after a backslash that was not taken yet.
    fn perl_class(&mut self) -> Result<bool, String> {
        let after = &self.rest[1..];
        match after.chars().next() {
            Some('d' | 'D' | 's' | 'S' | 'w' | 'W') => {
                self.rest = &after[1..];
                Ok(true)
            }
            Some('p' | 'P') => {
                self.rest = &after[1..];
                self.unicode().map(|()| true)
            }
            _ => Ok(false),
        }
    }

    fn unicode(&mut self) -> Result<(), String> {
        let name = match self.eat("{") {
            true => {
                let (name, rest) = self.rest.split_once('}').ok_or("a \\p{ without a }")?;
                self.rest = rest;
                name.trim_start_matches('^').to_owned()
            }
            false => self.next().ok_or("a \\p at its end")?.to_string(),
        };
        match UNICODE.contains(&name.as_str()) {
            true => Ok(()),
            false => Err(format!("the unknown class \\p{{{name}}}")),
        }
    }

    fn range(&mut self) -> Result<(), String> {
        let low = self.class_character()?;
        let has_high =
            self.rest.starts_with('-') && self.rest.len() > 1 && !self.rest.starts_with("-]");
        if has_high {
            self.next();
            let high = self.class_character()?;
            if high < low {
                return Err("a range whose end is before its start".to_owned());
            }
        }
        Ok(())
    }

    fn class_character(&mut self) -> Result<char, String> {
        match self.next() {
            Some('\\') => self.escaped(),
            Some(character) => Ok(character),
            None => Err("a [ without a ]".to_owned()),
        }
    }

    /// What follows a backslash outside a class.
    fn escape(&mut self) -> Result<(), String> {
        match self.rest.chars().next() {
            Some('A' | 'b' | 'B' | 'z' | 'd' | 'D' | 's' | 'S' | 'w' | 'W') => {
                self.next();
                Ok(())
            }
            Some('p' | 'P') => {
                self.next();
                self.unicode()
            }
            Some('Q') => {
                self.rest = self.rest.split_once("\\E").map_or("", |(_, rest)| rest);
                Ok(())
            }
            _ => self.escaped().map(drop),
        }
    }

    /// One character after a backslash.
    fn escaped(&mut self) -> Result<char, String> {
        let wrong = |character: Option<char>| match character {
            Some(character) => format!("the escape \\{character}, which is unknown"),
            None => "a backslash at its end".to_owned(),
        };
        match self.next() {
            Some('a') => Ok('\u{7}'),
            Some('f') => Ok('\u{c}'),
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some('v') => Ok('\u{b}'),
            Some('x') => self.hexadecimal(),
            Some(digit @ '0'..='7') => self.octal(digit).ok_or_else(|| wrong(Some(digit))),
            Some(other) if other.is_ascii() && !other.is_ascii_alphanumeric() => Ok(other),
            other => Err(wrong(other)),
        }
    }

    /// One to three octal digits; a single one other than 0 would be a back-reference.
    fn octal(&mut self, first: char) -> Option<char> {
        let mut value = first.to_digit(8)?;
        let more = |parser: &Self| parser.rest.chars().next().and_then(|next| next.to_digit(8));
        if first != '0' {
            more(self)?;
        }
        for _ in 0..2 {
            let Some(digit) = more(self) else { break };
            value = value * 8 + digit;
            self.next();
        }
        char::from_u32(value)
    }

    fn hexadecimal(&mut self) -> Result<char, String> {
        let wrong = || "a \\x without two digits or digits in braces".to_owned();
        let digits = match self.eat("{") {
            true => {
                let (digits, rest) = self.rest.split_once('}').ok_or_else(wrong)?;
                self.rest = rest;
                digits
            }
            false => {
                let digits = self.rest.get(..2).ok_or_else(wrong)?;
                self.rest = &self.rest[2..];
                digits
            }
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let value = u32::from_str_radix(digits, 16).map_err(|_| wrong())?;
        char::from_u32(value).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    /// What Go takes and refuses, tried with regexp.Compile; the differential test tries more.
    #[test]
    fn expressions_are_taken_as_go_takes_them() {
        for expression in [
            "",
            "a|b",
            "(.+);true",
            "[^[]+",
            "[]a]",
            "[a-]",
            "a{",
            "a{,2}",
            "x{1000}",
            "(?i)a",
            "(?P<n>a)",
            "(?<n>a)",
            r"\Qa*\E",
            r"\/",
            r"\_",
            r"\pL",
            r"\p{Greek}",
            r"[[:alpha:]\d-z]",
            r"\x{10FFFF}",
            r"\01",
            r"\012",
            "^*",
            "a**b".get(..2).unwrap_or_default(),
            "(a*)*",
            "a*?",
            "a)(b",
            r"[\]]",
            "(?i-s:a)",
            r"\<",
        ] {
            assert_eq!(check(expression), Ok(()), "{expression}");
        }
        for expression in [
            "(",
            "a(b",
            "[",
            "[z-a]",
            "*",
            "a|*",
            "a**",
            "a{2}{3}",
            "x{1001}",
            "x{3,2}",
            "(x{100}){11}",
            r"\1",
            r"\8",
            r"\Z",
            r"\C",
            "(?=a)",
            "(?!a)",
            "(?<=a)",
            "(?P<n>a)(?P<n>b)",
            r"\p{Nope}",
            "[[:nope:]]",
            "(?z)",
            r"\x1",
            "a\\",
            "(?P<>a)",
        ] {
            assert!(check(expression).is_err(), "{expression}");
        }
    }
}
