//! `windlass backup` on a mounted folder, as a Job runs it. On S3 the scenarios of tests/e2e show the same.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::{Path, PathBuf};

use axum::Router;
use axum::http::StatusCode;
use clap::Parser;
use serde_json::{Value, json};
use windlass::args::{Arguments, Command};
use windlass::backup;

/// A volume with backups, something to back up, and a place for reports.
struct Ground {
    folder: tempfile::TempDir,
}

impl Ground {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for part in ["volume", "dump/tables"] {
            fs::create_dir_all(folder.path().join(part)).unwrap();
        }
        let ground = Self { folder };
        fs::write(
            ground.path("dump/schema.sql"),
            "CREATE TABLE ships (name TEXT);",
        )
        .unwrap();
        fs::write(ground.path("dump/tables/ships.csv"), "windlass\n").unwrap();
        fs::write(ground.path("facts.json"), r#"{"gtid": "u:1-3"}"#).unwrap();
        ground
    }

    fn path(&self, part: &str) -> PathBuf {
        self.folder.path().join(part)
    }

    /// Runs `windlass backup` with the paths that begin with `:` taken as parts of the ground.
    async fn run(&self, words: &[&str]) -> anyhow::Result<()> {
        let words = words.iter().map(|word| match word.strip_prefix(':') {
            Some(part) => self.path(part).display().to_string(),
            None => (*word).to_owned(),
        });
        let line = ["windlass".to_owned(), "backup".to_owned()]
            .into_iter()
            .chain(words);
        let Command::Backup(arguments) = Arguments::parse_from(line).command else {
            panic!("not a backup command")
        };
        backup::run(&arguments).await
    }

    async fn store(&self, name: &str) -> anyhow::Result<()> {
        let words = [
            "store", "--at", ":volume", "--from", ":dump", "--name", name, "--report", ":report",
        ];
        self.run(&words).await
    }

    fn report(&self) -> Value {
        serde_json::from_slice(&fs::read(self.path("report")).unwrap()).unwrap()
    }

    /// Lets a backup look as if it had been made at this time.
    fn date(&self, name: &str, when: &str) {
        for file in ["begun.json", "backup.json"] {
            let path = self.path("volume").join(name).join(file);
            let Ok(text) = fs::read(&path) else { continue };
            let mut manifest: Value = serde_json::from_slice(&text).unwrap();
            for field in ["begun", "finished"] {
                if manifest.get(field).is_some() {
                    manifest[field] = json!(when);
                }
            }
            fs::write(&path, manifest.to_string()).unwrap();
        }
    }
}

fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push((
                    path.strip_prefix(folder).unwrap().to_owned(),
                    fs::read(&path).unwrap(),
                )),
            }
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn what_is_stored_can_be_fetched_again_and_is_reported() {
    let ground = Ground::new();
    let words = [
        "store",
        "--at",
        ":volume",
        "--from",
        ":dump",
        "--name",
        "first",
        "--facts",
        ":facts.json",
        "--report",
        ":report",
    ];
    ground.run(&words).await.unwrap();
    let report = ground.report();
    assert_eq!(report["bytes"], 40);
    assert_eq!(report["files"], 2);
    assert_eq!(report["facts"], json!({"gtid": "u:1-3"}));
    assert!(
        report["at"].as_str().unwrap().ends_with("/volume/first"),
        "{report}"
    );

    ground
        .run(&[
            "fetch", "--at", ":volume", "--name", "first", "--to", ":back",
        ])
        .await
        .unwrap();
    assert_eq!(files(&ground.path("back")), files(&ground.path("dump")));
    let again = ground
        .run(&[
            "fetch", "--at", ":volume", "--name", "first", "--to", ":back",
        ])
        .await;
    assert!(again.unwrap_err().to_string().contains("not empty"));
}

#[tokio::test]
async fn a_single_file_is_stored_under_its_own_name() {
    let ground = Ground::new();
    let words = [
        "store",
        "--at",
        ":volume",
        "--from",
        ":dump/schema.sql",
        "--name",
        "one",
        "--report",
        ":report",
    ];
    ground.run(&words).await.unwrap();
    ground
        .run(&["fetch", "--at", ":volume", "--name", "one", "--to", ":back"])
        .await
        .unwrap();
    let back = files(&ground.path("back"));
    assert_eq!(back.len(), 1);
    assert_eq!(back[0].0, Path::new("schema.sql"));
}

#[tokio::test]
async fn a_name_is_used_once_but_a_broken_attempt_under_it_is_replaced() {
    let ground = Ground::new();
    ground.store("a").await.unwrap();
    let again = ground.store("a").await.unwrap_err();
    assert!(again.to_string().contains("complete already"), "{again}");
    assert!(
        ground.report()["error"]
            .as_str()
            .unwrap()
            .contains("complete already")
    );

    fs::remove_file(ground.path("volume/a/backup.json")).unwrap();
    fs::write(ground.path("volume/a/data/left-over"), "x").unwrap();
    ground.store("a").await.unwrap();
    assert!(!ground.path("volume/a/data/left-over").exists());
}

#[tokio::test]
async fn what_was_changed_at_the_place_is_not_fetched() {
    let ground = Ground::new();
    ground.store("a").await.unwrap();
    fs::write(ground.path("volume/a/data/tables/ships.csv"), "wind1ass\n").unwrap();
    let fetched = ground
        .run(&["fetch", "--at", ":volume", "--name", "a", "--to", ":back"])
        .await;
    let error = format!("{:#}", fetched.unwrap_err());
    assert!(
        error.contains("ships.csv") && error.contains("differs"),
        "{error}"
    );
}

#[tokio::test]
async fn what_expired_goes_but_the_newest_and_what_is_not_ours_stays() {
    let ground = Ground::new();
    for (name, when) in [
        ("old", "2020-01-01T00:00:00Z"),
        ("older", "2019-01-01T00:00:00Z"),
        ("broken", "2020-01-01T00:00:00Z"),
    ] {
        ground.store(name).await.unwrap();
        ground.date(name, when);
    }
    fs::remove_file(ground.path("volume/broken/backup.json")).unwrap();
    fs::create_dir_all(ground.path("volume/photos")).unwrap();
    fs::write(ground.path("volume/photos/cat"), "meow").unwrap();

    ground
        .run(&["prune", "--at", ":volume", "--keep-days", "7"])
        .await
        .unwrap();
    let left = |name: &str| ground.path("volume").join(name).join("begun.json").exists();
    assert!(left("old"), "the newest complete one was removed");
    assert!(!left("older") && !left("broken"));
    assert!(ground.path("volume/photos/cat").exists());

    let words = [
        "store",
        "--at",
        ":volume",
        "--from",
        ":dump",
        "--name",
        "new",
        "--keep-days",
        "7",
        "--report",
        ":report",
    ];
    ground.run(&words).await.unwrap();
    assert_eq!(ground.report()["removed"], 1);
    assert!(left("new"));
    assert!(
        !ground.path("volume/old").exists(),
        "an empty folder is left"
    );
}

#[tokio::test]
async fn a_failure_is_reported_where_a_plugin_reads_it() {
    let ground = Ground::new();
    for (words, hint) in [
        (
            &[
                "store", "--at", ":volume", "--from", ":nothing", "--name", "a", "--report",
                ":report",
            ][..],
            "nothing",
        ),
        (
            &[
                "store", "--at", ":absent", "--from", ":dump", "--name", "a", "--report", ":report",
            ],
            "is it mounted?",
        ),
        (
            &[
                "store", "--at", "volume", "--from", ":dump", "--name", "a", "--report", ":report",
            ],
            "is no place",
        ),
        (
            &[
                "store",
                "--at",
                "s3://b",
                "--credentials",
                ":absent",
                "--from",
                ":dump",
                "--name",
                "a",
                "--report",
                ":report",
            ],
            "AWS_ACCESS_KEY_ID",
        ),
    ] {
        let failed = ground.run(words).await;
        let error = format!("{:#}", failed.unwrap_err());
        assert!(error.contains(hint), "{hint}: {error}");
        let report = ground.report();
        let told = report["error"].as_str().unwrap_or_default();
        assert!(told.contains(hint), "{hint}: {report}");
        assert_eq!(report, json!({"error": told}));
    }
}

/// As S3 does with a token that it does not take.
#[tokio::test]
async fn credentials_that_a_storage_quotes_are_masked() {
    let ground = Ground::new();
    let token = "canary-session-token";
    for (file, value) in [
        ("AWS_ACCESS_KEY_ID", "canary-access-key"),
        ("AWS_SECRET_ACCESS_KEY", "canary-secret-key"),
        ("AWS_SESSION_TOKEN", token),
    ] {
        fs::create_dir_all(ground.path("credentials")).unwrap();
        fs::write(ground.path("credentials").join(file), value).unwrap();
    }
    let answer = format!(
        "<Error><Code>InvalidToken</Code><Token-0>{token}</Token-0>\
         <AWSAccessKeyId>canary-access-key</AWSAccessKeyId></Error>"
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let refuse = move || std::future::ready((StatusCode::FORBIDDEN, answer.clone()));
    let router = Router::new().fallback(refuse);
    let server = tokio::spawn(async move { axum::serve(listener, router).await });
    let place = [
        "--at",
        "s3://b",
        "--endpoint",
        &endpoint,
        "--credentials",
        ":credentials",
    ];
    let store = ["--from", ":dump", "--name", "a", "--report", ":report"];
    let store = [&["store"], &place[..], &store].concat();
    let list = [&["list"], &place[..]].concat();
    let fetch = [&["fetch"], &place[..], &["--name", "a", "--to", ":to"]].concat();
    let prune = [&["prune"], &place[..], &["--keep-days", "1"]].concat();
    for words in [list, fetch, prune, store] {
        let failed = ground.run(&words).await.unwrap_err();
        let error = format!("{failed:#} {failed:?}");
        assert!(error.contains("InvalidToken"), "{error}");
        assert!(!error.contains("canary"), "{error}");
    }
    let told = ground.report()["error"].to_string();
    assert!(told.contains("[masked]"), "{told}");
    assert!(!told.contains("canary"), "{told}");
    server.abort();
}
