//! What plugins write to the host's log, within bounds.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::plugin::bindings::Level;
use crate::plugin::limits::Limits;

/// The log of one plugin: how much it may still write in this minute.
#[derive(Debug)]
pub(super) struct PluginLog {
    plugin: String,
    per_call: usize,
    per_minute: usize,
    minute: Mutex<Minute>,
}

#[derive(Debug)]
struct Minute {
    began: Instant,
    written: usize,
}

/// What one call has written.
#[derive(Debug, Default)]
pub(super) struct CallLog {
    written: usize,
    dropped: usize,
}

impl PluginLog {
    pub(super) fn new(plugin: &str, limits: &Limits) -> Self {
        Self {
            plugin: plugin.to_owned(),
            per_call: limits.log_per_call.get(),
            per_minute: limits.log_per_minute.get(),
            minute: Mutex::new(Minute {
                began: Instant::now(),
                written: 0,
            }),
        }
    }

    /// Writes a line, cut to what the call and the minute have left.
    pub(super) fn write(&self, call: &mut CallLog, level: Level, text: &str) {
        let room = self.per_call.saturating_sub(call.written);
        let allowed = self.reserve(text.len().min(room));
        let cut = text.floor_char_boundary(allowed);
        call.written += cut;
        call.dropped += text.len() - cut;
        if cut > 0 || text.is_empty() {
            emit(&self.plugin, level, &escaped(&text[..cut]));
        }
    }

    /// Ends a call: says how much it wrote too much, if it did.
    pub(super) fn end(&self, call: CallLog) {
        if call.dropped > 0 {
            tracing::warn!(plugin = %self.plugin, bytes = call.dropped, "log text over the plugin's limit was dropped");
        }
    }

    /// What printing leaves behind when nothing went wrong: a mistake of the author's, worth a look only when
    /// debugging.
    pub(super) fn printed(&self, text: &str) {
        if !text.is_empty() {
            tracing::debug!(plugin = %self.plugin, printed = %escaped(text), "the plugin printed instead of logging");
        }
    }

    fn reserve(&self, wanted: usize) -> usize {
        let mut minute = self.minute.lock().unwrap_or_else(PoisonError::into_inner);
        if minute.began.elapsed() >= Duration::from_secs(60) {
            *minute = Minute {
                began: Instant::now(),
                written: 0,
            };
        }
        let granted = wanted.min(self.per_minute.saturating_sub(minute.written));
        minute.written += granted;
        granted
    }
}

fn emit(plugin: &str, level: Level, text: &str) {
    match level {
        Level::Error => tracing::error!(target: "plugin", plugin, "{text}"),
        Level::Warn => tracing::warn!(target: "plugin", plugin, "{text}"),
        Level::Info => tracing::info!(target: "plugin", plugin, "{text}"),
        Level::Debug => tracing::debug!(target: "plugin", plugin, "{text}"),
    }
}

/// Without control characters: a plugin could otherwise forge lines or steer a terminal.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character.is_control() {
            true => escaped.extend(character.escape_default()),
            false => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::limits::Bytes;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(
            escaped("a\nb\x1b[31m ü \u{9b}"),
            "a\\nb\\u{1b}[31m ü \\u{9b}"
        );
    }

    #[test]
    fn a_call_writes_no_more_than_it_may() {
        let log = log(10, 100);
        let mut call = CallLog::default();
        log.write(&mut call, Level::Info, "12345678");
        log.write(&mut call, Level::Info, "abüü");
        assert_eq!((call.written, call.dropped), (10, 4));
    }

    #[test]
    fn all_calls_together_write_no_more_than_they_may_in_a_minute() {
        let log = log(10, 15);
        let (mut one, mut two) = (CallLog::default(), CallLog::default());
        log.write(&mut one, Level::Info, "1234567890");
        log.write(&mut two, Level::Info, "1234567890");
        assert_eq!((one.written, two.written, two.dropped), (10, 5, 5));
    }

    fn log(per_call: usize, per_minute: usize) -> PluginLog {
        let limits = Limits {
            log_per_call: Bytes::new(per_call),
            log_per_minute: Bytes::new(per_minute),
            ..Limits::default()
        };
        PluginLog::new("test", &limits)
    }
}
