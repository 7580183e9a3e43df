//! What a plugin says about itself: the answer of `describe`, checked.
//!
//! The form stands in `wit/README.md`. A [`Description`] can only be had by [`Description::parse`], so the rest of
//! the host never meets one that contradicts itself.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::object::Kind;
use crate::plugin::grants::{ExternalHost, Grant, Grants, Protocol, is_dns_label};

/// Looked at again after this long where the description does not say.
pub const DEFAULT_RESYNC: Duration = Duration::from_secs(600);

/// The shortest resync that is accepted: below it the host would do nothing else.
const SHORTEST_RESYNC: Duration = Duration::from_secs(10);

/// What a plugin is and asks for. What it asks for is a request; what the administrator grants is what holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// A DNS label.
    pub name: String,
    /// Its version.
    pub version: semver::Version,
    /// One line.
    pub purpose: String,
    /// The kinds whose objects it reconciles; at least one, each with its CRD.
    pub serves: Vec<Served>,
    /// CRDs of kinds that it asks about and that come with it.
    pub carries: Vec<CustomResourceDefinition>,
    /// Kinds of children.
    pub owns: Vec<Kind>,
    /// Kinds that it asks about.
    pub reads: Vec<Read>,
    /// Ports of Pods that it queries.
    pub queries: Ports,
    /// What it does beside writing children and status.
    pub actions: Actions,
    /// Servers outside the cluster that it queries.
    pub external_hosts: Vec<ExternalHost>,
    /// Every object is looked at again after this long.
    pub resync: Duration,
    /// JSON schema of its configuration.
    pub config_schema: Value,
}

/// A kind that a plugin serves.
#[derive(Clone, Debug, PartialEq)]
pub struct Served {
    /// The kind, at the version that the plugin is handed.
    pub kind: Kind,
    /// True when `finalize` is called on deletion.
    pub finalizes: bool,
    /// Its CRD. Names the kind's group and kind and serves the kind's version.
    pub crd: CustomResourceDefinition,
}

/// A kind that a plugin asks about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// The kind.
    pub kind: Kind,
    /// A label selector that bounds what the host watches; empty selects everything.
    #[serde(default)]
    pub selector: String,
}

/// Ports by protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ports {
    /// Redis.
    pub redis: BTreeSet<u16>,
    /// MySQL.
    pub sql: BTreeSet<u16>,
    /// HTTP.
    pub http: BTreeSet<u16>,
}

/// What a plugin does beside writing children and status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Actions {
    /// Ports of Pods that it sends Redis commands to.
    pub redis: BTreeSet<u16>,
    /// Ports of Pods that it sends SQL statements to.
    pub sql: BTreeSet<u16>,
    /// Ports of Pods that it sends HTTP requests to.
    pub http: BTreeSet<u16>,
    /// Kinds that it patches.
    pub patch: Vec<Kind>,
    /// Kinds that it deletes.
    pub delete: Vec<Kind>,
    /// Whether it evicts Pods.
    pub evict: bool,
}

/// Why a description is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum BadDescription {
    /// Not the JSON that `wit/README.md` describes.
    #[error("describe did not return a description: {0}")]
    Form(#[source] serde_json::Error),
    /// A value that cannot be.
    #[error("describe returned a description whose {field} is wrong: {why}")]
    Value {
        /// Path of the field.
        field: String,
        /// What is wrong, and what to write.
        why: String,
    },
}

/// The JSON as it comes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Raw {
    name: String,
    version: semver::Version,
    #[serde(default)]
    purpose: String,
    serves: Vec<RawServed>,
    crds: Vec<String>,
    #[serde(default)]
    owns: Vec<Kind>,
    #[serde(default)]
    reads: Vec<Read>,
    #[serde(default)]
    queries: Ports,
    #[serde(default)]
    actions: Actions,
    #[serde(default)]
    external_hosts: Vec<ExternalHost>,
    resync: Option<u64>,
    #[serde(default)]
    config_schema: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawServed {
    group: String,
    version: String,
    kind: String,
    #[serde(default)]
    finalizes: bool,
}

impl Description {
    /// The kinds whose objects it reconciles.
    pub fn kinds(&self) -> BTreeSet<Kind> {
        self.serves
            .iter()
            .map(|served| served.kind.clone())
            .collect()
    }

    /// Checks what `describe` returned.
    ///
    /// # Errors
    /// Names the field that is missing, unknown or wrong.
    pub fn parse(json: &str) -> Result<Self, BadDescription> {
        let raw: Raw = serde_json::from_str(json).map_err(BadDescription::Form)?;
        let Raw {
            name,
            version,
            purpose,
            serves,
            crds,
            owns,
            reads,
            ..
        } = raw;
        let Raw {
            queries,
            actions,
            external_hosts,
            resync,
            config_schema,
            ..
        } = raw;
        if !is_dns_label(&name) {
            return Err(wrong(
                "name",
                "write a DNS label: a-z, 0-9 and -, at most 63",
            ));
        }
        let crds = parse_crds(&crds)?;
        let serves = served(serves, &crds)?;
        Ok(Self {
            name,
            version,
            purpose: purpose.lines().next().unwrap_or_default().to_owned(),
            carries: carried(crds, &serves, &reads)?,
            serves,
            owns,
            reads,
            queries,
            actions,
            external_hosts,
            resync: checked_resync(resync)?,
            config_schema,
        })
    }

    /// The grants that this plugin asks for.
    pub fn asks(&self) -> Grants {
        let Self {
            owns,
            reads,
            queries,
            actions,
            external_hosts,
            ..
        } = self;
        let Actions {
            redis,
            sql,
            http,
            patch,
            delete,
            evict,
        } = actions;
        let on = |ports: &BTreeSet<u16>, grant: fn(Protocol, u16) -> Grant, protocol| {
            ports
                .iter()
                .map(|port| grant(protocol, *port))
                .collect::<Vec<_>>()
        };
        owns.iter()
            .cloned()
            .map(Grant::Own)
            .chain(reads.iter().map(|read| Grant::Read(read.kind.clone())))
            .chain(on(&queries.redis, Grant::Query, Protocol::Redis))
            .chain(on(&queries.sql, Grant::Query, Protocol::Sql))
            .chain(on(&queries.http, Grant::Query, Protocol::Http))
            .chain(on(redis, Grant::Act, Protocol::Redis))
            .chain(on(sql, Grant::Act, Protocol::Sql))
            .chain(on(http, Grant::Act, Protocol::Http))
            .chain(patch.iter().cloned().map(Grant::Patch))
            .chain(delete.iter().cloned().map(Grant::Delete))
            .chain(evict.then_some(Grant::Evict))
            .chain(external_hosts.iter().cloned().map(Grant::Host))
            .collect()
    }

    /// What is said about `kind`, if this plugin serves it.
    pub fn serving(&self, kind: &Kind) -> Option<&Served> {
        self.serves.iter().find(|served| &served.kind == kind)
    }
}

fn wrong(field: impl Into<String>, why: impl Into<String>) -> BadDescription {
    BadDescription::Value {
        field: field.into(),
        why: why.into(),
    }
}

fn checked_resync(milliseconds: Option<u64>) -> Result<Duration, BadDescription> {
    let resync = milliseconds.map_or(DEFAULT_RESYNC, Duration::from_millis);
    if resync < SHORTEST_RESYNC {
        let why = format!("write at least {} ms", SHORTEST_RESYNC.as_millis());
        return Err(wrong("resync", why));
    }
    Ok(resync)
}

fn parse_crds(texts: &[String]) -> Result<Vec<CustomResourceDefinition>, BadDescription> {
    texts.iter().enumerate().map(parse_crd).collect()
}

/// Every served kind with its CRD.
fn served(
    kinds: Vec<RawServed>,
    crds: &[CustomResourceDefinition],
) -> Result<Vec<Served>, BadDescription> {
    if kinds.is_empty() {
        return Err(wrong("serves", "a plugin serves at least one kind"));
    }
    kinds
        .into_iter()
        .enumerate()
        .map(|(index, kind)| serve(index, kind, crds))
        .collect()
}

/// The CRDs that are not of a served kind; each is of a kind that is asked about.
fn carried(
    crds: Vec<CustomResourceDefinition>,
    serves: &[Served],
    reads: &[Read],
) -> Result<Vec<CustomResourceDefinition>, BadDescription> {
    let others = crds
        .into_iter()
        .filter(|crd| !serves.iter().any(|served| served.crd == *crd));
    let of_read = |crd: &CustomResourceDefinition| {
        let kinds = reads.iter().map(|read| &read.kind);
        let mut kinds =
            kinds.filter(|kind| kind.group == crd.spec.group && kind.kind == crd.spec.names.kind);
        kinds.any(|kind| offers(crd, &kind.version))
    };
    let checked = others.map(|crd| match of_read(&crd) {
        true => Ok(crd),
        false => {
            let name = crd.metadata.name.as_deref().unwrap_or("without a name");
            let why = format!("the CRD {name} belongs to no kind in serves or reads");
            Err(wrong("crds", why))
        }
    });
    checked.collect()
}

/// Whether objects of this version can be had.
fn offers(crd: &CustomResourceDefinition, version: &str) -> bool {
    let versions = crd.spec.versions.iter();
    versions
        .filter(|offered| offered.served)
        .any(|offered| offered.name == version)
}

fn parse_crd((index, text): (usize, &String)) -> Result<CustomResourceDefinition, BadDescription> {
    let value: Value = serde_saphyr::from_str(text)
        .map_err(|error| wrong(format!("crds[{index}]"), error.to_string()))?;
    serde_json::from_value(value)
        .map_err(|error| wrong(format!("crds[{index}]"), format!("not a CRD: {error}")))
}

fn serve(
    index: usize,
    raw: RawServed,
    crds: &[CustomResourceDefinition],
) -> Result<Served, BadDescription> {
    let RawServed {
        group,
        version,
        kind,
        finalizes,
    } = raw;
    let kind = Kind {
        group,
        version,
        kind,
    };
    let of_kind = |crd: &&CustomResourceDefinition| {
        crd.spec.group == kind.group && crd.spec.names.kind == kind.kind
    };
    let field = || format!("serves[{index}]");
    let crd = crds.iter().find(of_kind).ok_or_else(|| {
        wrong(
            field(),
            format!("crds holds no CRD for {}", kind.qualified()),
        )
    })?;
    if !offers(crd, &kind.version) {
        let why = format!("its CRD does not serve version {}", kind.version);
        return Err(wrong(field(), why));
    }
    Ok(Served {
        kind,
        finalizes,
        crd: crd.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const CRD: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: redis.redis.example.com}
spec:
  group: redis.example.com
  scope: Namespaced
  names: {kind: Redis, plural: redis}
  versions: [{name: v1, served: true, storage: true}]
";

    fn complete() -> Value {
        json!({
            "name": "redis", "version": "0.1.0", "purpose": "Redis",
            "serves": [{"group": "redis.example.com", "version": "v1", "kind": "Redis", "finalizes": true}],
            "crds": [CRD],
            "owns": ["apps/v1/StatefulSet"],
            "reads": [{"kind": "v1/Pod", "selector": "a=b"}],
            "queries": {"redis": [6379], "sql": [3306], "http": []},
            "actions": {"redis": [6379], "sql": [3306], "http": [], "patch": ["v1/Pod"], "delete": [], "evict": true},
            "externalHosts": ["s3.example.com:443"],
            "resync": 600_000,
            "configSchema": {},
        })
    }

    fn with(pointer: &str, value: Value) -> Result<Description, BadDescription> {
        let mut json = complete();
        *json.pointer_mut(pointer).expect(pointer) = value;
        Description::parse(&json.to_string())
    }

    #[test]
    fn a_complete_description_asks_for_what_it_lists() {
        let description = Description::parse(&complete().to_string()).unwrap();
        let asked: Vec<_> = description.asks().iter().map(ToString::to_string).collect();
        assert_eq!(
            asked,
            [
                "own:apps/v1/StatefulSet",
                "read:v1/Pod",
                "query:redis:6379",
                "query:sql:3306",
                "act:redis:6379",
                "act:sql:3306",
                "act:patch:v1/Pod",
                "act:evict",
                "host:s3.example.com:443",
            ]
        );
        assert!(
            description
                .serving(&Kind::new("redis.example.com/v1", "Redis"))
                .is_some()
        );
        assert!(
            description
                .serving(&Kind::new("redis.example.com/v2", "Redis"))
                .is_none()
        );
    }

    #[test]
    fn a_minimal_description_gets_the_defaults() {
        let mut json = complete();
        let fields = json.as_object_mut().unwrap();
        fields.retain(|field, _| ["name", "version", "serves", "crds"].contains(&field.as_str()));
        let description = Description::parse(&json.to_string()).unwrap();
        assert_eq!(description.resync, DEFAULT_RESYNC);
        assert_eq!(description.asks(), Grants::default());
    }

    #[test]
    fn a_wrong_description_is_refused_by_the_name_of_the_field() {
        for (name, result, hint) in [
            (
                "name is no DNS label",
                with("/name", json!("Redis!")),
                "name",
            ),
            (
                "version is not semantic",
                with("/version", json!("latest")),
                "unexpected character",
            ),
            ("nothing is served", with("/serves", json!([])), "serves"),
            ("a kind without CRD", with("/crds", json!([])), "serves[0]"),
            (
                "a CRD that is no YAML",
                with("/crds/0", json!("{")),
                "crds[0]",
            ),
            (
                "a CRD that is none",
                with("/crds/0", json!("kind: Pod")),
                "crds[0]",
            ),
            (
                "a version not served",
                with("/serves/0/version", json!("v2")),
                "serves[0]",
            ),
            (
                "a CRD too many",
                with("/crds", json!([CRD, CRD.replace("Redis", "Extra")])),
                "crds",
            ),
            (
                "a port that is none",
                with("/queries/redis/0", json!(70_000)),
                "70000",
            ),
            (
                "an unknown field",
                with("/queries", json!({"ldap": [1]})),
                "ldap",
            ),
            ("a resync too short", with("/resync", json!(1)), "resync"),
            (
                "an owned kind that is none",
                with("/owns/0", json!("Pod")),
                "VERSION/KIND",
            ),
        ] {
            let error = result.expect_err(name).to_string();
            assert!(error.contains(hint), "{name}: {error}");
        }
        assert!(Description::parse("garbage").is_err());
    }
}
