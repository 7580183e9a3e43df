//! `windlass plugin`: what an author meets, from `new` to `inspect`, and what `check` finds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

#[path = "../plugin/guest.rs"]
mod guest;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass::author::candidate::Candidate;
use windlass::author::check::{Report, Severity, check};
use windlass::plugin::compile::Compiler;
use windlass::plugin::trial::Bench;

#[test]
fn a_new_project_builds_is_checked_and_can_be_inspected() {
    let home = TempDir::new().unwrap();
    let made = windlass(
        home.path(),
        &[
            "plugin", "new", "my-site", "--kind", "Widget", "--group", "acme.io",
        ],
    );
    assert!(made.status.success(), "{}", told(&made));
    let project = home.path().join("my-site");
    let built = windlass(&project, &["plugin", "build"]);
    assert!(built.status.success(), "{}", told(&built));
    let verdict = told(&built);
    assert!(
        verdict.contains("my-site 0.1.0") && verdict.contains("sha256:"),
        "{verdict}"
    );
    assert!(!verdict.contains("warning:"), "{verdict}");

    let inspected = windlass(&project, &["plugin", "inspect", "my-site.wasm"]);
    let text = told(&inspected);
    assert!(text.contains("acme.io/v1/Widget"), "{text}");
    let (_, block) = text.split_once("\ngrants:\n").expect("a block of grants");
    assert_eq!(
        grants(block),
        grants(&std::fs::read_to_string(project.join("plugin.yaml")).unwrap())
    );
}

#[test]
fn a_folder_with_something_in_it_is_left_alone() {
    let home = TempDir::new().unwrap();
    std::fs::create_dir(home.path().join("site")).unwrap();
    std::fs::write(home.path().join("site/mine"), "").unwrap();
    let refused = windlass(home.path(), &["plugin", "new", "site"]);
    assert!(!refused.status.success());
    assert!(told(&refused).contains("not empty"), "{}", told(&refused));
    let there = std::fs::read_dir(home.path().join("site")).unwrap().count();
    assert_eq!(there, 1);
}

#[test]
fn every_language_gets_a_whole_project() {
    for (language, files) in [
        (
            "rust",
            &["Cargo.lock", "src/lib.rs", "vendor/windlass-sdk/src/lib.rs"][..],
        ),
        (
            "python",
            &[
                "component.py",
                "windlass_sdk/__init__.py",
                "tests/test_rounds.py",
            ],
        ),
        (
            "javascript",
            &[
                "component.js",
                "windlass-sdk/index.js",
                "test/rounds.test.js",
            ],
        ),
    ] {
        let home = TempDir::new().unwrap();
        let made = windlass(
            home.path(),
            &[
                "plugin",
                "new",
                "site",
                "--kind",
                "Widget",
                "--language",
                language,
            ],
        );
        assert!(made.status.success(), "{}", told(&made));
        let project = home.path().join("site");
        let shared = [
            "wit/plugin.wit",
            "crd.yaml",
            "plugin.yaml",
            "sample.yaml",
            "README.md",
            ".gitignore",
        ];
        for file in files.iter().chain(&shared) {
            let file = project.join(file);
            assert!(
                file.is_file(),
                "{language}: {} is missing: touch host/src/kit.rs",
                file.display()
            );
        }
        let crd = std::fs::read_to_string(project.join("crd.yaml")).unwrap();
        assert!(
            crd.contains("kind: Widget") && crd.contains("widgets.example.com"),
            "{crd}"
        );
        assert!(!crd.contains("ebsite"), "{crd}");
    }
}

#[tokio::test]
async fn what_would_fail_in_a_host_is_found_before() {
    for (behaviour, hint) in [
        ("panic", "as asked"),
        ("exit", "crashed"),
        ("sleep", "cannot wait"),
        ("allocate", "64Mi"),
        ("askForEver", "16 times"),
        ("askTwice", "told already"),
        ("garbage", "JSON"),
        ("otherNamespace", "namespace"),
        ("otherKind", "own:"),
        ("otherPort", "act:redis:22"),
        ("deletePod", "act:delete:v1/Pod"),
        ("invalid", "as asked"),
    ] {
        let report = tried(behaviour).await;
        let found: Vec<_> = report.findings.iter().map(ToString::to_string).collect();
        assert_eq!(report.errors(), 1, "{behaviour}: {found:?}");
        assert!(
            found.iter().any(|finding| finding.contains(hint)),
            "{behaviour}: {found:?}"
        );
    }
}

#[tokio::test]
async fn a_plugin_that_behaves_has_no_errors() {
    for behaviour in ["empty", "oneChild", "print", "chatter", "forgeLog"] {
        let report = tried(behaviour).await;
        assert_eq!(report.errors(), 0, "{behaviour}: {:?}", report.findings);
        assert_eq!(report.description.unwrap().name, "hostile");
    }
}

#[tokio::test]
async fn another_contract_and_foreign_imports_are_named() {
    let wasm = std::fs::read(guest::hostile()).unwrap();
    let [finding] = found(renamed(&wasm, b"@0.1.0", b"@0.9.0"))
        .await
        .try_into()
        .unwrap();
    assert!(finding.contains("windlass:plugin@0.9.0"), "{finding}");
    assert!(finding.contains("windlass:plugin@0.1.0"), "{finding}");

    let [finding] = found(renamed(
        &wasm,
        b"wasi:cli/terminal-stdin@",
        b"acme:cli/terminal-stdin@",
    ))
    .await
    .try_into()
    .unwrap();
    assert!(finding.contains("acme:cli/terminal-stdin@"), "{finding}");
}

#[tokio::test]
async fn what_is_no_component_is_named() {
    for (bytes, hint) in [
        (b"kind: Plugin".to_vec(), "not WebAssembly"),
        (b"\0asm\x01\0\0\0".to_vec(), "core WebAssembly module"),
        (
            std::fs::read(guest::hostile()).unwrap()[..5_000].to_vec(),
            "damaged",
        ),
    ] {
        let [finding] = found(bytes).await.try_into().unwrap();
        assert!(finding.contains(hint), "{finding}");
    }
}

#[test]
fn what_lies_behind_a_pull_secret_is_had_by_the_login_of_the_person() {
    let home = TempDir::new().unwrap();
    let plugin = "apiVersion: windlass.dev/v1alpha1\nkind: Plugin\nmetadata: {name: mine}\nspec:\n  \
                  source: {oci: \"oci://127.0.0.1:1/mine:1\"}\n  registry: {pullSecret: login, insecure: true}\n";
    std::fs::write(home.path().join("plugin.yaml"), plugin).unwrap();
    let arguments = ["crds", "--plugins", "plugin.yaml", "--cache", "cache"];
    let text = told(&windlass(home.path(), &arguments));
    assert!(text.contains("docker login 127.0.0.1:1"), "{text}");

    let config = home.path().join("docker/config.json");
    std::fs::create_dir(config.parent().unwrap()).unwrap();
    let logged_in = json!({"auths": {"127.0.0.1:1": {"username": "me", "password": "mine"}}});
    std::fs::write(config, logged_in.to_string()).unwrap();
    let text = told(&windlass(home.path(), &arguments));
    // Nobody listens there, which is asked now.
    assert!(text.contains("127.0.0.1:1"), "{text}");
    assert!(!text.contains("pull secret"), "{text}");
}

/// What is found when the plugin that misbehaves on request does so.
async fn tried(behaviour: &str) -> Report {
    let object = json!({
        "apiVersion": "hostile.windlass.dev/v1", "kind": "Victim",
        "metadata": {"name": "a", "annotations": {"hostile.windlass.dev/do": behaviour}},
    });
    let wasm = std::fs::read(guest::hostile()).unwrap();
    looked_at(wasm, Some(&object)).await
}

async fn found(bytes: Vec<u8>) -> Vec<String> {
    let report = looked_at(bytes, None).await;
    let errors = report.findings.into_iter();
    let errors = errors.filter(|finding| finding.severity == Severity::Error);
    errors.map(|finding| finding.to_string()).collect()
}

async fn looked_at(bytes: Vec<u8>, object: Option<&Value>) -> Report {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-for-author");
    let bench = Bench::open(&cache, Compiler::Here).unwrap();
    let candidate = Candidate {
        name: "guest.wasm".into(),
        bytes,
    };
    check(&bench, &candidate, object).await
}

/// The bytes with one name for another of the same length.
fn renamed(wasm: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = wasm.to_vec();
    let places: Vec<_> = (0..bytes.len() - from.len())
        .filter(|at| bytes[*at..].starts_with(from))
        .collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    bytes
}

fn grants(yaml: &str) -> Vec<String> {
    let lines = yaml
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "));
    let mut grants: Vec<_> = lines
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect();
    grants.sort();
    grants
}

/// The program, with build and compile caches that outlive the test, and no network.
fn windlass(folder: &Path, arguments: &[&str]) -> Output {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR"));
    Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(arguments)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", kept.join("author"))
        .env("CARGO_NET_OFFLINE", "true")
        .env("XDG_CACHE_HOME", kept.join("cache"))
        .env("DOCKER_CONFIG", folder.join("docker"))
        .output()
        .unwrap()
}

fn told(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}
