//! A component tried out, call by call, outside of a host: what the author's tools stand on.
//!
//! Every call gets a fresh instance, under the limits that a host would set, and nothing is logged. What is tried
//! here is compiled, linked and called by the same code as in a host.

use std::path::Path;
use std::sync::Arc;

use wasmtime::Engine;
use wasmtime::component::Linker;

use crate::plugin::bindings::generated::PluginPre;
use crate::plugin::bindings::{Failure, Request, Step};
use crate::plugin::call_error::Fault;
use crate::plugin::compile::{Cache, CompileError, Compiler};
use crate::plugin::contract;
use crate::plugin::description::Description;
use crate::plugin::instance::{Entry, Instance};
use crate::plugin::limits::Limits;
use crate::plugin::loader::LoadError;
use crate::plugin::sandbox::{self, Sandbox};
use crate::plugin::{engine, sample, size};

/// Why a component could not be tried.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// This machine cannot run plugins.
    #[error("failed to start the plugin engine: {0}")]
    Engine(String),
    /// It was not compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// It does not fit the contract.
    #[error("{0}")]
    NotAPlugin(String),
}

/// Where components are tried: an engine like a host's, and a cache of compiled components.
pub struct Bench {
    engine: Engine,
    linker: Linker<Sandbox>,
    cache: Cache,
}

impl Bench {
    /// Starts the engine. Compiled components are kept in `cache`, which is made if it is not there.
    ///
    /// # Errors
    /// When the machine cannot run plugins, or others may write to `cache`.
    pub fn open(cache: &Path, compiler: Compiler) -> Result<Self, TrialError> {
        let failed = |error: wasmtime::Error| TrialError::Engine(format!("{error:#}"));
        let engine = engine::start().map_err(failed)?;
        let linker = sandbox::linker(&engine).map_err(failed)?;
        let cache = Cache::open(cache, compiler)?;
        Ok(Self {
            engine,
            linker,
            cache,
        })
    }

    /// Compiles and links a component.
    ///
    /// # Errors
    /// When it is not valid, or not a plugin of this host's contract.
    pub async fn put(&self, wasm: &[u8]) -> Result<Trial, TrialError> {
        let refused = |error: wasmtime::Error| {
            TrialError::NotAPlugin(contract::refused(wasm, &format!("{error:#}")))
        };
        let component = self.cache.component(&self.engine, wasm).await?;
        let linked = self.linker.instantiate_pre(&component).map_err(refused)?;
        Ok(Trial {
            component: PluginPre::new(linked).map_err(refused)?,
            limits: Arc::new(Limits::default()),
        })
    }
}

/// A component that is being tried.
pub struct Trial {
    component: PluginPre<Sandbox>,
    limits: Arc<Limits>,
}

/// Which function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// `reconcile`.
    Reconcile,
    /// `finalize`.
    Finalize,
}

/// What the author's code answered.
pub type Answered = Result<Step, Failure>;

impl Trial {
    /// What the plugin says about itself.
    ///
    /// # Errors
    /// When it fails, or what it says is no description.
    pub async fn describe(&self) -> Result<Description, LoadError> {
        let (_, answer) = self.start().await?.describe().await?;
        Ok(Description::parse(&answer)?)
    }

    /// What `describe` returns in two instances.
    ///
    /// # Errors
    /// What the plugin did instead of answering.
    pub async fn describe_twice(&self) -> Result<(String, String), Fault> {
        let (_, first) = self.start().await?.describe().await?;
        let (_, second) = self.start().await?.describe().await?;
        Ok((first, second))
    }

    /// What it answers to a request.
    ///
    /// # Errors
    /// What the plugin did instead of answering, or that two instances answer the same request differently.
    pub async fn ask_twice(&self, asked: Asked, request: &Request) -> Result<Answered, Fault> {
        size::check(request, self.limits.request)?;
        let entry = match asked {
            Asked::Reconcile => Entry::Reconcile,
            Asked::Finalize => Entry::Finalize,
        };
        let (_, first) = self.start().await?.call(entry, request).await?;
        let (_, second) = self.start().await?.call(entry, request).await?;
        match sample::difference(&first, &second) {
            None => Ok(first),
            Some(difference) => Err(Fault::NotDeterministic { difference }),
        }
    }

    async fn start(&self) -> Result<Instance, Fault> {
        Instance::start(&self.component, &self.limits, None).await
    }
}
