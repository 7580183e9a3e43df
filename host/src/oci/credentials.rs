//! Who asks a registry: from a pull secret's `.dockerconfigjson`, or from the file of a person's Docker.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use zeroize::Zeroizing;

/// A name and a password. Debug shows neither.
#[derive(Clone)]
pub struct Login {
    /// The name.
    pub user: String,
    /// The password or token.
    pub password: Zeroizing<String>,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login(…)")
    }
}

/// Why a pull secret cannot be used. Never shows what is in it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCredentials {
    /// Not of the form.
    #[error(
        "it is not of the form of .dockerconfigjson: make it with kubectl create secret docker-registry"
    )]
    Form,
    /// Others only.
    #[error("it has no entry for {0}")]
    Nobody(String),
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    auths: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
}

/// The login for the registry `host` in a `.dockerconfigjson`.
///
/// # Errors
/// When it is malformed or does not name the registry.
pub fn login_for(host: &str, json: &[u8]) -> Result<Login, BadCredentials> {
    let File { auths } = serde_json::from_slice(json).map_err(|_| BadCredentials::Form)?;
    let same = |key: &&str| server_of(key) == host;
    let key = auths.keys().map(String::as_str).find(same);
    let entry = key.and_then(|key| auths.get(key));
    let entry = entry.ok_or_else(|| BadCredentials::Nobody(host.into()))?;
    match (entry, &entry.auth) {
        (
            Entry {
                username: Some(user),
                password: Some(password),
                ..
            },
            _,
        ) => Ok(Login {
            user: user.clone(),
            password: Zeroizing::new(password.clone()),
        }),
        (_, Some(auth)) => decoded(auth).ok_or(BadCredentials::Form),
        _ => Err(BadCredentials::Form),
    }
}

/// `https://oci.example.com/v1/` is the entry of `oci.example.com`.
fn server_of(key: &str) -> &str {
    let without_scheme = key.split_once("://").map_or(key, |(_, rest)| rest);
    without_scheme.split('/').next().unwrap_or(without_scheme)
}

fn decoded(auth: &str) -> Option<Login> {
    let bytes = Zeroizing::new(STANDARD.decode(auth.trim()).ok()?);
    let text = std::str::from_utf8(&bytes).ok()?;
    let (user, password) = text.split_once(':')?;
    Some(Login {
        user: user.into(),
        password: Zeroizing::new(password.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = br#"{"auths": {
        "https://oci.example.com/v2/": {"auth": "bWU6cGFzczp3b3Jk"},
        "other.example.com:5000": {"username": "you", "password": "secret", "auth": "eDp5"},
        "empty.example.com": {}
    }}"#;

    #[test]
    fn an_entry_is_found_by_the_registrys_name() {
        let login = login_for("oci.example.com", SECRET).unwrap();
        assert_eq!(
            (login.user.as_str(), login.password.as_str()),
            ("me", "pass:word")
        );
        let login = login_for("other.example.com:5000", SECRET).unwrap();
        assert_eq!(
            (login.user.as_str(), login.password.as_str()),
            ("you", "secret")
        );
    }

    #[test]
    fn what_cannot_be_used_is_said_without_showing_it() {
        let nobody = login_for("elsewhere.example.com", SECRET).unwrap_err();
        assert_eq!(
            nobody,
            BadCredentials::Nobody("elsewhere.example.com".into())
        );
        assert_eq!(
            login_for("empty.example.com", SECRET).unwrap_err(),
            BadCredentials::Form
        );
        let error = login_for("a", b"{\"auths\": \"hunter2\"}").unwrap_err();
        assert!(!error.to_string().contains("hunter2"));
        let login = login_for("oci.example.com", SECRET).unwrap();
        assert!(!format!("{login:?}").contains("pass"));
    }
}
