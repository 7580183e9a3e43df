//! The two operators as processes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use windlass_bench::control_plane::KUBECONFIG;
use windlass_bench::process::{Process, of_host};

/// One of the two.
pub(crate) struct Operator {
    name: &'static str,
    /// Part of what it calls itself in requests.
    agent: &'static str,
    program: PathBuf,
    arguments: Vec<OsString>,
    /// What it keeps on disk.
    _cache: Option<tempfile::TempDir>,
}

impl Operator {
    /// prometheus-operator.
    ///
    /// # Errors
    /// When no API server is named.
    pub(crate) fn upstream(program: &Path) -> Result<Self> {
        let kubeconfig = std::env::var(KUBECONFIG).context(KUBECONFIG)?;
        let arguments = [
            format!("--kubeconfig={kubeconfig}").into(),
            "--web.listen-address=127.0.0.1:0".into(),
            "--prometheus-config-reloader=reloader".into(),
            "--log-level=error".into(),
        ];
        Ok(Self {
            name: "prometheus-operator",
            agent: "PrometheusOperator",
            program: program.to_owned(),
            arguments: arguments.into(),
            _cache: None,
        })
    }

    /// This host, with the Prometheus plugin.
    ///
    /// # Errors
    /// When there is no room for its cache.
    pub(crate) fn windlass(program: &Path) -> Result<Self> {
        let cache = tempfile::tempdir()?;
        Ok(Self {
            name: "windlass",
            agent: "windlass/",
            program: program.to_owned(),
            arguments: of_host("prometheus", cache.path(), 0)?,
            _cache: Some(cache),
        })
    }

    pub(crate) fn name(&self) -> &str {
        self.name
    }

    pub(crate) fn agent(&self) -> &'static str {
        self.agent
    }

    pub(crate) fn start(&self) -> Result<Process> {
        Process::start(&self.program, &self.arguments)
    }
}
