//! The guide "Write your first operator", done as it says.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use windlass_e2e::binaries;
use windlass_e2e::guide::{Ask, Block, Reader, blocks};
use windlass_e2e::host;
use windlass_e2e::plugins::PodRegistry;
use windlass_e2e::prelude::*;

const GUIDE: &str = include_str!("../../../../plugins/first-operator.md");

#[tokio::test]
async fn the_guide_leads_to_an_operator_in_rust() -> Result<()> {
    scenario(async |ns| {
        let registry = PodRegistry::start(ns).await?;
        follow("rust", Some(&registry)).await
    })
    .await
}

#[tokio::test]
async fn the_guide_leads_to_an_operator_in_python() -> Result<()> {
    match lacks("python3", &["-c", "import venv, ensurepip"]) {
        Some(reason) => skip(&reason),
        None => follow("python", None).await,
    }
}

#[tokio::test]
async fn the_guide_leads_to_an_operator_in_javascript() -> Result<()> {
    match lacks("npm", &["--version"]) {
        Some(reason) => skip(&reason),
        None => follow("javascript", None).await,
    }
}

/// Does what the guide says; installs the plugin in the cluster where there is a registry.
async fn follow(language: &str, registry: Option<&PodRegistry<'_>>) -> Result<()> {
    // All variants use the same names on the cluster, and their builds would keep others from healing in time.
    let _alone = host::alone().await;
    let cluster = Cluster::from_environment().await?;
    let home = TempDir::new()?;
    let mut environment = environment(&cluster, home.path())?;
    if let Some(registry) = registry {
        environment.push(("REGISTRY".to_owned(), registry.address().await?));
    }
    let mut reader = Reader::new(home.path(), environment);
    let blocks = blocks(GUIDE, language);
    ensure!(
        blocks.len() > 10,
        "the guide has {} blocks only",
        blocks.len()
    );
    let (end, work): (Vec<_>, Vec<_>) = blocks.into_iter().partition(|block| block.ask == Ask::End);
    let mut done = Ok(());
    for block in &work {
        done = match (&block.ask, registry) {
            (Ask::Install, None) => {
                println!("left out, as it is the same in Rust:\n{}", block.text);
                continue;
            }
            (Ask::Install, Some(_)) => {
                reader.end_background().await;
                reader.follow(&without_tls(block)).await
            }
            _ => reader.follow(block).await,
        };
        if done.is_err() {
            break;
        }
    }
    // Also after a failure: the next variant uses the same names.
    for block in &end {
        let ended = reader.follow(block).await;
        done = done.and(ended);
    }
    done
}

/// The block for a registry without TLS, as the guide says below it.
fn without_tls(block: &Block) -> Block {
    let insecure = r"sed -i 's|^spec:|&\n  registry: {insecure: true}|' plugin.yaml";
    let text = block
        .text
        .replace("plugin push", "plugin push --insecure")
        .replace("windlass rbac", &format!("{insecure}\nwindlass rbac"));
    Block {
        text,
        ..block.clone()
    }
}

/// What the reader of the guide has: `windlass` and `kubectl` on the PATH, and a kubeconfig.
fn environment(cluster: &Cluster, home: &Path) -> Result<Vec<(String, String)>> {
    let programs = home.join("bin");
    std::fs::create_dir(&programs)?;
    symlink(binaries::windlass()?, programs.join("windlass"))?;
    let kubeconfig = home.join("kubeconfig");
    std::fs::copy(cluster.kubeconfig(), &kubeconfig)?;
    let kubectl = programs.join("kubectl");
    let cluster_program = binaries::path("windlass-cluster")?;
    let script = format!(
        "#!/bin/sh\nexec '{}' kubectl --kubeconfig '{}' \"$@\"\n",
        cluster_program.display(),
        kubeconfig.display()
    );
    std::fs::write(&kubectl, script)?;
    std::fs::set_permissions(&kubectl, std::fs::Permissions::from_mode(0o755))?;
    let path = std::env::var("PATH").unwrap_or_default();
    let own = |name: &str, value: &Path| (name.to_owned(), value.display().to_string());
    Ok(vec![
        ("PATH".to_owned(), format!("{}:{path}", programs.display())),
        own("KUBECONFIG", &kubeconfig),
        // What a second run need not build again.
        own(
            "CARGO_TARGET_DIR",
            &binaries::windlass()?.with_file_name("first-operator"),
        ),
    ])
}

/// Why a variant cannot be followed on this machine.
fn lacks(program: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(program).args(arguments).output() {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!(
            "{program} {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        )),
        Err(error) => Some(format!("{program}: {error}")),
    }
}

/// Says loudly that something was not tested.
fn skip(reason: &str) -> Result<()> {
    println!("NOT TESTED: {reason}");
    Ok(())
}
