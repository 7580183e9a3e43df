//! Upstream's generator in a process of its own.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A running oracle.
pub struct Oracle {
    process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Oracle {
    /// Starts it.
    pub fn start() -> Self {
        let program = program();
        let mut process = Command::new(&program)
            .env("ORACLE_CRDS", crds())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|why| panic!("failed to start {}: {why}", program.display()));
        Self {
            questions: process.stdin.take().expect("a pipe"),
            answers: BufReader::new(process.stdout.take().expect("a pipe")),
            process,
        }
    }

    /// What upstream makes of objects.
    pub fn generate(&mut self, objects: &[Value]) -> Value {
        self.ask(&json!({ "objects": objects }))
    }

    /// Whether Prometheus reads a configuration and rule files.
    pub fn load(
        &mut self,
        configuration: &str,
        rules: &BTreeMap<String, String>,
    ) -> Result<(), String> {
        let answer = self.ask(&json!({"configuration": configuration, "rules": rules}));
        match answer["error"].as_str() {
            Some(error) => Err(format!(
                "Prometheus does not load it: {error}\n{configuration}"
            )),
            None => Ok(()),
        }
    }

    fn ask(&mut self, question: &Value) -> Value {
        writeln!(self.questions, "{question}").expect("the oracle reads");
        let mut answer = String::new();
        self.answers
            .read_line(&mut answer)
            .expect("the oracle answers");
        serde_json::from_str(&answer)
            .unwrap_or_else(|why| panic!("the oracle answered {answer:?}: {why}"))
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Where `cargo xtask` keeps what it builds.
fn program() -> PathBuf {
    let cache = std::env::var_os("WINDLASS_CACHE").map(PathBuf::from);
    let home = || {
        std::env::home_dir()
            .expect("HOME is set")
            .join(".cache/windlass")
    };
    let program = cache.unwrap_or_else(home).join("bin/windlass-oracle");
    assert!(
        program.is_file(),
        "{} does not exist: run `cargo xtask test`, which builds it",
        program.display()
    );
    program
}

/// Upstream's CRDs, which its module holds.
pub fn crds() -> PathBuf {
    let module = "github.com/prometheus-operator/prometheus-operator";
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracle");
    let listed = Command::new("go")
        .args(["list", "-m", "-f", "{{.Dir}}", module])
        .env("GOFLAGS", "-mod=mod")
        .current_dir(folder)
        .output()
        .expect("go runs");
    assert!(
        listed.status.success(),
        "{}",
        String::from_utf8_lossy(&listed.stderr)
    );
    let module = String::from_utf8(listed.stdout).expect("a path");
    PathBuf::from(module.trim()).join("example/prometheus-operator-crd")
}
