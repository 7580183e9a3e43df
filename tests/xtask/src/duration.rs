//! How long something took, as people read it.

use std::fmt;
use std::time::Duration;

/// Shows a duration as `0.4s`, `12s` or `3m 05s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Took(pub(crate) Duration);

impl fmt::Display for Took {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let text = match seconds {
            0..10 => format!("{:.1}s", self.0.as_secs_f64()),
            10..60 => format!("{seconds}s"),
            _ => format!("{}m {:02}s", seconds / 60, seconds % 60),
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        let shown = |millis| Took(Duration::from_millis(millis)).to_string();
        assert_eq!(shown(440), "0.4s");
        assert_eq!(shown(12_900), "12s");
        assert_eq!(shown(185_000), "3m 05s");
    }
}
