//! From a component to a plugin that can be called.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};

use crate::plugin::bindings::generated::PluginPre;
use crate::plugin::call_error::Fault;
use crate::plugin::compile::{self, Cache, CompileError, Compiler};
use crate::plugin::component::{Plugin, Starter};
use crate::plugin::configuration::PluginSpec;
use crate::plugin::description::{BadDescription, Description};
use crate::plugin::log::PluginLog;
use crate::plugin::sandbox::{self, Sandbox};
use crate::plugin::{contract, engine};

/// Why a plugin was not loaded. The text is for the cluster's owner.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The machine cannot run plugins.
    #[error("failed to start the plugin engine: {0}")]
    Engine(String),
    /// It was not compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// It wants to reach more than `log`, or lacks what a plugin must have.
    #[error("the component is not a plugin of this host: {0}")]
    NotAPlugin(String),
    /// It failed at being asked what it is.
    #[error("failed to ask the plugin what it is: {0}")]
    Describe(#[from] Fault),
    /// It does not always describe itself in the same way.
    #[error("the plugin describes itself in two ways: {0}")]
    TwoDescriptions(String),
    /// What it says about itself is wrong.
    #[error(transparent)]
    Description(#[from] BadDescription),
    /// The administrator's configuration does not fit its schema.
    #[error("the configuration does not fit the plugin: {0}")]
    Configuration(String),
}

impl LoadError {
    /// One word for a condition's reason.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Engine(_) => "EngineFailed",
            Self::Compile(_) => "NotCompiled",
            Self::NotAPlugin(_) => "NotAPlugin",
            Self::Describe(_) => "DescribeFailed",
            Self::TwoDescriptions(_) => "NotDeterministic",
            Self::Description(_) => "DescriptionInvalid",
            Self::Configuration(_) => "ConfigurationInvalid",
        }
    }
}

/// Loads plugins; one for the whole host.
pub struct Loader {
    engine: Engine,
    linker: Linker<Sandbox>,
    cache: Cache,
}

impl Loader {
    /// Starts the engine. Compiled components are kept in `cache`, which is made if it is not there.
    ///
    /// # Errors
    /// When the machine cannot run plugins, or others may write to `cache`.
    pub fn new(cache: &Path, compiler: Compiler) -> Result<Self, LoadError> {
        let engine_error = |error: wasmtime::Error| LoadError::Engine(format!("{error:#}"));
        let engine = engine::start().map_err(engine_error)?;
        let linker = sandbox::linker(&engine).map_err(engine_error)?;
        Ok(Self {
            engine,
            linker,
            cache: Cache::open(cache, compiler)?,
        })
    }

    /// The same, which first looks for compiled components in a folder that came with the host.
    #[must_use]
    pub fn with_shipped(self, folder: &Path) -> Self {
        Self {
            cache: self.cache.with_shipped(folder),
            ..self
        }
    }

    /// Compiles a component, so that it need not be compiled later; returns the file's name in the cache.
    ///
    /// # Errors
    /// When it is not compiled.
    pub async fn compile(&self, wasm: &[u8]) -> Result<String, LoadError> {
        self.cache.component(&self.engine, wasm).await?;
        Ok(compile::entry_name(&self.engine, wasm))
    }

    /// Compiles and admits the component `wasm`, and asks what it is. Administrators call it `name`.
    ///
    /// # Errors
    /// Names the step that failed, and why.
    pub async fn prepare(
        &self,
        name: &str,
        spec: &PluginSpec,
        wasm: &[u8],
    ) -> Result<Arc<Plugin>, LoadError> {
        let component = self.cache.component(&self.engine, wasm).await?;
        let component = self.admit(&component, wasm)?;
        let log = PluginLog::new(name, &spec.limits);
        let starter = Starter::new(component, &spec.limits, log);
        let description = describe(&starter).await?;
        check_configuration(&description, spec)?;
        Ok(Plugin::new(
            name.to_owned(),
            description,
            spec.clone(),
            starter,
        ))
    }

    /// Links a component: refused by the version of its contract, or by the names of all that it may not import.
    fn admit(&self, component: &Component, wasm: &[u8]) -> Result<PluginPre<Sandbox>, LoadError> {
        let refused = |error: wasmtime::Error| {
            LoadError::NotAPlugin(contract::refused(wasm, &format!("{error:#}")))
        };
        let linked = self.linker.instantiate_pre(component).map_err(refused)?;
        PluginPre::new(linked).map_err(refused)
    }
}

/// Asks two instances, since the answer must not depend on anything.
async fn describe(starter: &Starter) -> Result<Description, LoadError> {
    let (_, first) = starter.start().await?.describe().await?;
    let (_, second) = starter.start().await?.describe().await?;
    let description = Description::parse(&first)?;
    match first == second {
        true => Ok(description),
        false => Err(LoadError::TwoDescriptions(description.name)),
    }
}

fn check_configuration(description: &Description, spec: &PluginSpec) -> Result<(), LoadError> {
    if description.config_schema.is_null() {
        return Ok(());
    }
    let validator = jsonschema::validator_for(&description.config_schema)
        .map_err(|error| LoadError::Configuration(format!("its schema is wrong: {error}")))?;
    let config = Value::Object(spec.config.clone());
    let mistakes: Vec<String> = validator
        .iter_errors(&config)
        .map(|error| format!("config{}: {error}", error.instance_path()))
        .collect();
    match mistakes.is_empty() {
        true => Ok(()),
        false => Err(LoadError::Configuration(mistakes.join("; "))),
    }
}
