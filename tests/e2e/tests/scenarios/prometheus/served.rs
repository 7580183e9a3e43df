//! What one Prometheus server says by its own HTTP API.

use std::collections::BTreeSet;

use serde_json::Value;
use windlass_e2e::prelude::*;

/// A Pod that serves Prometheus' API.
pub(super) struct Server {
    pub(super) pod: Pod,
}

/// One target, as `/api/v1/targets` has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) health: String,
    pub(super) error: String,
    pub(super) labels: Value,
}

impl Server {
    pub(super) async fn ask(&self, path: &str) -> Result<Value> {
        let text = self.pod.http_get(9090, &format!("/api/v1/{path}")).await?;
        let answer: Value = serde_json::from_str(&text)
            .with_context(|| format!("{} answers {path} with {text:?}", self.pod.name()))?;
        Ok(answer["data"].clone())
    }

    /// The configuration that it runs, as text.
    pub(super) async fn configuration(&self) -> Result<String> {
        let data = self.ask("status/config").await?;
        let text = data["yaml"].as_str();
        Ok(text.context("it tells no configuration")?.to_owned())
    }

    /// Fails unless Prometheus' own tool accepts the configuration in the Pod and every file that it names.
    pub(super) async fn check_with_promtool(&self) -> Result<()> {
        const FILE: &str = "/etc/prometheus/config_out/prometheus.env.yaml";
        let check = ["promtool", "check", "config", FILE];
        let prometheus = self.pod.container("prometheus");
        prometheus.exec(&check).await.map(drop)
    }

    /// The jobs of the configuration that it runs.
    pub(super) async fn jobs(&self) -> Result<BTreeSet<String>> {
        let configuration = self.configuration().await?;
        let jobs = configuration.lines().filter_map(|line| {
            let line = line.trim_start().trim_start_matches("- ");
            line.strip_prefix("job_name: ")
        });
        Ok(jobs.map(|job| job.trim_matches('"').to_owned()).collect())
    }

    /// What a job scrapes.
    pub(super) async fn targets_of(&self, job: &str) -> Result<Vec<Target>> {
        let data = self.ask("targets?state=active").await?;
        let targets = data["activeTargets"].as_array();
        let targets = targets.context("it tells no targets")?.iter();
        let of_job = targets.filter(|target| target["scrapePool"] == job);
        Ok(of_job
            .map(|target| Target {
                health: text(&target["health"]),
                error: text(&target["lastError"]),
                labels: target["labels"].clone(),
            })
            .collect())
    }

    /// Fails unless a job has so many targets, and all of them are up.
    pub(super) async fn check_up(&self, job: &str, count: usize) -> Result<Vec<Target>> {
        let targets = self.targets_of(job).await?;
        let up = targets.iter().filter(|target| target.health == "up");
        ensure!(
            up.count() == count && targets.len() == count,
            "{} of {count} targets of {job} in {}: {targets:?}",
            targets.len(),
            self.pod.name()
        );
        Ok(targets)
    }

    /// The groups of rules that it evaluates, by name.
    pub(super) async fn groups(&self) -> Result<BTreeSet<String>> {
        let data = self.ask("rules").await?;
        let groups = data["groups"].as_array().context("it tells no groups")?;
        Ok(groups.iter().map(|group| text(&group["name"])).collect())
    }

    /// The newest samples of a series, each its labels; the selector is one that needs no escaping.
    pub(super) async fn series(&self, name: &str) -> Result<Vec<Value>> {
        let data = self.ask(&format!("query?query={name}")).await?;
        let result = data["result"].as_array().context("it gives no result")?;
        let labels = result.iter().map(|sample| sample["metric"].clone());
        Ok(labels.collect())
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
