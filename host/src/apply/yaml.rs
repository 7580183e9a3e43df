//! Secret values within YAML documents.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use crate::plan::YamlForm;

/// Written bytes, which are as secret as what they are made of.
type Written = Zeroizing<Vec<u8>>;

/// A value as it stands within a document.
///
/// # Errors
/// In words, when the value cannot stand there.
pub(super) fn write(value: &[u8], form: YamlForm) -> Result<Written, &'static str> {
    match form {
        YamlForm::Scalar => Ok(scalar(value)),
        YamlForm::Items(indent) => items(value, indent),
    }
}

/// One string between double quotes, so that no parser takes it for anything else. Bytes that are no text stand as
/// base64, marked as such.
fn scalar(value: &[u8]) -> Written {
    let mut written = Zeroizing::new(Vec::with_capacity(value.len() + 2));
    let Ok(text) = std::str::from_utf8(value) else {
        let encoded = Zeroizing::new(STANDARD.encode(value));
        written.extend_from_slice(b"!!binary \"");
        written.extend_from_slice(encoded.as_bytes());
        written.push(b'"');
        return written;
    };
    written.push(b'"');
    for character in text.chars() {
        push(&mut written, character);
    }
    written.push(b'"');
    written
}

fn push(written: &mut Vec<u8>, character: char) {
    let mut buffer = Zeroizing::new([0; 4]);
    match character {
        '"' | '\\' => written.extend([b'\\', character as u8]),
        '\n' => written.extend_from_slice(b"\\n"),
        '\r' => written.extend_from_slice(b"\\r"),
        '\t' => written.extend_from_slice(b"\\t"),
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' => {
            written.extend_from_slice(format!("\\x{:02x}", u32::from(character)).as_bytes());
        }
        '\u{2028}' | '\u{2029}' | '\u{feff}' => {
            written.extend_from_slice(format!("\\u{:04x}", u32::from(character)).as_bytes());
        }
        other => written.extend_from_slice(other.encode_utf8(&mut *buffer).as_bytes()),
    }
}

/// The items of a list in block form, moved to where they are to stand.
fn items(value: &[u8], indent: usize) -> Result<Written, &'static str> {
    let text = std::str::from_utf8(value).map_err(|_| "is not text: write a YAML list")?;
    let lines: Vec<&str> = text.lines().collect();
    let Some(first) = lines.iter().position(|line| is_content(line)) else {
        return Ok(Written::default());
    };
    let lines = match lines[first].trim_end() {
        "---" => &lines[first + 1..],
        _ => &lines[first..],
    };
    let content: Vec<&&str> = lines.iter().filter(|line| is_content(line)).collect();
    match content.first().map(|line| line.trim()) {
        None => return Ok(Written::default()),
        Some("[]" | "null" | "~") if content.len() == 1 => return Ok(Written::default()),
        Some(line) if line == "-" || line.starts_with("- ") => {}
        Some(_) => return Err("is not a YAML list whose items begin with \"- \""),
    }
    check(text)?;
    let from = content
        .first()
        .map_or(0, |line| line.len() - line.trim_start().len());
    let mut written = Written::default();
    for line in lines {
        let moved = line.get(from..).filter(|_| line[..from].trim().is_empty());
        let moved = moved.unwrap_or_else(|| line.trim_start());
        if !moved.is_empty() {
            written.extend(std::iter::repeat_n(b' ', indent));
            written.extend_from_slice(moved.as_bytes());
        }
        written.push(b'\n');
    }
    Ok(written)
}

fn is_content(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

/// One list that no parser stumbles over: else it would take the rest of the document with it.
fn check(text: &str) -> Result<(), &'static str> {
    match serde_saphyr::from_str::<Vec<serde_json::Value>>(text) {
        Ok(_) => Ok(()),
        Err(_) => Err("is not a YAML list"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &[u8], form: YamlForm) -> Result<String, &'static str> {
        write(value, form).map(|written| String::from_utf8(written.to_vec()).unwrap())
    }

    #[test]
    fn a_scalar_is_read_back_as_it_was() {
        for value in [
            "",
            "no",
            "1e3",
            "a: b # c",
            "line\nline",
            "\"\\\t\u{7}\u{85}ä",
            "{{ x }}",
        ] {
            let yaml = format!(
                "value: {}",
                text(value.as_bytes(), YamlForm::Scalar).unwrap()
            );
            let read: serde_json::Value = serde_saphyr::from_str(&yaml).unwrap();
            assert_eq!(read["value"], *value, "{yaml}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_marked() {
        assert_eq!(
            text(&[0xff, 0], YamlForm::Scalar).unwrap(),
            "!!binary \"/wA=\""
        );
    }

    #[test]
    fn a_list_is_moved_as_a_whole() {
        let list =
            "---\n# jobs\n  - job_name: a\n    script: |\n      x\n\n        y\n  - job_name: b\n";
        assert_eq!(
            text(list.as_bytes(), YamlForm::Items(2)).unwrap(),
            "  # jobs\n  - job_name: a\n    script: |\n      x\n\n        y\n  - job_name: b\n"
        );
        for nothing in ["", "\n# none\n", "[]", "---\n"] {
            assert_eq!(
                text(nothing.as_bytes(), YamlForm::Items(0)).unwrap(),
                "",
                "{nothing}"
            );
        }
    }

    #[test]
    fn what_is_no_list_does_not_take_the_document_with_it() {
        for value in ["a: b", "[a, b]", "- a\nb: c", "- \"open", "text"] {
            assert!(
                text(value.as_bytes(), YamlForm::Items(0)).is_err(),
                "{value}"
            );
        }
        assert!(text(&[0xff], YamlForm::Items(0)).is_err());
    }
}
