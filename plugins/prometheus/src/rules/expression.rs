//! Expressions and templates, as far as a mistake can be seen without knowing the language.
//!
//! Brackets, quotes and ends are checked: what people mistype. An expression that passes and that Prometheus refuses
//! all the same keeps the last good configuration running, and the condition Reconciled says what Prometheus said.

/// Checks a PromQL expression.
///
/// # Errors
/// In words, what is wrong.
pub(super) fn check(text: &str) -> Result<(), String> {
    let bare = without_quotes(text)?;
    if bare.trim().is_empty() {
        return Err("the expression is empty".to_owned());
    }
    brackets(&bare)?;
    let end = bare.trim_end().chars().last().unwrap_or_default();
    match "+-*/%^=<>,!~".contains(end) {
        true => Err(format!("the expression ends with {end}")),
        false => Ok(()),
    }
}

/// The expression with what stands between quotes and in comments taken out.
fn without_quotes(text: &str) -> Result<String, String> {
    let mut bare = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' | '\'' | '`' => {
                skip(&mut characters, character)?;
                bare.push('s');
            }
            '#' => {
                // A comment ends with its line.
                let _ = characters.by_ref().find(|next| *next == '\n');
                bare.push(' ');
            }
            other => bare.push(other),
        }
    }
    Ok(bare)
}

fn skip(characters: &mut std::str::Chars<'_>, quote: char) -> Result<(), String> {
    while let Some(character) = characters.next() {
        match character {
            '\\' if quote != '`' => {
                characters.next();
            }
            end if end == quote => return Ok(()),
            _ => {}
        }
    }
    Err(format!("a {quote} is not closed"))
}

fn brackets(bare: &str) -> Result<(), String> {
    let mut open = Vec::new();
    for character in bare.chars() {
        let wanted = match character {
            '(' | '[' | '{' => {
                open.push(character);
                continue;
            }
            ')' => '(',
            ']' => '[',
            '}' => '{',
            _ => continue,
        };
        if open.pop() != Some(wanted) {
            return Err(format!("a {character} closes nothing"));
        }
    }
    match open.pop() {
        Some(character) => Err(format!("a {character} is not closed")),
        None => Ok(()),
    }
}

/// Checks a template of a label or annotation.
///
/// # Errors
/// In words, what is wrong.
pub(super) fn check_template(text: &str) -> Result<(), String> {
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
    fn what_people_mistype_is_seen() {
        for text in [
            "up == 0",
            "sum by (a) (rate(x{b=\"}\", c=~'\\''}[5m])) # )",
            "1",
            "`(`",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
        for text in [
            "",
            " # up",
            "sum(up",
            "up)",
            "rate(x[5m)]",
            "up{a=\"b}",
            "up ==",
            "a +",
        ] {
            assert!(check(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_template_is_closed() {
        assert_eq!(check_template("{{ $labels.pod }} is down"), Ok(()));
        assert!(check_template("{{ $labels.pod }").is_err());
        assert!(check_template("{{ }}").is_err());
    }
}
