//! The warm instances of one plugin.
//!
//! The one used last is used next, so that in quiet times the others grow old and go. An instance that is taken
//! out comes back only with an answer.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::plugin::instance::Instance;

/// What is known of an instance that might be kept.
pub(super) trait Kept {
    /// Calls that it has answered.
    fn calls(&self) -> u32;
    /// Bytes of memory that it holds.
    fn memory(&self) -> usize;
    /// How long ago it was last called.
    fn idle(&self) -> Duration;
}

impl Kept for Instance {
    fn calls(&self) -> u32 {
        Self::calls(self)
    }

    fn memory(&self) -> usize {
        Self::memory(self)
    }

    fn idle(&self) -> Duration {
        Self::idle(self)
    }
}

/// When an instance is not used again.
#[derive(Clone, Debug)]
pub(super) struct Recycling {
    /// Calls that one instance answers at most: leaks stay small.
    pub(super) calls: u32,
    /// Bytes that it may hold afterwards: guest memory never shrinks.
    pub(super) memory: usize,
    /// How long it waits for a call.
    pub(super) idle: Duration,
    /// How many wait at the same time.
    pub(super) waiting: usize,
}

/// Warm instances that wait for a call.
pub(super) struct Pool<I> {
    recycling: Recycling,
    waiting: Mutex<Vec<I>>,
}

impl<I: Kept> Pool<I> {
    pub(super) fn new(recycling: Recycling) -> Self {
        Self {
            recycling,
            waiting: Mutex::new(Vec::new()),
        }
    }

    /// The instance that was used last, if one waits.
    pub(super) fn take(&self) -> Option<I> {
        self.waiting().pop()
    }

    /// Keeps an instance that answered, or lets it go.
    pub(super) fn give_back(&self, instance: I) {
        let Recycling {
            calls,
            memory,
            idle: _,
            waiting: most,
        } = self.recycling;
        let mut waiting = self.waiting();
        if instance.calls() < calls && instance.memory() <= memory && waiting.len() < most {
            waiting.push(instance);
        }
    }

    /// Lets go what nobody has called for a while.
    pub(super) fn trim(&self) {
        self.waiting()
            .retain(|instance| instance.idle() < self.recycling.idle);
    }

    /// How often it is worth trimming.
    pub(super) fn trim_every(&self) -> Duration {
        self.recycling.idle / 2
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Vec<I>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    struct Fake {
        calls: u32,
        memory: usize,
        idle: Duration,
    }

    impl Kept for Fake {
        fn calls(&self) -> u32 {
            self.calls
        }

        fn memory(&self) -> usize {
            self.memory
        }

        fn idle(&self) -> Duration {
            self.idle
        }
    }

    const FRESH: Fake = Fake {
        calls: 1,
        memory: 1,
        idle: Duration::ZERO,
    };

    fn pool() -> Pool<Fake> {
        let idle = Duration::from_secs(60);
        Pool::new(Recycling {
            calls: 10,
            memory: 100,
            idle,
            waiting: 2,
        })
    }

    #[test]
    fn the_one_used_last_is_used_next() {
        let pool = pool();
        let second = Fake { calls: 2, ..FRESH };
        pool.give_back(FRESH);
        pool.give_back(second.clone());
        assert_eq!(pool.take(), Some(second));
        assert_eq!(pool.take(), Some(FRESH));
        assert_eq!(pool.take(), None);
    }

    #[test]
    fn a_worn_out_or_surplus_instance_is_let_go() {
        let pool = pool();
        pool.give_back(Fake { calls: 10, ..FRESH });
        pool.give_back(Fake {
            memory: 101,
            ..FRESH
        });
        assert_eq!(pool.take(), None);
        for _ in 0..3 {
            pool.give_back(FRESH);
        }
        assert_eq!(
            [pool.take(), pool.take(), pool.take()],
            [Some(FRESH), Some(FRESH), None]
        );
    }

    #[test]
    fn an_instance_that_nobody_calls_is_let_go() {
        let pool = pool();
        pool.give_back(Fake {
            idle: Duration::from_secs(61),
            ..FRESH
        });
        pool.give_back(FRESH);
        pool.trim();
        assert_eq!([pool.take(), pool.take()], [Some(FRESH), None]);
    }
}
