//! What a visitor sees.

use crate::spec::WebsiteSpec;

/// The page as HTML. What people wrote is text and stays text, whatever it holds.
#[must_use]
pub fn page(spec: &WebsiteSpec) -> String {
    let (title, text) = (escaped(&spec.title), escaped(&spec.text));
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<h1>{title}</h1>\n<p>{text}</p>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(escaped("<b>\"Q&A\"</b>"), "&lt;b&gt;&quot;Q&amp;A&quot;&lt;/b&gt;");
    }
}
