//! Grants: what a plugin is allowed, by the names that administrators write.
//!
//! A plugin asks by its description, an administrator grants in the `Plugin` resource, and what was not granted
//! is refused by the name printed here. The names are listed in `wit/README.md`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::object::{Kind, NotAKind, ObjectKey};
use crate::plugin::bindings::SecretKey;

/// In the place of a namespace: every one.
pub const EVERY: &str = "*";

/// One thing that a plugin may do.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Grant {
    /// Children of this kind, and asking about it: `own:VERSION/KIND`.
    Own(Kind),
    /// Asking about this kind: `read:VERSION/KIND`.
    Read(Kind),
    /// Queries on that port of the object's own Pods: `query:PROTOCOL:PORT`.
    Query(Protocol, u16),
    /// Actions on that port of the object's own Pods: `act:PROTOCOL:PORT`.
    Act(Protocol, u16),
    /// Patching objects of this kind that are not children: `act:patch:VERSION/KIND`.
    Patch(Kind),
    /// Deleting objects of this kind: `act:delete:VERSION/KIND`.
    Delete(Kind),
    /// Evicting the object's own Pods: `act:evict`.
    Evict,
    /// Secret values of that namespace in slots and logins: `slots-from:NAMESPACE`; `slots-from:*` for every namespace.
    SlotsFrom(String),
    /// HTTP queries to a server outside the cluster: `host:NAME:PORT`.
    Host(ExternalHost),
}

/// A protocol of queries and actions on Pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// The Redis protocol.
    Redis,
    /// The MySQL protocol.
    Sql,
    /// HTTP.
    Http,
}

/// A server outside the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ExternalHost {
    /// A DNS name or an IPv4 address, in lower case.
    pub name: String,
    /// A TCP port.
    pub port: u16,
}

/// A text that is not the name of a grant.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not a grant: {why}")]
pub struct NotAGrant {
    text: String,
    why: String,
}

impl Grant {
    /// What it needs to take a value for `taker`, an object; None for a Secret of the object's own namespace.
    pub fn to_take(key: &SecretKey, taker: &ObjectKey) -> Option<Self> {
        let own = taker.namespace.as_ref() == Some(&key.namespace);
        (!own).then(|| Self::SlotsFrom(key.namespace.clone()))
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Redis => "redis",
            Self::Sql => "sql",
            Self::Http => "http",
        })
    }
}

impl fmt::Display for ExternalHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.port)
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own(kind) => write!(f, "own:{kind}"),
            Self::Read(kind) => write!(f, "read:{kind}"),
            Self::Query(protocol, port) => write!(f, "query:{protocol}:{port}"),
            Self::Act(protocol, port) => write!(f, "act:{protocol}:{port}"),
            Self::Patch(kind) => write!(f, "act:patch:{kind}"),
            Self::Delete(kind) => write!(f, "act:delete:{kind}"),
            Self::Evict => f.write_str("act:evict"),
            Self::SlotsFrom(namespace) => write!(f, "slots-from:{namespace}"),
            Self::Host(host) => write!(f, "host:{host}"),
        }
    }
}

impl FromStr for Grant {
    type Err = NotAGrant;

    fn from_str(text: &str) -> Result<Self, NotAGrant> {
        let named = |why: String| NotAGrant {
            text: text.into(),
            why,
        };
        parse(text).map_err(named)
    }
}

fn parse(text: &str) -> Result<Grant, String> {
    let kind = |text: &str| text.parse().map_err(|error: NotAKind| error.to_string());
    let (head, rest) = text.split_once(':').ok_or_else(forms)?;
    match head {
        "own" => Ok(Grant::Own(kind(rest)?)),
        "read" => Ok(Grant::Read(kind(rest)?)),
        "query" => protocol_port(rest).map(|(protocol, port)| Grant::Query(protocol, port)),
        "act" => match rest.split_once(':') {
            None if rest == "evict" => Ok(Grant::Evict),
            Some(("patch", of)) => Ok(Grant::Patch(kind(of)?)),
            Some(("delete", of)) => Ok(Grant::Delete(kind(of)?)),
            _ => protocol_port(rest).map(|(protocol, port)| Grant::Act(protocol, port)),
        },
        "slots-from" if rest == EVERY || is_dns_label(rest) => Ok(Grant::SlotsFrom(rest.into())),
        "slots-from" => Err("write slots-from:NAMESPACE or slots-from:*".into()),
        "host" => rest.parse().map(Grant::Host),
        _ => Err(forms()),
    }
}

fn forms() -> String {
    "it begins with own:, read:, query:, act:, slots-from: or host:".into()
}

fn protocol_port(text: &str) -> Result<(Protocol, u16), String> {
    let (protocol, port) = match text.split_once(':') {
        Some(("redis", port)) => (Protocol::Redis, port),
        Some(("sql", port)) => (Protocol::Sql, port),
        Some(("http", port)) => (Protocol::Http, port),
        _ => return Err("write redis:PORT, sql:PORT or http:PORT after the verb".into()),
    };
    Ok((protocol, parse_port(port)?))
}

fn parse_port(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(port) if port != 0 && !text.starts_with(['+', '0']) => Ok(port),
        _ => Err(format!(
            "\"{text}\" is not a port: write a number from 1 to 65535"
        )),
    }
}

impl FromStr for ExternalHost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, port) = text.rsplit_once(':').ok_or("write NAME:PORT")?;
        if name.is_empty() || name.len() > 253 || !name.split('.').all(is_dns_label) {
            return Err(format!("\"{name}\" is not a DNS name in lower case"));
        }
        Ok(Self {
            name: name.into(),
            port: parse_port(port)?,
        })
    }
}

/// Whether `text` is 1 to 63 of `a-z`, `0-9` and `-`, neither beginning nor ending with `-`.
pub(crate) fn is_dns_label(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    matches!(text.len(), 1..=63)
        && text.bytes().all(allowed)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

impl TryFrom<String> for Grant {
    type Error = NotAGrant;

    fn try_from(text: String) -> Result<Self, NotAGrant> {
        text.parse()
    }
}

impl From<Grant> for String {
    fn from(grant: Grant) -> Self {
        grant.to_string()
    }
}

impl TryFrom<String> for ExternalHost {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<ExternalHost> for String {
    fn from(host: ExternalHost) -> Self {
        host.to_string()
    }
}

/// The grants that hold for one plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Grants(BTreeSet<Grant>);

impl Grants {
    /// Whether this is allowed. Owning a kind includes reading it.
    pub fn allows(&self, wanted: &Grant) -> bool {
        match wanted {
            Grant::Read(kind) => {
                self.0.contains(wanted) || self.0.contains(&Grant::Own(kind.clone()))
            }
            Grant::SlotsFrom(_) => {
                self.0.contains(wanted) || self.0.contains(&Grant::SlotsFrom(EVERY.into()))
            }
            _ => self.0.contains(wanted),
        }
    }

    /// What of `asked` is not allowed, sorted.
    pub fn missing<'a>(&self, asked: &'a Grants) -> Vec<&'a Grant> {
        asked.iter().filter(|grant| !self.allows(grant)).collect()
    }

    /// All of them, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &Grant> {
        self.0.iter()
    }

    /// Their names, sorted, as `request.available` lists them: those that `served` says this cluster can honour.
    pub fn names(&self, mut served: impl FnMut(&Grant) -> bool) -> Vec<String> {
        let mut names: Vec<_> = self
            .iter()
            .filter(|grant| served(grant))
            .map(Grant::to_string)
            .collect();
        names.sort();
        names
    }
}

impl FromIterator<Grant> for Grants {
    fn from_iter<I: IntoIterator<Item = Grant>>(grants: I) -> Self {
        Self(grants.into_iter().collect())
    }
}

impl Grant {
    /// The kind that it is about, if it is about one.
    pub fn kind(&self) -> Option<&Kind> {
        match self {
            Self::Own(kind) | Self::Read(kind) | Self::Patch(kind) | Self::Delete(kind) => {
                Some(kind)
            }
            Self::Query(..) | Self::Act(..) | Self::Evict | Self::SlotsFrom(_) | Self::Host(_) => {
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_contract_is_read_and_written_in_the_same_form() {
        for name in [
            "own:apps/v1/StatefulSet",
            "own:v1/Service",
            "read:v1/Pod",
            "query:redis:6379",
            "query:sql:3306",
            "query:http:9090",
            "act:sql:3306",
            "act:redis:6379",
            "act:http:9090",
            "act:patch:v1/Pod",
            "act:delete:v1/Pod",
            "act:evict",
            "slots-from:shared",
            "slots-from:*",
            "host:s3.example.com:443",
        ] {
            assert_eq!(
                name.parse::<Grant>().map(|grant| grant.to_string()),
                Ok(name.into())
            );
        }
    }

    #[test]
    fn a_text_that_is_no_grant_is_refused_with_what_to_write() {
        for (text, hint) in [
            ("", "begins with"),
            ("everything", "begins with"),
            ("own:Pod", "VERSION/KIND"),
            ("query:ldap:389", "redis:PORT, sql:PORT or http:PORT"),
            ("query:redis:0", "1 to 65535"),
            ("query:redis:06379", "1 to 65535"),
            ("query:redis:70000", "1 to 65535"),
            ("act:evict:v1/Pod", "redis:PORT, sql:PORT or http:PORT"),
            ("slots-from:", "NAMESPACE"),
            ("slots-from:a*", "NAMESPACE"),
            ("host:*.example.com:443", "DNS name"),
            ("host:example.com", "NAME:PORT"),
        ] {
            let error = text.parse::<Grant>().expect_err(text).to_string();
            assert!(error.contains(hint), "{text}: {error}");
        }
    }

    #[test]
    fn owning_includes_reading_and_nothing_else() {
        let grants: Grants = ["own:v1/Service", "act:redis:6379"]
            .iter()
            .map(|g| grant(g))
            .collect();
        assert!(grants.allows(&grant("own:v1/Service")));
        assert!(grants.allows(&grant("read:v1/Service")));
        for refused in [
            "act:patch:v1/Service",
            "act:delete:v1/Service",
            "read:v1/Secret",
            "query:redis:6379",
            "act:redis:6380",
            "act:evict",
        ] {
            assert!(!grants.allows(&grant(refused)), "{refused} was allowed");
        }
    }

    #[test]
    fn what_is_asked_but_not_granted_is_named() {
        let granted: Grants = [grant("own:v1/Service")].into_iter().collect();
        let asked: Grants = ["read:v1/Service", "act:evict", "read:v1/Pod"]
            .iter()
            .map(|g| grant(g))
            .collect();
        let missing: Vec<_> = granted
            .missing(&asked)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(missing, ["read:v1/Pod", "act:evict"]);
    }

    fn grant(name: &str) -> Grant {
        name.parse().expect(name)
    }
}
