//! Since when each Pod has been silent.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The first miss of each Pod that has not answered since, by its uid.
#[derive(Default)]
pub struct Silence(Mutex<HashMap<String, u64>>);

impl Silence {
    /// Notes a miss at `now`; returns when the silence began.
    pub fn noted(&self, uid: &str, now: u64) -> u64 {
        let mut silent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *silent.entry(uid.to_owned()).or_insert(now)
    }

    /// Notes an answer.
    pub fn heard(&self, uid: &str) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(uid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silence_begins_with_its_first_miss_and_ends_with_an_answer() {
        let silence = Silence::default();
        assert_eq!(silence.noted("a", 10), 10);
        assert_eq!(silence.noted("a", 20), 10);
        silence.heard("a");
        assert_eq!(silence.noted("a", 30), 30);
    }
}
