//! What a question is about: which grant it needs, and which changes may change its answer. Pure.

use std::collections::BTreeSet;

use kube::core::Selector;

use crate::cache::selector;
use crate::object::{Kind, ObjectKey};
use crate::plugin::Grant;
use crate::plugin::bindings::{
    Detail, HttpTarget, Login, Namespaces, ObjectQuery, ObjectRef, Question,
};
use crate::plugin::grants::{ExternalHost, Protocol};

/// A question, understood.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Understood {
    /// One object.
    Object(ObjectKey),
    /// Objects of a kind.
    Objects(Objects),
    /// A query, answered by somebody outside; with the grants that it needs.
    Query(Vec<Grant>),
}

/// Which objects are asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Objects {
    pub(super) kind: Kind,
    pub(super) within: Within,
    pub(super) selector: Selector,
    pub(super) detail: Detail,
}

/// In which namespaces.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Within {
    /// All that the plugin serves.
    Every,
    /// These.
    Named(BTreeSet<String>),
    /// Those with such labels.
    Labelled(Selector),
}

/// The kind of namespaces themselves.
pub(super) fn namespace_kind() -> Kind {
    Kind::new("v1", "Namespace")
}

impl Understood {
    /// Reads a question of a plugin about `owner`.
    ///
    /// # Errors
    /// In words, when a selector or an address makes no sense.
    pub(super) fn read(question: &Question, owner: &ObjectKey) -> Result<Self, String> {
        match question {
            Question::Object(object) => Ok(Self::Object(key(object))),
            Question::Objects(query) => objects(query, owner).map(Self::Objects),
            Question::Redis(query) => {
                let asks = Grant::Query(Protocol::Redis, query.target.port);
                Ok(Self::Query(logged_in(asks, query.login.as_ref(), owner)))
            }
            Question::Sql(query) => {
                let asks = Grant::Query(Protocol::Sql, query.target.port);
                Ok(Self::Query(logged_in(asks, Some(&query.login), owner)))
            }
            Question::Http(query) => {
                http_grant(&query.target).map(|grant| Self::Query(vec![grant]))
            }
        }
    }

    /// The grants that it needs.
    pub(super) fn grants(&self) -> Vec<Grant> {
        match self {
            Self::Object(key) => vec![Grant::Read(key.kind.clone())],
            Self::Objects(Objects { kind, within, .. }) => {
                let labels = matches!(within, Within::Labelled(_));
                let namespaces = labels.then(|| Grant::Read(namespace_kind()));
                [Grant::Read(kind.clone())]
                    .into_iter()
                    .chain(namespaces)
                    .collect()
            }
            Self::Query(grants) => grants.clone(),
        }
    }
}

/// The grants that a question about `owner` needs.
///
/// # Errors
/// In words, when a selector or an address makes no sense.
pub(crate) fn needed_grants(question: &Question, owner: &ObjectKey) -> Result<Vec<Grant>, String> {
    Understood::read(question, owner).map(|understood| understood.grants())
}

fn key(object: &ObjectRef) -> ObjectKey {
    ObjectKey {
        kind: Kind::new(&object.api_version, &object.kind),
        namespace: object.namespace.clone(),
        name: object.name.clone(),
    }
}

fn objects(query: &ObjectQuery, owner: &ObjectKey) -> Result<Objects, String> {
    let parse = |text: &str| selector::parse(text).map_err(|error| error.to_string());
    let within = match &query.namespaces {
        Namespaces::Same => match &owner.namespace {
            Some(namespace) => Within::Named([namespace.clone()].into()),
            None => {
                return Err(
                    "a cluster-scoped object has no namespace of its own: ask for every".into(),
                );
            }
        },
        Namespaces::Every => Within::Every,
        Namespaces::Named(names) => Within::Named(names.iter().cloned().collect()),
        Namespaces::Labelled(labels) => Within::Labelled(parse(labels)?),
    };
    Ok(Objects {
        kind: Kind::new(&query.api_version, &query.kind),
        within,
        selector: parse(&query.selector)?,
        detail: query.detail,
    })
}

/// The grant to ask, and those to take the login's passwords.
fn logged_in(asks: Grant, login: Option<&Login>, owner: &ObjectKey) -> Vec<Grant> {
    let passwords = login.into_iter().flat_map(|login| &login.passwords);
    let taken = passwords.filter_map(|key| Grant::to_take(key, owner));
    [asks].into_iter().chain(taken).collect()
}

fn http_grant(target: &HttpTarget) -> Result<Grant, String> {
    match target {
        HttpTarget::Pod(pod) => Ok(Grant::Query(Protocol::Http, pod.port)),
        HttpTarget::External(url) => external_host(url).map(Grant::Host),
    }
}

fn external_host(url: &str) -> Result<ExternalHost, String> {
    let wrong = || format!("\"{url}\" is not https://HOST[:PORT] or http://HOST[:PORT]");
    let parsed: http::Uri = url.parse().map_err(|_| wrong())?;
    let port = match (parsed.port_u16(), parsed.scheme_str()) {
        (Some(port), Some("http" | "https")) => port,
        (None, Some("https")) => 443,
        (None, Some("http")) => 80,
        _ => return Err(wrong()),
    };
    let name = parsed.host().ok_or_else(wrong)?.to_ascii_lowercase();
    Ok(ExternalHost { name, port })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::bindings::{
        HttpMethod, HttpQuery, PodPort, RedisQuery, SecretKey, SqlQuery,
    };

    fn owner() -> ObjectKey {
        let kind = Kind::new("example.com/v1", "Thing");
        ObjectKey {
            kind,
            namespace: Some("default".into()),
            name: "a".into(),
        }
    }

    fn pods(namespaces: Namespaces, selector: &str) -> Question {
        Question::Objects(ObjectQuery {
            api_version: "v1".into(),
            kind: "Pod".into(),
            namespaces,
            selector: selector.into(),
            detail: Detail::Whole,
        })
    }

    fn http(target: HttpTarget) -> Question {
        let query = HttpQuery {
            target,
            method: HttpMethod::Get,
            path: "/".into(),
            headers: vec![],
            timeout: 1,
        };
        Question::Http(query)
    }

    fn pod(port: u16) -> PodPort {
        PodPort {
            pod: "p".into(),
            uid: "u".into(),
            port,
        }
    }

    fn redis(login: Option<Login>) -> Question {
        Question::Redis(RedisQuery {
            target: pod(6379),
            login,
            commands: vec![],
            timeout: 1,
        })
    }

    fn sql(login: Login) -> Question {
        Question::Sql(SqlQuery {
            target: pod(3306),
            login,
            statements: vec![],
            timeout: 1,
        })
    }

    /// A login with passwords from these namespaces.
    fn login(namespaces: &[&str]) -> Login {
        let password = |namespace: &&str| SecretKey {
            namespace: (*namespace).into(),
            name: "auth".into(),
            key: "password".into(),
        };
        Login {
            user: "observer".into(),
            passwords: namespaces.iter().map(password).collect(),
        }
    }

    #[test]
    fn each_question_needs_its_grants() {
        for (question, expected) in [
            (pods(Namespaces::Same, "app=a"), "read:v1/Pod"),
            (
                pods(Namespaces::Labelled("team=a".into()), ""),
                "read:v1/Pod read:v1/Namespace",
            ),
            (redis(None), "query:redis:6379"),
            (redis(Some(login(&["default"]))), "query:redis:6379"),
            (
                redis(Some(login(&["default", "other"]))),
                "query:redis:6379 slots-from:other",
            ),
            (sql(login(&["default"])), "query:sql:3306"),
            (sql(login(&["other"])), "query:sql:3306 slots-from:other"),
            (http(HttpTarget::Pod(pod(9090))), "query:http:9090"),
            (
                http(HttpTarget::External("https://S3.example.com".into())),
                "host:s3.example.com:443",
            ),
            (
                http(HttpTarget::External("http://a.example.com:8080".into())),
                "host:a.example.com:8080",
            ),
        ] {
            let grants = Understood::read(&question, &owner()).unwrap().grants();
            let names: Vec<_> = grants.iter().map(Grant::to_string).collect();
            assert_eq!(names.join(" "), expected);
        }
    }

    #[test]
    fn a_question_that_makes_no_sense_says_what_is_wrong() {
        let mut cluster_scoped = owner();
        cluster_scoped.namespace = None;
        for (question, owner, hint) in [
            (pods(Namespaces::Every, "a b"), owner(), "label selector"),
            (
                pods(Namespaces::Labelled("=".into()), ""),
                owner(),
                "label selector",
            ),
            (pods(Namespaces::Same, ""), cluster_scoped, "every"),
            (
                http(HttpTarget::External("ftp://a".into())),
                owner(),
                "https://HOST",
            ),
            (
                http(HttpTarget::External("a.example.com".into())),
                owner(),
                "https://HOST",
            ),
        ] {
            let why = Understood::read(&question, &owner).unwrap_err();
            assert!(why.contains(hint), "{why}");
        }
    }
}
