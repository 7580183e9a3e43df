//! An operator that runs as a process.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, SysconfVar, sysconf};
use tokio::process::{Child, Command};

use crate::control_plane::KUBECONFIG;
use crate::host;
use crate::memory::{self, Memory};

/// It ends with this.
pub struct Process(Child);

impl Process {
    /// Starts it against the benchmark's API server.
    ///
    /// # Errors
    /// When there is no such program, or no API server is named.
    pub fn start(program: &Path, arguments: &[OsString]) -> Result<Self> {
        let child = Command::new(program)
            .args(arguments)
            .env("KUBECONFIG", std::env::var(KUBECONFIG)?)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("failed to start {}", program.display()))?;
        Ok(Self(child))
    }

    /// Whether it ended by itself.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn has_ended(&mut self) -> Result<bool> {
        Ok(self.0.try_wait()?.is_some())
    }

    /// Its memory.
    ///
    /// # Errors
    /// When it ended.
    pub fn memory(&self) -> Result<Memory> {
        memory::of(self.id()?)
    }

    /// Seconds of CPU that it used so far, in user and system mode (fields 14 and 15 of proc_pid_stat(5)).
    ///
    /// # Errors
    /// When it ended.
    pub fn cpu(&self) -> Result<f64> {
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

    /// Asks it to end, and waits.
    ///
    /// # Errors
    /// When it ended before.
    pub async fn stop(mut self) -> Result<()> {
        kill(Pid::from_raw(i32::try_from(self.id()?)?), Signal::SIGTERM)?;
        self.0.wait().await?;
        Ok(())
    }

    fn id(&self) -> Result<u32> {
        self.0.id().context("the operator ended")
    }
}

/// What a host is told that runs this plugin alone, keeps what it compiles in `cache` and listens at `port`.
///
/// # Errors
/// When no plugins are named.
pub fn of_host(plugin: &str, cache: &Path, port: u16) -> Result<Vec<OsString>> {
    Ok(vec![
        "run".into(),
        "--plugins".into(),
        host::configuration(plugin)?.into(),
        "--cache".into(),
        cache.join("cache").into(),
        "--namespace=default".into(),
        format!("--listen=127.0.0.1:{port}").into(),
        "--listen-explain=127.0.0.1:0".into(),
    ])
}
