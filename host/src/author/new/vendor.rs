//! The SDK as it lies in a project of its own: the same sources, with the workspace's versions written out.

use std::collections::BTreeSet;

use anyhow::Context;

/// The crate whose dependencies a project has: a plugin of the workspace.
const LIKE: &str = "windlass-redis";

/// The SDK's manifest without the workspace: every version written out as the workspace has it.
///
/// # Errors
/// When the workspace lacks what the SDK takes from it, which is a mistake here.
pub(super) fn manifest(sdk: &str, workspace: &str) -> anyhow::Result<String> {
    let mut written = String::new();
    for line in sdk.lines() {
        match line.trim() {
            // The project has lints of its own.
            "[lints]" | "workspace = true" => {}
            _ => {
                written += &line_without(line, workspace)?;
                written.push('\n');
            }
        }
    }
    Ok(written.trim_end().to_owned() + "\n")
}

fn line_without(line: &str, workspace: &str) -> anyhow::Result<String> {
    if let Some(name) = line.strip_suffix(".workspace = true") {
        return Ok(format!("{name} = {}", value(name, workspace)?));
    }
    match line.split_once(" = { workspace = true, ") {
        Some((name, rest)) => {
            let value = value(name, workspace)?;
            let table = match value
                .strip_prefix("{ ")
                .and_then(|inner| inner.strip_suffix(" }"))
            {
                Some(inner) => inner.to_owned(),
                None => format!("version = {value}"),
            };
            Ok(format!("{name} = {{ {table}, {rest}"))
        }
        None => Ok(line.to_owned()),
    }
}

/// What the workspace says of a dependency or of every package.
fn value<'w>(name: &str, workspace: &'w str) -> anyhow::Result<&'w str> {
    let found = workspace.lines().find_map(|line| {
        let (key, value) = line.split_once(" = ")?;
        (key == name).then_some(value)
    });
    found.with_context(|| format!("the workspace has no {name}"))
}

/// The part of the workspace's lock file that a project needs: what is built is what was tested here. It also holds what
/// the host alone needs of a shared crate, such as the client of `kube`; cargo drops that when it first reads the file.
pub(super) fn lock(workspace: &str) -> String {
    let packages: Vec<_> = workspace.split("\n\n").collect();
    let (header, packages) = packages
        .split_first()
        .map_or(("", &[][..]), |(first, rest)| (*first, rest));
    let mut wanted = BTreeSet::new();
    let mut open = vec![LIKE.to_owned()];
    while let Some(name) = open.pop() {
        for (index, package) in packages.iter().enumerate() {
            if is_named(package, &name) && wanted.insert(index) {
                open.extend(dependencies(package));
            }
        }
    }
    let kept = packages
        .iter()
        .enumerate()
        .filter(|(index, package)| wanted.contains(index) && !is_named(package, LIKE));
    let kept: Vec<_> = kept.map(|(_, package)| package.trim_end()).collect();
    format!("{header}\n\n{}\n", kept.join("\n\n"))
}

/// `name`, or `name version` where there are several.
fn is_named(package: &str, wanted: &str) -> bool {
    let field = |field: &str| {
        package.lines().find_map(|line| {
            line.strip_prefix(field)?
                .strip_prefix(" = \"")?
                .strip_suffix('"')
        })
    };
    match wanted.split_once(' ') {
        Some((name, version)) => field("name") == Some(name) && field("version") == Some(version),
        None => field("name") == Some(wanted),
    }
}

fn dependencies(package: &str) -> Vec<String> {
    let lines = package.lines().map(str::trim);
    let listed = lines.filter_map(|line| line.strip_prefix('"')?.strip_suffix("\","));
    listed.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKSPACE: &str = include_str!("../../../../Cargo.toml");
    const LOCK: &str = include_str!("../../../../Cargo.lock");

    #[test]
    fn the_sdk_stands_without_the_workspace() {
        let sdk = include_str!("../../../../plugins/sdk/Cargo.toml");
        let manifest = manifest(sdk, WORKSPACE).unwrap();
        assert!(!manifest.contains("workspace"), "{manifest}");
        assert!(manifest.contains("version = \"0.1.0\""), "{manifest}");
        let optional = "serde-saphyr = { version = \"2.2\", optional = true }";
        assert!(manifest.contains(optional), "{manifest}");
    }

    #[test]
    fn the_projects_versions_are_the_workspaces() {
        let project = include_str!("../templates/rust/Cargo.toml");
        let version = |value: &str| value.split('"').nth(1).map(str::to_owned);
        for name in ["k8s-openapi", "kube", "schemars", "serde", "serde_json"] {
            assert_eq!(
                version(value(name, project).unwrap()),
                version(value(name, WORKSPACE).unwrap()),
                "{name}"
            );
        }
        assert!(project.contains(value("edition", WORKSPACE).unwrap()));
    }

    #[test]
    fn the_toolchain_is_the_workspaces() {
        let project = include_str!("../templates/rust/rust-toolchain.toml");
        assert_eq!(project, include_str!("../../../../rust-toolchain.toml"));
    }

    #[test]
    fn the_lock_holds_what_a_plugin_needs_without_the_workspace() {
        let lock = lock(LOCK);
        for name in ["windlass-sdk", "kube-core", "wit-bindgen", "similar"] {
            assert!(lock.contains(&format!("name = \"{name}\"\n")), "{name}");
        }
        for name in ["windlass", "windlass-redis", "wasmtime"] {
            assert!(!lock.contains(&format!("name = \"{name}\"\n")), "{name}");
        }
        assert!(lock.contains("\nversion = 4\n"), "{}", &lock[..200]);
    }
}
