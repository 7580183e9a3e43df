//! The MySQL cluster under test, and what is asked of it.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Pod as PodObject, Secret};
use k8s_openapi::api::events::v1::Event;
use kube::ResourceExt;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};
use windlass_e2e::host::{self, InUse};
use windlass_e2e::pod::is_ready;
use windlass_e2e::prelude::*;
use windlass_e2e::wait::Expectation;

use super::client::{Login, Session};

/// Three instances with small volumes.
pub(super) const SMALL: &str = include_str!("../../../manifests/mysql-cluster.yaml");

/// One of the two groups under which the kind is served.
pub(super) const GROUP: &str = "mysql.example.com";

pub(super) fn kind(group: &str) -> ApiResource {
    let kind = GroupVersionKind::gvk(group, "v1", "MySQLCluster");
    ApiResource::from_gvk_with_plural(&kind, "mysqlclusters")
}

/// One `MySQLCluster` of a scenario's namespace.
pub(super) struct Mysql<'a> {
    ns: &'a Namespace,
    kind: ApiResource,
    name: String,
    _host: Option<InUse>,
}

impl<'a> Mysql<'a> {
    /// Applies the small cluster and waits until all of it runs; nobody ends the host meanwhile.
    pub(super) async fn running(ns: &'a Namespace) -> Result<Self> {
        Self::running_as(ns, SMALL, 3).await
    }

    /// The same with another text, which has so many instances.
    pub(super) async fn running_as(
        ns: &'a Namespace,
        yaml: &str,
        instances: usize,
    ) -> Result<Self> {
        let mysql = Self::held(ns, GROUP, "shop").await;
        ns.apply(yaml).await?;
        mysql.settled("be complete", instances).await?;
        Ok(mysql)
    }

    /// A handle that keeps others from ending the host.
    pub(super) async fn held(ns: &'a Namespace, group: &str, name: &str) -> Self {
        Self {
            _host: Some(host::in_use().await),
            ..Self::of(ns, group, name)
        }
    }

    /// A handle on an object that need not exist yet.
    pub(super) fn of(ns: &'a Namespace, group: &str, name: &str) -> Self {
        Self {
            ns,
            kind: kind(group),
            name: name.to_owned(),
            _host: None,
        }
    }

    pub(super) fn ns(&self) -> &Namespace {
        self.ns
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn expect(&self) -> Expectation<DynamicObject> {
        self.ns.expect_dynamic(&self.kind, &self.name)
    }

    /// Waits until there are so many instances, one of them the primary, and status says that all is
    /// as it should be.
    pub(super) async fn settled(&self, what: &str, instances: usize) -> Result<DynamicObject> {
        let settled = self.expect().to(what, |mysql| {
            condition(mysql, "Ready") == Some("True")
                && condition(mysql, "Reconciled") == Some("True")
                && mysql.data["status"]["observedGeneration"].as_i64() == mysql.metadata.generation
                && mysql.data["status"]["readyReplicas"] == instances
        });
        settled.await?;
        eventually("status, labels and servers agree", async || {
            self.check_roles(instances).await
        })
        .await?;
        self.get().await
    }

    /// One Pod is labelled as primary, it is the one in status and alone takes writes, and all others follow it.
    async fn check_roles(&self, instances: usize) -> Result<()> {
        let primary = self.primary_name().await?;
        let pods = self.pods().await?;
        ensure!(pods.len() == instances, "there are {} Pods", pods.len());
        for pod in &pods {
            let name = pod.name_any();
            ensure!(is_ready(pod), "{name} is not ready");
            let role = pod.labels().get("role").map(String::as_str);
            let is_primary = name == primary;
            let wanted = if is_primary { "primary" } else { "replica" };
            ensure!(role == Some(wanted), "{name} is labelled {role:?}");
            let said = self
                .root(&self.ns.pod(&name), "SELECT @@super_read_only, @@read_only")
                .await?;
            let wanted = if is_primary { "0\t0" } else { "1\t1" };
            ensure!(said == wanted, "{name} says that read_only is {said:?}");
        }
        Ok(())
    }

    pub(super) async fn get(&self) -> Result<DynamicObject> {
        let api = self.ns.dynamic(&self.kind);
        let failure = || format!("failed to get the MySQLCluster {}", self.name);
        api.get(&self.name).await.with_context(failure)
    }

    /// Changes it as `kubectl patch --type merge` does.
    pub(super) async fn patch(&self, change: Value) -> Result<()> {
        let api = self.ns.dynamic(&self.kind);
        let parameters = PatchParams::default();
        api.patch(&self.name, &parameters, &Patch::Merge(&change))
            .await
            .with_context(|| format!("failed to patch {} with {change}", self.name))?;
        Ok(())
    }

    /// Annotates it as `kubectl annotate --overwrite` does.
    pub(super) async fn annotate(&self, annotation: &str, value: &str) -> Result<()> {
        self.patch(json!({"metadata": {"annotations": {annotation: value}}}))
            .await
    }

    pub(super) async fn delete(&self) -> Result<()> {
        let api = self.ns.dynamic(&self.kind);
        api.delete(&self.name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// The Pods with MySQL.
    pub(super) async fn pods(&self) -> Result<Vec<PodObject>> {
        let selector = format!(
            "app.kubernetes.io/instance={},app.kubernetes.io/component=database",
            self.name
        );
        let list = self.ns.api::<PodObject>();
        let parameters = ListParams::default().labels(&selector);
        Ok(list.list(&parameters).await?.items)
    }

    /// The primary's name, as status has it.
    pub(super) async fn primary_name(&self) -> Result<String> {
        let mysql = self.get().await?;
        let name = mysql.data["status"]["masterNode"].as_str();
        name.map(str::to_owned).context("status names no primary")
    }

    pub(super) async fn primary(&self) -> Result<Pod> {
        Ok(self.ns.pod(&self.primary_name().await?))
    }

    /// All instances but the primary, by number.
    pub(super) async fn replicas(&self) -> Result<Vec<Pod>> {
        let primary = self.primary_name().await?;
        let names = self.pods().await?.into_iter().map(|pod| pod.name_any());
        let mut names: Vec<String> = names.filter(|name| *name != primary).collect();
        names.sort();
        Ok(names.iter().map(|name| self.ns.pod(name)).collect())
    }

    pub(super) async fn epoch(&self) -> Result<i64> {
        let mysql = self.get().await?;
        let epoch = mysql.data["status"]["epoch"].as_i64();
        epoch.context("status has no epoch")
    }

    /// Waits until another primary than that of this epoch is chosen.
    pub(super) async fn replaced(&self, epoch: i64) -> Result<()> {
        self.expect()
            .to("have another primary", |mysql| {
                mysql.data["status"]["epoch"].as_i64() > Some(epoch)
            })
            .await
            .map(|_| ())
    }

    /// What the Events on the object say, oldest first: reason and text.
    pub(super) async fn events(&self) -> Result<Vec<(String, String)>> {
        let events = self.ns.api::<Event>();
        let mut list = events.list(&ListParams::default()).await?.items;
        list.sort_by_key(|event| (event.event_time.clone(), event.creation_timestamp()));
        let about = |event: &Event| {
            let regarding = event.regarding.as_ref();
            regarding.is_some_and(|object| {
                object.kind.as_deref() == Some("MySQLCluster")
                    && object.name.as_deref() == Some(&self.name)
            })
        };
        let told = list.into_iter().filter(about);
        Ok(told
            .map(|event| {
                (
                    event.reason.unwrap_or_default(),
                    event.note.unwrap_or_default(),
                )
            })
            .collect())
    }

    /// Waits until Events tell of all this: each a reason and a part of the text.
    pub(super) async fn told(&self, wanted: &[(&str, &str)]) -> Result<()> {
        eventually("Events tell what was found and done", async || {
            let told = self.events().await?;
            for (reason, part) in wanted {
                let is_it = |(told, text): &(String, String)| told == reason && text.contains(part);
                ensure!(
                    told.iter().any(is_it),
                    "no {reason} with {part:?} in {told:#?}"
                );
            }
            Ok(())
        })
        .await
    }

    /// What an application needs to log in, as the generated Secret has it; the host is the address of a Service.
    pub(super) async fn login(&self, service: &str) -> Result<Login> {
        let secret = format!("{}-app", self.name);
        let secret = self.ns.api::<Secret>().get(&secret).await?;
        let data = secret.data.unwrap_or_default();
        let service = format!("{}-{service}", self.name);
        Ok(Login {
            host: self.ns.service_address(&service).await?,
            user: text(&data, "username")?,
            password: text(&data, "password")?,
            database: text(&data, "database")?,
        })
    }

    /// A session at a Service.
    pub(super) async fn connect(&self, service: &str) -> Result<Session> {
        self.login(service).await?.connect().await
    }

    /// A session at one instance, as an application.
    pub(super) async fn connect_to(&self, pod: &Pod) -> Result<Session> {
        let host = pod.ip().await?.to_string();
        let login = self.login("primary").await?;
        Login { host, ..login }.connect().await
    }

    /// Runs statements as a person in a Pod does, and returns what is printed.
    pub(super) async fn root(&self, pod: &Pod, statements: &str) -> Result<String> {
        let client = [
            "mysql",
            "--defaults-file=/etc/windlass-access/root.cnf",
            "--batch",
            "--skip-column-names",
            "--execute",
            statements,
        ];
        pod.exec(&client).await
    }

    /// Runs a statement at the primary's Service, as soon as it works.
    pub(super) async fn write(&self, statement: &str) -> Result<()> {
        eventually("the primary takes a write", async || {
            self.connect("primary").await?.run(statement).await
        })
        .await
    }

    /// Waits until a query gives the same row everywhere, and returns it.
    pub(super) async fn same_everywhere(&self, query: &str) -> Result<String> {
        eventually(
            &format!("{query:?} gives the same everywhere"),
            async || {
                let mut answers = BTreeMap::new();
                for pod in self.pods().await? {
                    let pod = self.ns.pod(&pod.name_any());
                    let answer: String = self.connect_to(&pod).await?.row(query).await?;
                    answers.insert(pod.name().to_owned(), answer);
                }
                let first = answers.values().next().context("there is no Pod")?.clone();
                let differs = answers.values().any(|answer| *answer != first);
                ensure!(!differs, "it gives {answers:?}");
                Ok(first)
            },
        )
        .await
    }
}

/// The status of a condition.
pub(super) fn condition<'o>(object: &'o DynamicObject, type_: &str) -> Option<&'o str> {
    let conditions = object.data["status"]["conditions"].as_array()?;
    let found = conditions
        .iter()
        .find(|condition| condition["type"] == type_)?;
    found["status"].as_str()
}

fn text(data: &BTreeMap<String, ByteString>, key: &str) -> Result<String> {
    let value = data.get(key);
    let value = value.with_context(|| format!("the Secret has no {key}"))?;
    Ok(String::from_utf8(value.0.clone())?)
}
