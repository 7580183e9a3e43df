//! Templates of labels and annotations, as far as a mistake can be seen without knowing the language.

/// Checks a template.
///
/// # Errors
/// In words, what is wrong.
pub(super) fn check(text: &str) -> Result<(), String> {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("{{") {
        let (inside, after) = after.split_once("}}").ok_or("a {{ is not closed")?;
        if inside.trim_matches('-').trim().is_empty() {
            return Err("there is nothing between {{ and }}".to_owned());
        }
        rest = after;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_closed() {
        assert_eq!(check("{{ $labels.pod }} is down"), Ok(()));
        assert!(check("{{ $labels.pod }").is_err());
        assert!(check("{{ }}").is_err());
    }
}
