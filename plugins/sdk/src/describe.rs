//! What a plugin is and asks for.

use std::collections::BTreeMap;

use kube::Resource;
use serde::Serialize;
use serde_json::{Map, Value};

/// The answer of `describe`, whose form stands in `wit/README.md`. What it asks for is a request; what the
/// administrator grants is what holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    name: String,
    version: String,
    purpose: String,
    serves: Vec<Serves>,
    crds: Vec<&'static str>,
    owns: Vec<String>,
    reads: Vec<Reads>,
    queries: BTreeMap<&'static str, Vec<u16>>,
    actions: Actions,
    external_hosts: Vec<String>,
    resync: u64,
    config_schema: Value,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Serves {
    group: String,
    version: String,
    kind: String,
    finalizes: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Reads {
    kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    selector: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
struct Actions {
    redis: Vec<u16>,
    sql: Vec<u16>,
    http: Vec<u16>,
    patch: Vec<String>,
    delete: Vec<String>,
    evict: bool,
}

impl Description {
    /// A plugin that serves nothing yet. `name` is a DNS label, `version` a semantic version, `purpose` one line.
    #[must_use]
    pub fn new(name: &str, version: &str, purpose: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            purpose: purpose.to_owned(),
            serves: Vec::new(),
            crds: Vec::new(),
            owns: Vec::new(),
            reads: Vec::new(),
            queries: ["redis", "sql", "http"]
                .map(|protocol| (protocol, Vec::new()))
                .into(),
            actions: Actions::default(),
            external_hosts: Vec::new(),
            resync: 600_000,
            config_schema: Value::Object(Map::new()),
        }
    }

    /// A kind whose objects are reconciled, with its CRD as YAML text. `finalize` is called on deletion when the
    /// controller says so ([`crate::Controller::FINALIZES`]).
    #[must_use]
    pub fn serves<C: crate::Controller>(mut self, crd: &'static str) -> Self {
        self.serves.push(Serves {
            group: C::Object::group(&()).into_owned(),
            version: C::Object::version(&()).into_owned(),
            kind: C::Object::kind(&()).into_owned(),
            finalizes: C::FINALIZES,
        });
        self.crds.push(crd);
        self
    }

    /// The CRD, as YAML text, of a kind that is read and that comes with this plugin.
    #[must_use]
    pub fn carries(mut self, crd: &'static str) -> Self {
        self.crds.push(crd);
        self
    }

    /// A kind of children.
    #[must_use]
    pub fn owns<K: Resource<DynamicType = ()>>(mut self) -> Self {
        self.owns.push(kind::<K>());
        self
    }

    /// A kind that is asked about; the selector bounds what the host watches, an empty one does not.
    #[must_use]
    pub fn reads<K: Resource<DynamicType = ()>>(mut self, selector: &str) -> Self {
        self.reads.push(Reads {
            kind: kind::<K>(),
            selector: selector.to_owned(),
        });
        self
    }

    /// Redis servers are asked at this port and told what to do at it.
    #[must_use]
    pub fn drives_redis(mut self, port: u16) -> Self {
        self.queries.entry("redis").or_default().push(port);
        self.actions.redis.push(port);
        self
    }

    /// MySQL servers are asked at this port and told what to do at it.
    #[must_use]
    pub fn drives_sql(mut self, port: u16) -> Self {
        self.queries.entry("sql").or_default().push(port);
        self.actions.sql.push(port);
        self
    }

    /// HTTP servers in Pods are asked at this port.
    #[must_use]
    pub fn queries_http(mut self, port: u16) -> Self {
        self.queries.entry("http").or_default().push(port);
        self
    }

    /// HTTP servers in Pods are told what to do at this port.
    #[must_use]
    pub fn acts_on_http(mut self, port: u16) -> Self {
        self.actions.http.push(port);
        self
    }

    /// Objects of this kind are patched.
    #[must_use]
    pub fn patches<K: Resource<DynamicType = ()>>(mut self) -> Self {
        self.actions.patch.push(kind::<K>());
        self
    }

    /// Objects of this kind are deleted.
    #[must_use]
    pub fn deletes<K: Resource<DynamicType = ()>>(mut self) -> Self {
        self.actions.delete.push(kind::<K>());
        self
    }

    /// Pods are evicted.
    #[must_use]
    pub fn evicts(mut self) -> Self {
        self.actions.evict = true;
        self
    }

    /// A server outside the cluster that is asked over HTTP, as `NAME:PORT`.
    #[must_use]
    pub fn external_host(mut self, host: &str) -> Self {
        self.external_hosts.push(host.to_owned());
        self
    }

    /// The JSON schema of the plugin's configuration.
    #[must_use]
    pub fn config_schema(mut self, schema: Value) -> Self {
        self.config_schema = schema;
        self
    }

    /// The names of all grants that this description asks for, sorted as a request lists them.
    #[must_use]
    pub fn grants(&self) -> Vec<String> {
        let mut grants = Vec::new();
        grants.extend(self.owns.iter().map(|kind| format!("own:{kind}")));
        grants.extend(
            self.reads
                .iter()
                .map(|reads| format!("read:{}", reads.kind)),
        );
        for (protocol, ports) in &self.queries {
            grants.extend(ports.iter().map(|port| format!("query:{protocol}:{port}")));
        }
        let Actions {
            redis, sql, http, ..
        } = &self.actions;
        for (protocol, ports) in [("redis", redis), ("sql", sql), ("http", http)] {
            grants.extend(ports.iter().map(|port| format!("act:{protocol}:{port}")));
        }
        grants.extend(
            self.actions
                .patch
                .iter()
                .map(|kind| format!("act:patch:{kind}")),
        );
        grants.extend(
            self.actions
                .delete
                .iter()
                .map(|kind| format!("act:delete:{kind}")),
        );
        grants.extend(
            self.external_hosts
                .iter()
                .map(|host| format!("host:{host}")),
        );
        if self.actions.evict {
            grants.push("act:evict".to_owned());
        }
        grants.sort();
        grants
    }

    /// The description as it crosses to the host.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// `apps/v1/StatefulSet` or, in the core group, `v1/Pod`.
fn kind<K: Resource<DynamicType = ()>>() -> String {
    format!("{}/{}", K::api_version(&()), K::kind(&()))
}
