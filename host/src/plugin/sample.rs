//! Whether two answers to the same request are the same, and where they differ.

use crate::plugin::instance::Answered;

/// Characters shown around the first difference.
const SHOWN: usize = 40;

/// Where the answers first differ; none for equal ones.
pub(super) fn difference(first: &Answered, second: &Answered) -> Option<String> {
    if first == second {
        return None;
    }
    let (first, second) = (format!("{first:?}"), format!("{second:?}"));
    let at = first
        .bytes()
        .zip(second.bytes())
        .take_while(|(one, other)| one == other)
        .count();
    Some(format!(
        "first \"…{}…\", then \"…{}…\"",
        around(&first, at),
        around(&second, at)
    ))
}

fn around(text: &str, at: usize) -> &str {
    let start = text.floor_char_boundary(at.saturating_sub(SHOWN));
    let end = text.floor_char_boundary((at + SHOWN).min(text.len()));
    &text[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::bindings::Failure;

    #[test]
    fn the_place_where_answers_differ_is_shown() {
        let answer = |tail: &str| Err(Failure::Transient("x".repeat(500) + tail + "ü"));
        assert_eq!(difference(&answer("same"), &answer("same")), None);
        let shown = difference(&answer("one"), &answer("two")).unwrap();
        assert!(
            shown.contains("xxone") && shown.contains("xxtwo"),
            "{shown}"
        );
        assert!(shown.len() < 300, "{shown}");
    }
}
