//! From WebAssembly to machine code, once for each component.
//!
//! Compiling cannot be interrupted, takes hundreds of megabytes for a large component and is the one thing that
//! an untrusted component can do to the compiler itself, so it happens in a child process under limits: the
//! same binary, called as `windlass compile-component IN OUT`. What it makes is kept in a directory that this
//! host alone writes.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use nix::sys::resource::{Resource, setrlimit};
use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::oci::evict;
use crate::plugin::engine;
use crate::plugin::precompiled::PrivateDirectory;

/// The hidden subcommand that [`compile_component`] stands behind.
pub const SUBCOMMAND: &str = "compile-component";

/// Address space of the compiling process. An interpreter of 18 MB takes 300 MB.
const MEMORY: u64 = 4 << 30;

/// CPU seconds of the compiling process. An interpreter takes 22.
const CPU_SECONDS: u64 = 300;

/// How long to wait for the compiling process.
const DEADLINE: Duration = Duration::from_secs(300);

/// What is kept at most. An interpreter makes 80 MB of machine code; what is in use stays mapped without its file.
const LIMIT: u64 = 256 << 20;

/// Why a component was not compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The cache cannot be used.
    #[error("failed to use the cache of compiled plugins in {}: {why}", path.display())]
    Cache {
        /// Its directory.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The child process could not be run.
    #[error("failed to run the compiler {}: {why}", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// The system's word.
        why: String,
    },
    /// The compiler did not accept the component, or went over its limits.
    #[error("failed to compile the component: {0}")]
    Rejected(String),
}

/// Who compiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compiler {
    /// A child process of this program, which understands [`SUBCOMMAND`]; usually the host's own binary.
    Child(PathBuf),
    /// This process, without limits: for tests and tools whose components are their own.
    Here,
}

impl Compiler {
    /// The running program as compiler.
    ///
    /// # Errors
    /// When the system does not tell where it is.
    pub fn this_program() -> std::io::Result<Self> {
        std::env::current_exe().map(Self::Child)
    }

    async fn compile(
        &self,
        engine: &Engine,
        wasm: &[u8],
        output: &Path,
    ) -> Result<(), CompileError> {
        match self {
            Self::Child(program) => compile_in_child(program, wasm, output).await,
            Self::Here => compile_here(engine, wasm, output),
        }
    }
}

/// Compiled components, by what they were made of.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    directory: PrivateDirectory,
    /// What came with the host, compiled before.
    shipped: Option<PrivateDirectory>,
    compiler: Compiler,
}

impl Cache {
    /// # Errors
    /// When others may write to the directory.
    pub(super) fn open(path: &Path, compiler: Compiler) -> Result<Self, CompileError> {
        let directory = PrivateDirectory::open(path).map_err(|error| CompileError::Cache {
            path: path.into(),
            why: error.to_string(),
        })?;
        Ok(Self {
            directory,
            shipped: None,
            compiler,
        })
    }

    /// The same, which first looks into a folder that came with the host. One that is not there or that others may
    /// write to is left alone.
    pub(super) fn with_shipped(self, path: &Path) -> Self {
        let shipped = PrivateDirectory::shipped(path);
        if let Err(error) = &shipped {
            tracing::info!(path = %path.display(), %error, "plugins are compiled here: none came compiled");
        }
        Self {
            shipped: shipped.ok(),
            ..self
        }
    }

    /// The component, compiled now if it was not before. A damaged cache entry is made again.
    ///
    /// # Errors
    /// When the compiler refuses it or the directory cannot be written.
    pub(super) async fn component(
        &self,
        engine: &Engine,
        wasm: &[u8],
    ) -> Result<Component, CompileError> {
        let name = entry_name(engine, wasm);
        let mut places = self.shipped.iter().chain([&self.directory]);
        if let Some(component) = places.find_map(|place| place.load(engine, &name).ok()) {
            return Ok(component);
        }
        let unusable = |why: String| CompileError::Cache {
            path: self.directory.path().into(),
            why,
        };
        let draft = tempfile::Builder::new()
            .prefix(".draft-")
            // What comes with a host is read by whomever the host runs as; the directory tells who may.
            .permissions(Permissions::from_mode(0o644))
            .tempfile_in(self.directory.path())
            .map_err(|error| unusable(error.to_string()))?;
        self.compiler.compile(engine, wasm, draft.path()).await?;
        draft
            .persist(self.directory.path().join(&name))
            .map_err(|error| unusable(error.to_string()))?;
        evict(self.directory.path(), LIMIT, |entry| entry == name)
            .map_err(|error| unusable(error.to_string()))?;
        self.directory
            .load(engine, &name)
            .map_err(|error| unusable(error.to_string()))
    }
}

/// Names what was compiled and for which engine.
pub(super) fn entry_name(engine: &Engine, wasm: &[u8]) -> String {
    let mut digest = StableHasher(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut digest);
    digest.0.update(wasm);
    format!("{}.cwasm", hex::encode(digest.0.finalize()))
}

/// std's own hashers differ from one process to the next.
struct StableHasher(Sha256);

impl Hasher for StableHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Never asked for: the digest is taken instead.
    fn finish(&self) -> u64 {
        0
    }
}

async fn compile_in_child(program: &Path, wasm: &[u8], output: &Path) -> Result<(), CompileError> {
    let failed = |why: String| CompileError::Run {
        program: program.into(),
        why,
    };
    let input = tempfile::NamedTempFile::new().map_err(|error| failed(error.to_string()))?;
    std::fs::write(input.path(), wasm).map_err(|error| failed(error.to_string()))?;
    let child = tokio::process::Command::new(program)
        .args([
            OsStr::new(SUBCOMMAND),
            input.path().as_os_str(),
            output.as_os_str(),
        ])
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .output();
    let ended = tokio::time::timeout(DEADLINE, child)
        .await
        .map_err(|_| CompileError::Rejected(format!("it took longer than {DEADLINE:?}")))?
        .map_err(|error| failed(error.to_string()))?;
    match ended.status.success() {
        true => Ok(()),
        false => Err(CompileError::Rejected(last_words(
            &ended.stderr,
            ended.status,
        ))),
    }
}

fn last_words(stderr: &[u8], status: std::process::ExitStatus) -> String {
    let told = String::from_utf8_lossy(&stderr[stderr.len().saturating_sub(2048)..]);
    match told.trim() {
        "" => format!("the compiler ended with {status}, perhaps over its limits"),
        told => told.to_owned(),
    }
}

fn compile_here(engine: &Engine, wasm: &[u8], output: &Path) -> Result<(), CompileError> {
    let rejected = |error: String| CompileError::Rejected(error);
    let code = engine
        .precompile_component(wasm)
        .map_err(|error| rejected(format!("{error:#}")))?;
    std::fs::write(output, code).map_err(|error| rejected(error.to_string()))
}

/// The subcommand `compile-component`: limits this process, compiles the component in `input` and writes machine
/// code to `output`.
///
/// # Errors
/// When the limits cannot be set, a file cannot be read or written, or the component is not valid.
pub fn compile_component(input: &Path, output: &Path) -> anyhow::Result<()> {
    setrlimit(Resource::RLIMIT_AS, MEMORY, MEMORY)?;
    setrlimit(Resource::RLIMIT_CPU, CPU_SECONDS, CPU_SECONDS)?;
    let engine =
        Engine::new(&engine::configuration()).map_err(|error| anyhow::anyhow!("{error:#}"))?;
    let wasm = std::fs::read(input)?;
    compile_here(&engine, &wasm, output)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest component there is.
    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    #[test]
    fn entries_are_named_by_content_and_engine() {
        let engine = Engine::new(&engine::configuration()).unwrap();
        let other = Engine::new(engine::configuration().epoch_interruption(false)).unwrap();
        assert_eq!(entry_name(&engine, b"a"), entry_name(&engine, b"a"));
        assert_ne!(entry_name(&engine, b"a"), entry_name(&engine, b"b"));
        assert_ne!(entry_name(&engine, b"a"), entry_name(&other, b"a"));
    }

    #[tokio::test]
    async fn a_component_is_compiled_once_and_a_damaged_entry_again() {
        let parent = tempfile::tempdir().unwrap();
        let engine = Engine::new(&engine::configuration()).unwrap();
        let path = parent.path().join("cache");
        let cache = Cache::open(&path, Compiler::Here).unwrap();
        cache.component(&engine, EMPTY).await.unwrap();
        let nobody = Compiler::Child("/nonexistent".into());
        let cached = Cache::open(&path, nobody).unwrap();
        cached.component(&engine, EMPTY).await.unwrap();
        let entry = path.join(entry_name(&engine, EMPTY));
        std::fs::write(&entry, b"damaged").unwrap();
        assert!(matches!(
            cached.component(&engine, EMPTY).await,
            Err(CompileError::Run { .. })
        ));
        cache.component(&engine, EMPTY).await.unwrap();
    }

    #[tokio::test]
    async fn what_came_compiled_is_not_compiled_again() {
        let parent = tempfile::tempdir().unwrap();
        let engine = Engine::new(&engine::configuration()).unwrap();
        let shipped = parent.path().join("shipped");
        let made = Cache::open(&shipped, Compiler::Here).unwrap();
        made.component(&engine, EMPTY).await.unwrap();
        // Whoever compiled it may be another user than the host that it goes to.
        let entry = std::fs::metadata(shipped.join(entry_name(&engine, EMPTY))).unwrap();
        assert_eq!(entry.permissions().mode() & 0o777, 0o644);
        let nobody = Compiler::Child("/nonexistent".into());
        let cache = Cache::open(&parent.path().join("cache"), nobody).unwrap();
        assert!(cache.component(&engine, EMPTY).await.is_err());
        let cache = cache.with_shipped(&shipped);
        cache.component(&engine, EMPTY).await.unwrap();
    }

    #[tokio::test]
    async fn what_is_no_component_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let engine = Engine::new(&engine::configuration()).unwrap();
        let cache = Cache::open(&parent.path().join("cache"), Compiler::Here).unwrap();
        let error = cache.component(&engine, b"text").await.unwrap_err();
        assert!(matches!(error, CompileError::Rejected(_)), "{error}");
    }
}
