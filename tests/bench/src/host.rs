//! A whole host in this process, with the API server of the benchmark and made-up databases.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use tokio::task::JoinSet;
use windlass::clock::SystemClock;
use windlass::cluster::Cluster;
use windlass::controllers::Plugged;
use windlass::entropy::SystemEntropy;
use windlass::lease::LeaseGuard;
use windlass::plugin::bindings::{Request, Step};
use windlass::plugin::compile::Compiler;
use windlass::plugin::configuration::{PluginSpec, Source};
use windlass::plugin::{CallError, Description, Loader, Operator, PluginResource};
use windlass::reconcile::Rooms;
use windlass::start::{Outside, assemble};

use crate::control_plane::{Writes, client};
use crate::servers::MadeUp;

/// Names the folder with the plugins' configuration, whose sources are files.
const PLUGINS: &str = "WINDLASS_BENCH_PLUGINS";

/// A host that runs until this is dropped.
pub struct Host {
    /// Its rooms.
    pub rooms: Rooms,
    /// What it wrote.
    pub writes: Writes,
    running: JoinSet<()>,
}

impl Host {
    /// Starts it with one plugin.
    ///
    /// # Errors
    /// When the API server is not reached.
    pub async fn start(plugged: Plugged) -> Result<Self> {
        let (client, writes) = client().await?;
        let outside = Outside {
            cluster: Cluster::new(client),
            databases: Arc::new(MadeUp::default()),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            lease: LeaseGuard::unshared(Arc::new(SystemClock)),
            namespace: "default".into(),
        };
        let assembled = assemble(outside, vec![plugged]).await?;
        let mut running = JoinSet::new();
        running.spawn(assembled.host.run(std::future::pending()));
        Ok(Self {
            rooms: assembled.rooms,
            writes,
            running,
        })
    }

    /// Runs no more rounds; what it knows of the cluster stays as it is.
    pub async fn rest(&mut self) {
        self.running.shutdown().await;
    }
}

/// The file with a plugin's configuration.
///
/// # Errors
/// When no plugins are named.
pub fn configuration(plugin: &str) -> Result<PathBuf> {
    let folder = std::env::var(PLUGINS)
        .with_context(|| format!("{PLUGINS} is not set: run this by `cargo xtask bench`"))?;
    Ok(Path::new(&folder).join(format!("{plugin}.yaml")))
}

/// What an administrator says about a plugin.
///
/// # Errors
/// When its configuration is not there.
pub fn spec_of(plugin: &str) -> Result<PluginSpec> {
    let path = configuration(plugin)?;
    let resource = PluginResource::read(&path)?
        .pop()
        .with_context(|| format!("there is no Plugin in {}", path.display()))?;
    Ok(resource.spec)
}

/// What an administrator says about the Redis plugin.
///
/// # Errors
/// When its configuration is not there.
pub fn redis_spec() -> Result<PluginSpec> {
    spec_of("redis")
}

/// The component of a plugin whose source is a file.
///
/// # Errors
/// When it is not there.
pub fn component_of(spec: &PluginSpec) -> Result<Vec<u8>> {
    let Source::File(path) = &spec.source else {
        bail!("the plugin's source is no file but {}", spec.source);
    };
    std::fs::read(path).with_context(|| format!("failed to read {}", path.display()))
}

/// Loads the component, compiled in this process into `cache`.
///
/// # Errors
/// When it is not there or is not loaded.
pub async fn component(spec: &PluginSpec, cache: &Path) -> Result<Arc<dyn Operator>> {
    let wasm = component_of(spec)?;
    Ok(Loader::new(cache, Compiler::Here)?
        .prepare("redis", spec, &wasm)
        .await?)
}

/// A plugin of whose objects those are known that it was asked about.
pub struct Watched {
    plugin: Arc<dyn Operator>,
    asked: Mutex<BTreeSet<String>>,
    plans: AtomicU64,
}

impl Watched {
    /// `plugin`, asked about nothing yet.
    pub fn new(plugin: Arc<dyn Operator>) -> Arc<Self> {
        Arc::new(Self {
            plugin,
            asked: Mutex::default(),
            plans: AtomicU64::default(),
        })
    }

    /// How many plans it made: one a round.
    pub fn plans(&self) -> u64 {
        self.plans.load(Ordering::Relaxed)
    }

    /// How many objects it planned for.
    pub fn objects(&self) -> usize {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }
}

#[async_trait]
impl Operator for Watched {
    fn name(&self) -> &str {
        self.plugin.name()
    }

    fn description(&self) -> &Description {
        self.plugin.description()
    }

    async fn reconcile(&self, request: &Request) -> Result<Step, CallError> {
        let step = self.plugin.reconcile(request).await?;
        if let Step::Plan(_) = step {
            self.plans.fetch_add(1, Ordering::Relaxed);
            let object: serde_json::Value =
                serde_json::from_str(&request.object).unwrap_or_default();
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            asked.insert(name.to_owned());
        }
        Ok(step)
    }

    async fn finalize(&self, request: &Request) -> Result<Step, CallError> {
        self.plugin.finalize(request).await
    }
}
