//! The two operators as processes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
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
    /// prometheus-operator, which finds the API server by its environment.
    pub(crate) fn upstream(program: &Path) -> Self {
        let arguments = [
            "--web.listen-address=127.0.0.1:0",
            "--prometheus-config-reloader=reloader",
            "--log-level=error",
        ]
        .map(OsString::from);
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
