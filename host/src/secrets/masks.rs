//! What to blot out of texts: secret values, in the forms in which texts quote them.

use std::collections::HashSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, BuildError, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::{MASK, SecretValue};

/// Shorter values are not masked: they would also blot out half of every text. In bytes.
const SHORTEST: usize = 8;

/// Secret values to blot out of texts.
///
/// Values come one by one while texts are masked between them, and what finds them cannot be added to. So those
/// that are new get a finder of their own at the first use, together with what finders no larger than that held:
/// each value is built into few finders, however many values come.
#[derive(Default)]
pub(crate) struct Masks {
    /// Digests of all values, to know one again.
    known: HashSet<[u8; 32]>,
    /// What no finder finds yet.
    fresh: Forms,
    /// The largest first.
    finders: Vec<Finder>,
}

/// Texts to look for.
type Forms = Vec<Zeroizing<String>>;

struct Finder {
    forms: Forms,
    automaton: AhoCorasick,
}

impl Masks {
    /// Blots `value` out from now on.
    pub(crate) fn add(&mut self, value: &SecretValue) {
        let value = value.expose();
        if value.len() >= SHORTEST && self.known.insert(Sha256::digest(value).into()) {
            self.fresh.extend(forms(value));
        }
    }

    /// `text` with [`MASK`] wherever one of the values stood.
    pub(crate) fn blot(&mut self, text: &str) -> String {
        if self.settle().is_err() {
            // Without a finder nothing can be shown to be free of secrets.
            return "[masked: too many secret values]".to_owned();
        }
        let found = self.finders.iter().flat_map(|finder| finder.find(text));
        let mut found: Vec<_> = found.collect();
        found.sort_by_key(|range| range.start);
        let mut masked = String::with_capacity(text.len());
        let mut end = 0;
        for range in found {
            // What begins within another is blotted out with it.
            if range.start >= end {
                masked.push_str(&text[end..range.start]);
                masked.push_str(MASK);
            }
            end = end.max(range.end);
        }
        masked.push_str(&text[end..]);
        masked
    }

    /// Makes the finder that is missing, if one is.
    fn settle(&mut self) -> Result<(), BuildError> {
        if self.fresh.is_empty() {
            return Ok(());
        }
        let mut forms = std::mem::take(&mut self.fresh);
        while let Some(small) = self
            .finders
            .pop_if(|finder| finder.forms.len() <= forms.len())
        {
            forms.extend(small.forms);
        }
        // Of two values that begin alike the longer, or its end would stay.
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(forms.iter().map(|form| form.as_bytes()));
        match automaton {
            Ok(automaton) => {
                self.finders.push(Finder { forms, automaton });
                Ok(())
            }
            Err(error) => {
                self.fresh = forms;
                Err(error)
            }
        }
    }
}

impl Finder {
    /// Where in `text` something stands that it looks for.
    fn find(&self, text: &str) -> impl Iterator<Item = Range<usize>> {
        self.automaton.find_iter(text).map(|found| found.range())
    }
}

/// How texts quote a value: as it is; as a string in JSON, and that within another, as an HTTP server's JSON comes
/// to a plugin; and as the API server writes what a Secret holds. Each is text, as what is searched is: a value
/// that is none comes with replacement characters, and so it is found.
fn forms(value: &[u8]) -> Forms {
    let plain = Zeroizing::new(String::from_utf8_lossy(value).into_owned());
    let quoted = in_json(&plain);
    let twice = in_json(&quoted);
    let mut forms = vec![plain, quoted, twice, Zeroizing::new(STANDARD.encode(value))];
    forms.dedup();
    forms
}

/// What stands between the quotes when `text` is a string in JSON.
fn in_json(text: &str) -> Zeroizing<String> {
    let quoted = Zeroizing::new(serde_json::to_string(text).unwrap_or_default());
    let inner = quoted
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    Zeroizing::new(inner.unwrap_or(text).to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn masks(values: &[&str]) -> Masks {
        let mut masks = Masks::default();
        for value in values {
            masks.add(&SecretValue::new(value.as_bytes().to_vec()));
        }
        masks
    }

    #[test]
    fn values_are_blotted_out_and_the_rest_stays() {
        let mut masks = masks(&["canary-one", "canary-two", "short"]);
        let masked = masks.blot("ü canary-one, short, canary-twocanary-one!");
        assert_eq!(masked, "ü [masked], short, [masked][masked]!");
        assert_eq!(masks.blot(""), "");
    }

    #[test]
    fn nothing_stays_of_a_value_that_begins_with_another_whichever_came_first() {
        for values in [
            ["canary-one", "canary-one-and-more"],
            ["canary-one-and-more", "canary-one"],
        ] {
            let mut at_once = masks(&values);
            assert_eq!(at_once.blot("<canary-one-and-more>"), "<[masked]>");
            let mut one_by_one = masks(&values[..1]);
            one_by_one.blot("");
            one_by_one.add(&SecretValue::new(values[1].as_bytes().to_vec()));
            assert_eq!(one_by_one.blot("<canary-one-and-more>"), "<[masked]>");
        }
    }

    #[test]
    fn a_value_is_found_as_json_and_the_api_server_quote_it() {
        let value = "can\"ary\\one\n";
        let mut masks = masks(&[value]);
        let once = json!([value]).to_string();
        let twice = json!({ "body": once }).to_string();
        let encoded = STANDARD.encode(value);
        for (text, expected) in [
            (once.as_str(), r#"["[masked]"]"#),
            (&twice, r#"{"body":"[\"[masked]\"]"}"#),
            (&encoded, "[masked]"),
        ] {
            assert_eq!(masks.blot(text), expected, "{text}");
        }
    }

    #[test]
    fn a_value_that_is_no_text_is_found_as_it_is_told() {
        let value = b"\xffcanary\xfe";
        let mut masks = Masks::default();
        masks.add(&SecretValue::new(value.to_vec()));
        let told = String::from_utf8_lossy(value);
        assert_eq!(masks.blot(&format!("<{told}>")), "<[masked]>");
        // Half of a character is none: nothing is found there, and nothing breaks.
        masks.add(&SecretValue::new("€€€€".as_bytes()[1..].to_vec()));
        assert_eq!(masks.blot("€€€€€"), "€€€€€");
    }

    /// With one finder for all, a thousand values took half a million forms to build.
    #[test]
    fn values_that_come_one_by_one_are_built_into_few_finders_each() {
        let mut masks = Masks::default();
        let mut built = 0;
        for number in 0..1024 {
            masks.add(&SecretValue::new(
                format!("canary-{number:04}").into_bytes(),
            ));
            let text = format!("canary-{number:04} canary-0000");
            assert_eq!(masks.blot(&text), "[masked] [masked]");
            built += masks.finders.last().map_or(0, |finder| finder.forms.len());
        }
        // Two forms of each value, each built at most eleven times.
        assert!(built <= 2 * 1024 * 11, "{built}");
        masks.add(&SecretValue::new(b"canary-0000".to_vec()));
        assert!(masks.fresh.is_empty(), "a known value is new again");
    }
}
