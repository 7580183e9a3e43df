//! From the command line to a running host: loads plugins and puts the rooms together.

use std::collections::BTreeSet;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use http::HeaderValue;
use http::header::USER_AGENT;
use tokio::sync::watch;

use crate::actions::Actions;
use crate::apply::Applier;
use crate::args::{PluginArgs, RbacArgs, RunArgs};
use crate::cache::Cache;
use crate::clock::{SharedClock, SystemClock};
use crate::cluster::Cluster;
use crate::controllers::Plugged;
use crate::endpoints::{self, Told};
use crate::entropy::{SharedEntropy, SystemEntropy};
use crate::events::Recorder;
use crate::explain::History;
use crate::install::{Acquirer, Installer};
use crate::lease::{LeaseGuard, LeaseKeeper, LeaseSettings};
use crate::metrics::Metrics;
use crate::oci::evict;
use crate::plugin::compile::Compiler;
use crate::plugin::{Loader, Operator, Plugin, PluginResource};
use crate::query::{Databases, Network, Queries};
use crate::reconcile::Rooms;
use crate::run::Host;
use crate::secrets::Secrets;
use crate::status::StatusWriter;
use crate::stop::{self, stopped};
use crate::target::Targets;
use crate::watch::{Index, Watchers};
use crate::{crds, gate, rbac, tls};

/// The Lease that all hosts of one installation share.
pub const LEASE: &str = "windlass";
/// The user agent of every request.
const AGENT: &str = concat!("windlass/", env!("CARGO_PKG_VERSION"));

/// `windlass run`: runs until asked to stop.
///
/// # Errors
/// When the cluster is not reached, no plugin can be loaded, or an address cannot be listened on.
pub async fn run(arguments: RunArgs) -> anyhow::Result<()> {
    let cluster = connect().await?;
    let store = Store::open(&arguments.cache)?;
    let loader = match &arguments.compiled {
        Some(folder) => store.loader.with_shipped(folder),
        None => store.loader,
    };
    let acquirer = store
        .acquirer
        .with_pull_secrets(cluster.clone(), arguments.namespace.clone());
    let fixed = match &arguments.plugins {
        Some(path) => load(path, &acquirer, &loader).await?,
        None => Vec::new(),
    };
    let clock: SharedClock = Arc::new(SystemClock);
    let entropy: SharedEntropy = Arc::new(SystemEntropy);
    let settings = lease_settings(&arguments, &entropy);
    let (keeper, lease) = LeaseKeeper::new(cluster.clone(), clock.clone(), settings);
    let outside = Outside {
        cluster,
        databases: Arc::new(Network::default()),
        clock,
        entropy,
        lease: lease.clone(),
        namespace: arguments.namespace.clone(),
    };
    let assembled = assemble(outside, fixed).await?;
    let controllers = assembled.host.controllers();
    let installer = match &arguments.plugins {
        Some(_) => None,
        None => Some(Installer::new(
            assembled.rooms,
            controllers,
            acquirer,
            loader,
        )),
    };
    let stop = stop::signals()?;
    let mut told = assembled.told.clone();
    if let Some(installer) = &installer {
        told.installed = installer.settled();
    }
    let metrics = endpoints::serve(arguments.listen, told.clone(), stopped(stop.clone()));
    let explain = endpoints::serve_explain(arguments.listen_explain, told, stopped(stop.clone()));
    // The lease is given back only after the last round ended.
    let (rounds_over, over) = watch::channel(false);
    let installed = async {
        if let Some(installer) = installer {
            installer.run(stopped(stop.clone())).await;
        }
        Ok(())
    };
    let rounds = async {
        assembled.host.run(stopped(stop.clone())).await;
        let _ = rounds_over.send(true);
        Ok(())
    };
    let kept = async {
        keeper.run(stopped(over)).await;
        Ok(())
    };
    tokio::try_join!(metrics, explain, installed, rounds, kept).map(drop)
}

/// What stands outside the host, each entering at one place: a test or the simulator puts its own here.
pub struct Outside {
    /// The API server.
    pub cluster: Cluster,
    /// The databases.
    pub databases: Arc<dyn Databases>,
    /// Time.
    pub clock: SharedClock,
    /// Chance.
    pub entropy: SharedEntropy,
    /// Whether this host may act.
    pub lease: LeaseGuard,
    /// The host's own namespace.
    pub namespace: String,
}

/// A host that is ready to run, and what its endpoints tell about.
pub struct Assembled {
    /// The host.
    pub host: Host,
    /// What is told about it.
    pub told: Told,
    /// The rooms that its rounds pass through.
    pub rooms: Rooms,
}

/// Puts the rooms together and begins to watch.
///
/// # Errors
/// When two plugins serve one kind, or a description bounds a kind by something that is no label selector.
pub async fn assemble(outside: Outside, plugins: Vec<Plugged>) -> anyhow::Result<Assembled> {
    let Outside {
        cluster,
        databases,
        clock,
        entropy,
        lease,
        namespace,
    } = outside;
    let metrics = Metrics::default();
    let writes = metrics.writes.clone();
    let cluster = Cluster::new(gate::writes_under(lease.clone(), writes, cluster.client()));
    let (cache, changes) = Cache::new();
    let watchers = Watchers::new(cluster.clone(), cache.clone());
    let secrets = Arc::new(Secrets::new(
        cluster.clone(),
        cache.clone(),
        entropy.clone(),
        namespace,
    ));
    let queries = Arc::new(Queries::new(
        databases.clone(),
        Targets::new(cache.clone()),
        secrets.clone(),
        clock.clone(),
    ));
    let actions = Actions::new(
        cluster.clone(),
        cache.clone(),
        databases,
        queries.clone(),
        secrets.clone(),
    );
    let rooms = Rooms {
        index: Index::default(),
        states: watchers.states(),
        queries,
        applier: Applier::new(
            cluster.clone(),
            secrets.clone(),
            cache.clone(),
            entropy.clone(),
        ),
        status: StatusWriter::new(cluster.clone(), cache.clone()),
        actions: Arc::new(actions),
        recorder: Recorder::new(
            cluster.clone(),
            cache.clone(),
            secrets.clone(),
            clock.clone(),
        ),
        history: History::default(),
        metrics,
        cluster,
        cache,
        secrets,
        clock,
        entropy,
        lease,
    };
    let told = Told {
        metrics: rooms.metrics.clone(),
        states: rooms.states.clone(),
        lease: rooms.lease.clone(),
        history: rooms.history.clone(),
        installed: watch::channel(true).1,
    };
    let host = Host::new(rooms.clone(), changes, watchers);
    let controllers = host.controllers();
    for plugged in plugins {
        let name = plugged.plugin.name().to_owned();
        let served = controllers.serve(plugged).await;
        served.with_context(|| format!("failed to serve the plugin {name}"))?;
    }
    Ok(Assembled { host, told, rooms })
}

/// `windlass crds`.
///
/// # Errors
/// When a plugin cannot be loaded, or two carry different CRDs under one name.
pub async fn print_crds(arguments: &PluginArgs) -> anyhow::Result<()> {
    let plugins = load_alone(arguments).await?;
    let descriptions = plugins.iter().map(|plugged| plugged.plugin.description());
    print!("{}", crds::yaml(descriptions)?);
    Ok(())
}

/// `windlass rbac`.
///
/// # Errors
/// When a plugin cannot be loaded.
pub async fn print_rbac(arguments: &RbacArgs) -> anyhow::Result<()> {
    let plugins = load_alone(&arguments.plugins).await?;
    let granted: Vec<_> = plugins
        .iter()
        .map(|Plugged { plugin, spec }| rbac::Granted {
            name: plugin.name(),
            description: plugin.description(),
            grants: &spec.grants,
            namespaces: &spec.namespaces,
        })
        .collect();
    let account = rbac::Account {
        namespace: &arguments.namespace,
        name: &arguments.service_account,
    };
    print!("{}", rbac::yaml(&granted, account)?);
    Ok(())
}

/// `windlass plugin compile`.
///
/// # Errors
/// When a file cannot be read or compiled.
pub async fn compile(into: &Path, components: &[PathBuf]) -> anyhow::Result<()> {
    let compiler = Compiler::this_program().context("failed to find this program's own file")?;
    make_for_others(into).with_context(|| format!("failed to make {}", into.display()))?;
    let loader = Loader::new(into, compiler)?;
    let mut made = BTreeSet::new();
    for path in components {
        let named = || format!("failed to compile {}", path.display());
        let wasm = std::fs::read(path).with_context(named)?;
        made.insert(loader.compile(&wasm).await.with_context(named)?);
    }
    // What an earlier image had.
    evict(into, 0, |name| made.contains(name)).context("failed to clear the folder")
}

/// A folder that goes into an image, where the host that reads it is another user.
fn make_for_others(folder: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o755).create(folder)
}

/// What of plugins is kept on disk, and who uses it.
struct Store {
    acquirer: Acquirer,
    loader: Loader,
}

impl Store {
    fn open(cache: &Path) -> anyhow::Result<Self> {
        let named = || format!("failed to use the cache {}", cache.display());
        std::fs::create_dir_all(cache).with_context(named)?;
        let compiler =
            Compiler::this_program().context("failed to find this program's own file")?;
        Ok(Self {
            acquirer: Acquirer::new(cache).with_context(named)?,
            loader: Loader::new(&cache.join("compiled"), compiler)?,
        })
    }
}

/// Loads what `arguments` name, without a cluster: registries are asked by the person who is logged in to them.
async fn load_alone(arguments: &PluginArgs) -> anyhow::Result<Vec<Plugged>> {
    let Store { acquirer, loader } = Store::open(&arguments.cache)?;
    load(&arguments.plugins, &acquirer.with_own_logins(), &loader).await
}

/// Loads all plugins of a file or folder. One that cannot be loaded is told about and left out; the others run.
async fn load(path: &Path, acquirer: &Acquirer, loader: &Loader) -> anyhow::Result<Vec<Plugged>> {
    let mut loaded = Vec::new();
    for resource in configured(path)? {
        match load_one(&resource, acquirer, loader).await {
            Ok(plugin) => loaded.push(plugged(plugin, resource)),
            Err(error) => {
                let plugin = resource.metadata.name;
                tracing::error!(
                    plugin,
                    error = format!("{error:#}"),
                    "failed to load the plugin"
                );
            }
        }
    }
    if loaded.is_empty() {
        bail!(
            "none of the plugins in {} could be loaded; where this machine cannot reach their source, name the component \
             as source: {{file: …}}",
            path.display()
        );
    }
    Ok(loaded)
}

async fn load_one(
    PluginResource { metadata, spec, .. }: &PluginResource,
    acquirer: &Acquirer,
    loader: &Loader,
) -> anyhow::Result<Arc<Plugin>> {
    let acquired = acquirer.acquire(spec, None).await?;
    Ok(loader
        .prepare(&metadata.name, spec, &acquired.component)
        .await?)
}

fn plugged(plugin: Arc<Plugin>, resource: PluginResource) -> Plugged {
    let asks = plugin.description().asks();
    let missing = resource.spec.grants.missing(&asks);
    if !missing.is_empty() {
        let missing: Vec<_> = missing.iter().map(ToString::to_string).collect();
        tracing::warn!(
            plugin = plugin.name(),
            ?missing,
            "the plugin asks for more than it is granted"
        );
    }
    tracing::info!(plugin = plugin.name(), version = %plugin.description().version, "plugin loaded");
    Plugged {
        plugin,
        spec: resource.spec,
    }
}

/// The plugins of one file, or of all YAML files of a folder, by name.
fn configured(path: &Path) -> anyhow::Result<Vec<PluginResource>> {
    let mut resources = Vec::new();
    for file in files(path)? {
        resources.extend(PluginResource::read(&file)?);
    }
    if resources.is_empty() {
        bail!(
            "there is no Plugin in {}: put a YAML file with one there",
            path.display()
        );
    }
    Ok(resources)
}

fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let folder = std::fs::read_dir(path)
        .with_context(|| format!("failed to read the folder {}", path.display()))?;
    let mut files = folder
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    files.retain(|file| is_of_plugins(file));
    files.sort();
    Ok(files)
}

/// A folder for kubectl has a file of its own beside those with Plugins.
fn is_of_plugins(file: &Path) -> bool {
    let is_yaml = file
        .extension()
        .is_some_and(|extension| extension == "yaml");
    is_yaml && !file.ends_with("kustomization.yaml")
}

async fn connect() -> anyhow::Result<Cluster> {
    tls::choose_cryptography();
    let mut config = kube::Config::infer().await.context(
        "failed to find a cluster: set KUBECONFIG, or run in a Pod with a ServiceAccount",
    )?;
    // How the API server's audit log tells the host from others.
    config
        .headers
        .push((USER_AGENT, HeaderValue::from_static(AGENT)));
    let client = kube::Client::try_from(config).context("failed to use the cluster's address")?;
    Ok(Cluster::new(client))
}

fn lease_settings(arguments: &RunArgs, entropy: &SharedEntropy) -> LeaseSettings {
    let mut suffix = [0; 4];
    entropy.fill(&mut suffix);
    LeaseSettings {
        namespace: arguments.namespace.clone(),
        name: LEASE.into(),
        identity: format!("{}_{:08x}", arguments.identity, u32::from_be_bytes(suffix)),
        duration: arguments.lease_duration,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_for_an_image_is_readable_by_all_and_writable_by_its_maker() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("plugins/compiled");
        make_for_others(&folder).unwrap();
        make_for_others(&folder).unwrap();
        let mode = std::fs::metadata(&folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
    }

    #[test]
    fn the_plugins_of_an_installation_are_read_from_their_folder() {
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/plugins");
        let resources = configured(&shipped).unwrap();
        let names: Vec<_> = resources
            .iter()
            .map(|resource| resource.metadata.name.as_str())
            .collect();
        assert_eq!(names, ["mysql", "prometheus", "redis"]);
    }
}
