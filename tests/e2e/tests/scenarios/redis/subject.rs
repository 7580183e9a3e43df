//! The Redis under test: the sample that the README applies, and what is asked of it.

use std::net::IpAddr;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Pod as PodObject, Secret};
use kube::ResourceExt;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, IntoConnectionInfo};
use serde_json::Value;
use windlass_e2e::host::{self, InUse};
use windlass_e2e::prelude::*;

/// The first file that a user has.
pub(super) const SAMPLE: &str = include_str!("../../../../../deploy/samples/redis.yaml");

/// A server that is silent for longer has not answered.
const ANSWER: Duration = Duration::from_secs(2);

/// The account of those who listen, and its password.
const LISTENER: &str = "listener";

pub(super) fn kind() -> ApiResource {
    let kind = GroupVersionKind::gvk("redis.example.com", "v1", "Redis");
    ApiResource::from_gvk_with_plural(&kind, "redis")
}

/// The object `my-redis` of a scenario's namespace.
pub(super) struct Redis<'a> {
    ns: &'a Namespace,
    _host: Option<InUse>,
}

impl<'a> Redis<'a> {
    pub(super) const NAME: &'static str = "my-redis";

    /// Applies the sample and waits until all of it runs; nobody ends the host meanwhile.
    pub(super) async fn running(ns: &'a Namespace) -> Result<Self> {
        Self::running_as(ns, SAMPLE).await
    }

    /// The same with another text than the sample's.
    pub(super) async fn running_as(ns: &'a Namespace, yaml: &str) -> Result<Self> {
        let redis = Self::held(ns).await;
        ns.apply(yaml).await?;
        redis.settled("be complete", 3).await?;
        Ok(redis)
    }

    /// A handle that keeps others from ending the host.
    pub(super) async fn held(ns: &'a Namespace) -> Self {
        Self {
            ns,
            _host: Some(host::in_use().await),
        }
    }

    /// A handle on an object that need not exist yet.
    pub(super) fn of(ns: &'a Namespace) -> Self {
        Self { ns, _host: None }
    }

    /// Waits until there are so many servers, one of them the primary, and status says that all is
    /// as it should be.
    pub(super) async fn settled(&self, what: &str, servers: usize) -> Result<DynamicObject> {
        self.expect().to(what, is_well).await?;
        eventually("every Pod is ready and has a role", async || {
            self.check_roles(servers).await
        })
        .await?;
        self.get().await
    }

    /// One Pod is labelled as primary, it is the one in status, and all others are its replicas.
    async fn check_roles(&self, servers: usize) -> Result<()> {
        let primary = self.primary_name().await?;
        let pods = self.pods().await?;
        ensure!(pods.len() == servers, "there are {} Pods", pods.len());
        for pod in &pods {
            let name = pod.name_any();
            ensure!(windlass_e2e::pod::is_ready(pod), "{name} is not ready");
            let role = pod.labels().get("role").map(String::as_str);
            let wanted = if name == primary { "master" } else { "replica" };
            ensure!(role == Some(wanted), "{name} is labelled {role:?}");
            let said = self.role_of(ip(pod)?).await?;
            let wanted = if name == primary { "master" } else { "slave" };
            ensure!(said == wanted, "{name} says that it is a {said}");
        }
        Ok(())
    }

    pub(super) fn expect(&self) -> windlass_e2e::wait::Expectation<DynamicObject> {
        self.ns.expect_dynamic(&kind(), Self::NAME)
    }

    pub(super) async fn get(&self) -> Result<DynamicObject> {
        let api = self.ns.dynamic(&kind());
        api.get(Self::NAME).await.context("failed to get the Redis")
    }

    /// Changes it as `kubectl patch --type merge` does.
    pub(super) async fn patch(&self, change: Value) -> Result<()> {
        let api = self.ns.dynamic(&kind());
        let parameters = kube::api::PatchParams::default();
        api.patch(Self::NAME, &parameters, &kube::api::Patch::Merge(&change))
            .await
            .with_context(|| format!("failed to patch the Redis with {change}"))?;
        Ok(())
    }

    pub(super) async fn delete(&self) -> Result<()> {
        let api = self.ns.dynamic(&kind());
        api.delete(Self::NAME, &kube::api::DeleteParams::default())
            .await?;
        Ok(())
    }

    pub(super) async fn pods(&self) -> Result<Vec<PodObject>> {
        let selector = format!("app.kubernetes.io/instance={}", Self::NAME);
        let list = self.ns.api::<PodObject>();
        Ok(list
            .list(&ListParams::default().labels(&selector))
            .await?
            .items)
    }

    /// The primary, as status has it.
    pub(super) async fn primary_name(&self) -> Result<String> {
        let redis = self.get().await?;
        let name = redis.data["status"]["primary"]["pod"].as_str();
        name.map(str::to_owned).context("status names no primary")
    }

    pub(super) async fn primary(&self) -> Result<Pod> {
        Ok(self.ns.pod(&self.primary_name().await?))
    }

    pub(super) async fn replicas(&self) -> Result<Vec<Pod>> {
        let primary = self.primary_name().await?;
        let names = self.pods().await?.into_iter().map(|pod| pod.name_any());
        Ok(names
            .filter(|name| *name != primary)
            .map(|name| self.ns.pod(&name))
            .collect())
    }

    pub(super) async fn epoch(&self) -> Result<i64> {
        let redis = self.get().await?;
        redis.data["status"]["epoch"]
            .as_i64()
            .context("status has no epoch")
    }

    /// The reasons of all Events on the object, oldest first.
    pub(super) async fn events(&self) -> Result<Vec<String>> {
        let events = self.ns.api::<k8s_openapi::api::events::v1::Event>();
        let mut list = events.list(&ListParams::default()).await?.items;
        list.sort_by_key(|event| (event.event_time.clone(), event.creation_timestamp()));
        let about = |event: &k8s_openapi::api::events::v1::Event| {
            let regarding = event.regarding.as_ref();
            regarding.is_some_and(|object| object.kind.as_deref() == Some("Redis"))
        };
        Ok(list
            .into_iter()
            .filter(about)
            .filter_map(|event| event.reason)
            .collect())
    }

    /// The password that a user's client takes from the generated Secret.
    pub(super) async fn password(&self) -> Result<String> {
        self.password_of("password").await
    }

    async fn password_of(&self, key: &str) -> Result<String> {
        let secret = self
            .ns
            .api::<Secret>()
            .get(&format!("{}-auth", Self::NAME))
            .await?;
        let value = secret.data.and_then(|mut data| data.remove(key));
        let value = value.with_context(|| format!("the Secret has no {key}"))?;
        Ok(String::from_utf8(value.0)?)
    }

    /// A connection to a Service of this Redis.
    pub(super) async fn connect_to(&self, service: &str) -> Result<MultiplexedConnection> {
        let (address, password) = self.address_and_password(service).await?;
        connect(&address, &password).await
    }

    /// What a client of a Service needs.
    pub(super) async fn address_and_password(&self, service: &str) -> Result<(String, String)> {
        let service = format!("{}-{service}", Self::NAME);
        let address = self.ns.service_address(&service).await?;
        Ok((address, self.password().await?))
    }

    async fn connect(&self, host: &str) -> Result<MultiplexedConnection> {
        connect(host, &self.password().await?).await
    }

    async fn role_of(&self, host: IpAddr) -> Result<String> {
        let mut connection = self.connect(&host.to_string()).await?;
        let info: String = redis::cmd("INFO")
            .arg("replication")
            .query_async(&mut connection)
            .await?;
        let role = info.lines().find_map(|line| line.strip_prefix("role:"));
        Ok(role.unwrap_or_default().trim().to_owned())
    }

    /// A client of each server that is ready, which may do nothing but listen: no account that there is may do that, but
    /// the operator's makes one.
    pub(super) async fn listeners(&self) -> Result<Vec<redis::Client>> {
        let password = self.password_of("operator").await?;
        let pods = self.pods().await?;
        let mut clients = Vec::new();
        for pod in pods.iter().filter(|pod| windlass_e2e::pod::is_ready(pod)) {
            let host = ip(pod)?.to_string();
            let mut operator = client_as(&host, "operator", &password)?
                .get_multiplexed_async_connection()
                .await?;
            let mut make = redis::cmd("ACL");
            make.arg("SETUSER").arg(LISTENER).arg("on");
            make.arg(format!(">{LISTENER}")).arg("+monitor");
            make.query_async::<()>(&mut operator).await?;
            clients.push(client_as(&host, LISTENER, LISTENER)?);
        }
        Ok(clients)
    }

    /// A setting as the server in a Pod has it.
    pub(super) async fn config_of(&self, pod: &Pod, name: &str) -> Result<String> {
        let mut connection = self.connect(&pod.ip().await?.to_string()).await?;
        let found: std::collections::BTreeMap<String, String> = redis::cmd("CONFIG")
            .arg("GET")
            .arg(name)
            .query_async(&mut connection)
            .await?;
        found.get(name).cloned().context("there is no such setting")
    }

    pub(super) async fn set(&self, key: &str, value: &str) -> Result<()> {
        eventually("the primary takes a write", async || {
            let mut connection = self.connect_to("master").await?;
            Ok(connection.set::<_, _, ()>(key, value).await?)
        })
        .await
    }

    /// Reads a key through a Service, as soon as it is there.
    pub(super) async fn expect_value(&self, service: &str, key: &str, value: &str) -> Result<()> {
        eventually(&format!("{service} gives {key} = {value}"), async || {
            let mut connection = self.connect_to(service).await?;
            let found: Option<String> = connection.get(key).await?;
            ensure!(found.as_deref() == Some(value), "it gives {found:?}");
            Ok(())
        })
        .await
    }
}

/// Connects as the user that the password belongs to.
pub(super) async fn connect(host: &str, password: &str) -> Result<MultiplexedConnection> {
    let client = client(
        host,
        redis::RedisConnectionInfo::default().set_password(password),
    )?;
    let config = redis::AsyncConnectionConfig::new()
        .set_connection_timeout(Some(ANSWER))
        .set_response_timeout(Some(ANSWER));
    Ok(client
        .get_multiplexed_async_connection_with_config(&config)
        .await?)
}

fn client_as(host: &str, user: &str, password: &str) -> Result<redis::Client> {
    let login = redis::RedisConnectionInfo::default()
        .set_username(user)
        .set_password(password);
    client(host, login)
}

fn client(host: &str, login: redis::RedisConnectionInfo) -> Result<redis::Client> {
    let information = (host, 6379)
        .into_connection_info()?
        .set_redis_settings(login);
    Ok(redis::Client::open(information)?)
}

/// Whether status says that all is as the spec wants it.
pub(super) fn is_well(redis: &DynamicObject) -> bool {
    condition(redis, "Ready") == Some("True")
        && condition(redis, "Reconciled") == Some("True")
        && redis.data["status"]["observedGeneration"].as_i64() == redis.metadata.generation
}

/// The status of a condition.
pub(super) fn condition<'o>(object: &'o DynamicObject, type_: &str) -> Option<&'o str> {
    let conditions = object.data["status"]["conditions"].as_array()?;
    let found = conditions
        .iter()
        .find(|condition| condition["type"] == type_)?;
    found["status"].as_str()
}

fn ip(pod: &PodObject) -> Result<IpAddr> {
    let status = pod.status.as_ref();
    let ip = status.and_then(|status| status.pod_ip.as_deref());
    Ok(ip.context("the Pod has no address")?.parse()?)
}
