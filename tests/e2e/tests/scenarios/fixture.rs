//! The fixture keeps its own promises: a failure explains itself, and nothing is passed over in
//! silence.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace as NamespaceObject, Pod as PodObject};
use kube::Api;
use windlass_e2e::prelude::*;
use windlass_e2e::wait::Expectation;

const CLIENT: &str = include_str!("../../manifests/client.yaml");

#[tokio::test]
async fn a_failed_scenario_leaves_evidence_and_no_namespace() -> Result<()> {
    let mut namespace = String::new();
    let failure = scenario(async |ns| {
        namespace = ns.name().to_owned();
        ns.apply(CLIENT).await?;
        ns.pod("client").ready().await?;
        bail!("the scenario fails on purpose")
    })
    .await;

    let error = failure.err().context("the scenario did not fail")?;
    let folder = evidence_named_by(&error)?;
    has(&folder.join("events.txt"), "Pod/client Started")?;
    has(
        &folder.join("objects/pods.yaml"),
        "image: windlass.dev/test-tools:1",
    )?;
    ensure!(
        folder.join("logs/client.client.log").exists(),
        "the log is missing"
    );
    ensure!(
        !folder.join("incomplete.txt").exists(),
        "something is missing: see {folder:?}"
    );
    std::fs::remove_dir_all(&folder)?;

    let namespaces: Api<NamespaceObject> = Api::all(Cluster::from_environment().await?.client());
    Expectation::new(namespaces, "Namespace", &namespace, &namespace)
        .to_be_gone()
        .await
}

#[tokio::test]
async fn an_expectation_that_runs_out_shows_what_it_saw_last() -> Result<()> {
    scenario(async |ns| {
        ns.apply(CLIENT).await?;
        ns.pod("client").ready().await?;

        let flies = ns.pod("client").expect().within(Duration::from_secs(1));
        let error = flies
            .to("fly", |_| false)
            .await
            .err()
            .context("a Pod cannot fly")?;

        let text = format!("{error:#}");
        ensure!(
            text.contains("client to fly within 1 s"),
            "it does not say what for: {text}"
        );
        ensure!(
            text.contains("phase: Running"),
            "it does not say what it saw: {text}"
        );
        Ok(())
    })
    .await
}

#[tokio::test]
async fn an_expectation_of_what_never_comes_says_that_it_was_never_there() -> Result<()> {
    scenario(async |ns| {
        let ghost = ns
            .expect::<PodObject>("ghost")
            .within(Duration::from_secs(1));
        let error = ghost
            .to("appear", |_| true)
            .await
            .err()
            .context("there is no ghost")?;
        ensure!(format!("{error:#}").contains("never there"), "{error:#}");
        Ok(())
    })
    .await
}

#[test]
fn without_a_cluster_a_scenario_fails_and_says_what_to_run() -> Result<()> {
    let output = Command::new(std::env::current_exe()?)
        .args([
            "--exact",
            "fixture::an_expectation_of_what_never_comes_says_that_it_was_never_there",
        ])
        .env_remove("WINDLASS_E2E_CLUSTER")
        .output()?;
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    ensure!(!output.status.success(), "it passed without a cluster");
    ensure!(
        printed.contains("run `cargo xtask test`"),
        "it does not say what to do: {printed}"
    );
    Ok(())
}

fn evidence_named_by(error: &anyhow::Error) -> Result<PathBuf> {
    let text = error.to_string();
    let folder = text.strip_prefix("evidence: ");
    Ok(folder
        .with_context(|| format!("no evidence: {error:#}"))?
        .into())
}

fn has(file: &Path, text: &str) -> Result<()> {
    let content = std::fs::read_to_string(file).with_context(|| format!("no {file:?}"))?;
    ensure!(
        content.contains(text),
        "{text:?} is not in {file:?}:\n{content}"
    );
    Ok(())
}
