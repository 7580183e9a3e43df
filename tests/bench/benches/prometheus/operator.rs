//! The two operators as processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, SysconfVar, sysconf};
use tokio::process::{Child, Command};
use windlass_bench::control_plane::KUBECONFIG;
use windlass_bench::{host, memory};

/// One of the two.
pub(crate) struct Operator {
    name: &'static str,
    /// Part of what it calls itself in requests.
    agent: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
    /// What it keeps on disk.
    _cache: Option<tempfile::TempDir>,
}

/// One that runs.
pub(crate) struct Running(Child);

impl Operator {
    /// prometheus-operator.
    pub(crate) fn upstream(program: &Path) -> Self {
        let arguments = [
            format!("--kubeconfig={}", kubeconfig()),
            "--web.listen-address=127.0.0.1:0".into(),
            "--prometheus-config-reloader=reloader".into(),
            "--log-level=error".into(),
        ];
        Self {
            name: "prometheus-operator",
            agent: "PrometheusOperator",
            program: program.to_owned(),
            arguments: arguments.into(),
            _cache: None,
        }
    }

    /// This host, with the Prometheus plugin.
    ///
    /// # Errors
    /// When there is no room for its cache.
    pub(crate) fn windlass(program: &Path) -> Result<Self> {
        let cache = tempfile::tempdir()?;
        let plugins = std::env::var(host::PLUGINS).context(host::PLUGINS)?;
        let plugin = Path::new(&plugins).join("prometheus.yaml");
        let arguments = [
            "run".to_owned(),
            format!("--plugins={}", plugin.display()),
            format!("--cache={}", cache.path().join("cache").display()),
            "--namespace=default".into(),
            "--listen=127.0.0.1:0".into(),
            "--listen-explain=127.0.0.1:0".into(),
        ];
        Ok(Self {
            name: "windlass",
            agent: "windlass/",
            program: program.to_owned(),
            arguments: arguments.into(),
            _cache: Some(cache),
        })
    }

    pub(crate) fn name(&self) -> &str {
        self.name
    }

    pub(crate) fn agent(&self) -> &'static str {
        self.agent
    }

    pub(crate) fn start(&self) -> Result<Running> {
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .env("KUBECONFIG", kubeconfig())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("failed to start {}", self.program.display()))?;
        Ok(Running(child))
    }
}

impl Running {
    fn id(&self) -> Result<u32> {
        self.0.id().context("the operator ended")
    }

    /// Seconds of CPU that it used so far, in user and system mode (fields 14 and 15 of proc_pid_stat(5)).
    pub(crate) fn cpu(&self) -> Result<f64> {
        let path = format!("/proc/{}/stat", self.id()?);
        let text = fs::read_to_string(&path).with_context(|| format!("failed to read {path}"))?;
        // The second field, a name in parentheses, may hold anything.
        let after_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
        let ticks: u64 = after_name
            .split_whitespace()
            .skip(11)
            .take(2)
            .filter_map(|field| field.parse::<u64>().ok())
            .sum();
        let per_second = sysconf(SysconfVar::CLK_TCK)?.context("the clock has no ticks")?;
        Ok(ticks as f64 / per_second as f64)
    }

    /// Bytes that it has for itself.
    pub(crate) fn private(&self) -> Result<u64> {
        Ok(memory::of(self.id()?)?.private)
    }

    pub(crate) async fn stop(mut self) -> Result<()> {
        kill(Pid::from_raw(i32::try_from(self.id()?)?), Signal::SIGTERM)?;
        self.0.wait().await?;
        Ok(())
    }
}

fn kubeconfig() -> String {
    std::env::var(KUBECONFIG).unwrap_or_default()
}
