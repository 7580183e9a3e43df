//! Connections that are kept for the next round.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};

use super::Credentials;

/// Connections beyond this many are closed, those unused for longest first: a few for each Pod of a large fleet.
const MOST: usize = 4096;

/// What one connection is good for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) at: SocketAddr,
    user: Option<String>,
    /// A digest, so that a rotated password gets a new connection.
    passwords: [u8; 32],
}

impl Place {
    pub(super) fn new(at: SocketAddr, login: Option<&Credentials>) -> Self {
        let mut digest = Sha256::new();
        for password in login.iter().flat_map(|login| &login.passwords) {
            digest.update(password.expose().len().to_be_bytes());
            digest.update(password.expose());
        }
        Self {
            at,
            user: login.map(|login| login.user.clone()),
            passwords: digest.finalize().into(),
        }
    }
}

/// Connections by what they are good for.
pub(super) struct Kept<C>(Mutex<Entries<C>>);

struct Entries<C> {
    connections: HashMap<Place, (u64, C)>,
    uses: u64,
}

impl<C> Default for Kept<C> {
    fn default() -> Self {
        Self(Mutex::new(Entries {
            connections: HashMap::new(),
            uses: 0,
        }))
    }
}

impl<C> Kept<C> {
    /// A connection to share: it stays kept.
    pub(super) fn shared(&self, place: &Place) -> Option<C>
    where
        C: Clone,
    {
        let mut entries = self.entries();
        entries.uses += 1;
        let now = entries.uses;
        let (used, connection) = entries.connections.get_mut(place)?;
        *used = now;
        Some(connection.clone())
    }

    /// Takes a connection out, if one is kept.
    pub(super) fn take(&self, place: &Place) -> Option<C> {
        let taken = self.entries().connections.remove(place);
        taken.map(|(_, connection)| connection)
    }

    /// Keeps a connection in the place of any other.
    pub(super) fn keep(&self, place: Place, connection: C) {
        let mut entries = self.entries();
        entries.uses += 1;
        let now = entries.uses;
        entries.connections.insert(place, (now, connection));
        if entries.connections.len() > MOST {
            let oldest = entries
                .connections
                .iter()
                .min_by_key(|(_, (used, _))| *used);
            if let Some(oldest) = oldest.map(|(place, _)| place.clone()) {
                entries.connections.remove(&oldest);
            }
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries<C>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::SecretValue;

    fn place(port: u16, passwords: &[&str]) -> Place {
        let value = |password: &&str| SecretValue::new(password.as_bytes().to_vec());
        let login = Credentials {
            user: "operator".into(),
            passwords: passwords.iter().map(value).collect(),
        };
        Place::new(SocketAddr::from(([10, 0, 0, 1], port)), Some(&login))
    }

    #[test]
    fn a_rotated_password_is_another_place() {
        assert!(place(1, &["old"]) == place(1, &["old"]));
        assert!(place(1, &["old"]) != place(1, &["old", "new"]));
        assert!(place(1, &["ab", "c"]) != place(1, &["a", "bc"]));
        assert!(place(1, &["old"]) != place(2, &["old"]));
    }

    #[test]
    fn what_is_taken_is_no_longer_kept_and_what_is_shared_is() {
        let kept = Kept::default();
        kept.keep(place(1, &[]), "connection");
        assert_eq!(kept.shared(&place(1, &[])), Some("connection"));
        assert_eq!(kept.take(&place(1, &[])), Some("connection"));
        assert_eq!(kept.take(&place(1, &[])), None);
    }

    #[test]
    fn the_one_unused_for_longest_makes_room() {
        let kept = Kept::default();
        let last = u16::try_from(MOST).unwrap();
        for port in 0..last {
            kept.keep(place(port, &[]), port);
        }
        assert_eq!(kept.shared(&place(0, &[])), Some(0));
        kept.keep(place(last, &[]), last);
        assert_eq!(kept.take(&place(1, &[])), None);
        assert_eq!(kept.take(&place(0, &[])), Some(0));
    }
}
