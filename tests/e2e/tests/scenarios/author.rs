//! The guide "Write your first operator", done as it says.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use tokio::sync::Mutex;
use windlass_e2e::binaries;
use windlass_e2e::guide::{Ask, Reader, blocks};
use windlass_e2e::prelude::*;

const GUIDE: &str = include_str!("../../../../plugins/first-operator.md");

/// All variants use the same names on the cluster.
static ALONE: Mutex<()> = Mutex::const_new(());

#[tokio::test]
async fn the_guide_leads_to_an_operator_in_rust() -> Result<()> {
    follow("rust").await
}

#[tokio::test]
async fn the_guide_leads_to_an_operator_in_python() -> Result<()> {
    match lacks("python3", &["-c", "import venv, ensurepip"]) {
        Some(reason) => skip(&reason),
        None => follow("python").await,
    }
}

#[tokio::test]
async fn the_guide_leads_to_an_operator_in_javascript() -> Result<()> {
    match lacks("npm", &["--version"]) {
        Some(reason) => skip(&reason),
        None => follow("javascript").await,
    }
}

async fn follow(language: &str) -> Result<()> {
    let _alone = ALONE.lock().await;
    let cluster = Cluster::from_environment().await?;
    let home = TempDir::new()?;
    let mut reader = Reader::new(home.path(), environment(&cluster, home.path())?);
    let blocks = blocks(GUIDE, language);
    ensure!(
        blocks.len() > 10,
        "the guide has {} blocks only",
        blocks.len()
    );
    let (end, work): (Vec<_>, Vec<_>) = blocks.into_iter().partition(|block| block.ask == Ask::End);
    let mut done = Ok(());
    for block in &work {
        if block.ask == Ask::Install {
            println!(
                "left out, as no registry is in reach of the cluster:\n{}",
                block.text
            );
            continue;
        }
        done = reader.follow(block).await;
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
