//! `cargo xtask reproduce`: builds the plugins twice, in two places, and sees that they are the same to the byte.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::stage::{self, Log, Progress, Stage};
use crate::workplace::Workplace;

/// The two builds, and where they lie in the cache: paths of different lengths, since those would show.
const BUILDS: [(&str, &str); 2] = [
    ("first build", "one"),
    ("second build", "quite/another/place"),
];

/// Builds from nothing in both places, each with a cargo home of its own, and compares the digests.
pub(crate) fn run(workplace: &Workplace) -> Result<()> {
    let root = workplace.cache().join("reproduce");
    let logs = workplace.fresh_logs("reproduce")?;
    let mut printed = Vec::new();
    for (name, place) in BUILDS {
        let build = Stage::new(name, |log| {
            printed.push(digests(workplace, &root.join(place), log)?);
            Ok(())
        });
        stage::require_all(&stage::run(vec![build], &logs, &Progress::detect())?)?;
    }
    let same = printed.windows(2).all(|pair| pair[0] == pair[1]);
    if !same {
        bail!("the digests differ:\n{}", printed.join("\n"));
    }
    print!("{}", printed[0]);
    fs::remove_dir_all(&root).with_context(|| format!("failed to empty {}", root.display()))
}

/// What `cargo xtask plugins` prints in a copy of the checkout.
fn digests(workplace: &Workplace, place: &Path, log: &Log) -> Result<String> {
    let checkout = place.join("checkout");
    workplace.copy_checkout(&checkout)?;
    let this = env::current_exe().context("failed to find this program's own file")?;
    let mut build = Command::new(this);
    build
        .arg("plugins")
        .current_dir(&checkout)
        .env("CARGO_MANIFEST_DIR", checkout.join("tests/xtask"))
        .env("CARGO_HOME", place.join("cargo"))
        .env("CARGO_TARGET_DIR", place.join("target"))
        .env("XDG_CACHE_HOME", place.join("cache"));
    let built = log.capture(&mut build)?;
    if !built.succeeded {
        bail!("the plugins are not built: {}", built.text);
    }
    let digests = built
        .text
        .lines()
        .filter(|line| line.starts_with("sha256:"));
    Ok(digests.map(|line| format!("{line}\n")).collect())
}
