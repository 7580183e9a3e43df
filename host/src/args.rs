//! The command line. Each subcommand is one function elsewhere.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::author::args::{BuildArgs, CheckArgs, InspectArgs, NewArgs};
use crate::backup::BackupArgs;
use crate::oci::tool::{PullArgs, PushArgs};

/// A Kubernetes operator host: what one application needs to know lives in a sandboxed plugin.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, about)]
pub struct Arguments {
    /// What to log: `info`, `debug`, `windlass::apply=trace`, …
    #[arg(long, global = true, env = "WINDLASS_LOG")]
    pub log: Option<String>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the operators whose plugins are configured.
    Run(RunArgs),
    /// Print the CustomResourceDefinitions that the configured plugins carry.
    Crds(PluginArgs),
    /// Print the roles that the host needs for what the configured plugins are granted.
    Rbac(RbacArgs),
    /// Show what the last rounds of an object saw, decided and did.
    Explain(ExplainArgs),
    /// Keep copies of files in S3-compatible storage or a mounted folder: what backup Jobs run.
    Backup(BackupArgs),
    /// Bring a server beside this container to the configuration that is mounted, whenever it changes.
    ReloadConfig(ReloadConfigArgs),
    /// Begin, build, check, inspect, push and pull plugins.
    Plugin(PluginToolArgs),
    /// Compile a component; the host runs this in a child process of its own.
    #[command(name = crate::plugin::compile::SUBCOMMAND, hide = true)]
    CompileComponent {
        /// The component.
        input: PathBuf,
        /// What it is compiled to.
        output: PathBuf,
    },
}

/// `windlass plugin`.
#[derive(Debug, Args)]
pub struct PluginToolArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PluginTool,
}

/// What to do with a plugin.
#[derive(Debug, Subcommand)]
pub enum PluginTool {
    /// Begin a plugin: a project that builds, is tested and runs as it is.
    New(NewArgs),
    /// Build the project's component and check it.
    Build(BuildArgs),
    /// Find everything that would fail in a host, before it does.
    Check(CheckArgs),
    /// Show what a plugin is, what it asks for and what granting it means.
    Inspect(InspectArgs),
    /// Push a component to a registry or an OCI layout.
    Push(PushArgs),
    /// Pull a component from a registry or an OCI layout.
    Pull(PullArgs),
    /// Compile components ahead, for a host's image.
    Compile {
        /// The folder that the machine code goes to; made if absent.
        #[arg(long)]
        into: PathBuf,
        /// Their files.
        components: Vec<PathBuf>,
    },
}

/// Which plugins.
#[derive(Debug, Args)]
pub struct PluginArgs {
    /// A YAML file of `Plugin` documents, or a folder of such files.
    #[arg(long, env = "WINDLASS_PLUGINS")]
    pub plugins: PathBuf,
    /// Where plugins are kept, fetched and compiled; made if absent, and nobody else may write to it.
    #[arg(long, env = "WINDLASS_CACHE", default_value = "/var/cache/windlass")]
    pub cache: PathBuf,
}

/// `windlass run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Run the plugins of this YAML file, or of all such files of a folder, instead of those that are installed in the
    /// cluster as `Plugin` resources.
    #[arg(long, env = "WINDLASS_PLUGINS")]
    pub plugins: Option<PathBuf>,
    /// Where plugins are kept, fetched and compiled; made if absent, and nobody else may write to it.
    #[arg(long, env = "WINDLASS_CACHE", default_value = "/var/cache/windlass")]
    pub cache: PathBuf,
    /// Where compiled plugins came with the host, as `windlass plugin compile` makes them; nobody but root may write
    /// to it.
    #[arg(long, env = "WINDLASS_COMPILED")]
    pub compiled: Option<PathBuf>,
    /// The host's own namespace: its lease and the key of its digests live there.
    #[arg(long, env = "POD_NAMESPACE", default_value = "windlass-system")]
    pub namespace: String,
    /// The host's own name, unique among hosts; a random suffix is added.
    #[arg(long, env = "POD_NAME", default_value = "windlass")]
    pub identity: String,
    /// How long the lease lasts without renewal: another host takes over after it, and this one stops at two
    /// thirds of it. In seconds, at least 3.
    #[arg(long, default_value = "15", value_parser = seconds)]
    pub lease_duration: Duration,
    /// Where /metrics, /healthz and /readyz are served.
    #[arg(long, default_value = "0.0.0.0:8080")]
    pub listen: SocketAddr,
    /// Where `windlass explain` asks: on loopback, since it tells about all objects.
    #[arg(long, default_value = "127.0.0.1:8081")]
    pub listen_explain: SocketAddr,
}

/// `windlass rbac`.
#[derive(Debug, Args)]
pub struct RbacArgs {
    /// Which plugins.
    #[command(flatten)]
    pub plugins: PluginArgs,
    /// The namespace of the host's ServiceAccount.
    #[arg(long, default_value = "windlass-system")]
    pub namespace: String,
    /// Its name.
    #[arg(long, default_value = "windlass")]
    pub service_account: String,
}

/// `windlass reload-config`.
#[derive(Debug, Args)]
pub struct ReloadConfigArgs {
    /// The folder that the configuration is mounted at.
    #[arg(long, default_value = "/etc/prometheus/config")]
    pub config: PathBuf,
    /// The file in it, packed by gzip or not.
    #[arg(long, default_value = "prometheus.yaml.gz")]
    pub file: PathBuf,
    /// Where the server reads it, with $(POD_NAME) and $(SHARD) filled in from the environment.
    #[arg(long, default_value = "/etc/prometheus/config_out/prometheus.env.yaml")]
    pub output: PathBuf,
    /// A further folder of which a change makes the server read its configuration again; may be repeated.
    #[arg(long)]
    pub watch: Vec<PathBuf>,
    /// What is posted to for the server to read it.
    #[arg(long)]
    pub reload_url: Option<String>,
    /// Where /status says what the server runs.
    #[arg(long, default_value = "0.0.0.0:8080")]
    pub listen: SocketAddr,
    /// Write the file and end.
    #[arg(long)]
    pub once: bool,
}

/// `windlass explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// KIND/NAME, such as `redis/my-redis`.
    pub object: String,
    /// Its namespace.
    #[arg(long, short, default_value = "default")]
    pub namespace: String,
    /// The host's namespace, where its lease tells which Pod acts.
    #[arg(long, default_value = "windlass-system")]
    pub host_namespace: String,
    /// Ask a host that listens here instead of the acting Pod.
    #[arg(long)]
    pub address: Option<SocketAddr>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: u64 = text
        .parse()
        .map_err(|_| format!("\"{text}\" is not a number of seconds"))?;
    match seconds {
        3..=3600 => Ok(Duration::from_secs(seconds)),
        _ => Err("a lease lasts from 3 to 3600 seconds".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_lease_too_short_to_be_renewed_is_refused() {
        assert!(seconds("2").is_err());
        assert!(seconds("15s").is_err());
        assert_eq!(seconds("15"), Ok(Duration::from_secs(15)));
    }
}
