//! A plugin that is a component: the public face of this room.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;

use crate::plugin::bindings::generated::PluginPre;
use crate::plugin::bindings::{Failure, Request, Step};
use crate::plugin::call_error::{CallError, Fault};
use crate::plugin::configuration::{Isolation, PluginSpec};
use crate::plugin::description::Description;
use crate::plugin::grants::Grant;
use crate::plugin::instance::{Answered, Entry, Instance};
use crate::plugin::limits::Limits;
use crate::plugin::log::PluginLog;
use crate::plugin::operator::Operator;
use crate::plugin::pool::{Pool, Recycling};
use crate::plugin::sandbox::Sandbox;
use crate::plugin::{sample, size};

/// Calls that one instance answers at most.
const CALLS_PER_INSTANCE: u32 = 256;

/// How long an instance waits for a call.
const IDLE: Duration = Duration::from_secs(60);

/// A loaded plugin. Calls may run at the same time, each in an instance of its own.
pub struct Plugin {
    name: String,
    description: Description,
    spec: PluginSpec,
    starter: Starter,
    pool: Pool<Instance>,
    calls: AtomicU64,
}

/// Makes instances of one component.
pub(super) struct Starter {
    component: PluginPre<Sandbox>,
    limits: Arc<Limits>,
    log: Arc<PluginLog>,
}

impl Starter {
    pub(super) fn new(component: PluginPre<Sandbox>, limits: &Limits, log: PluginLog) -> Self {
        Self {
            component,
            limits: Arc::new(limits.clone()),
            log: Arc::new(log),
        }
    }

    pub(super) async fn start(&self) -> Result<Instance, Fault> {
        Instance::start(&self.component, &self.limits, Some(self.log.clone())).await
    }

    /// An instance that does not log.
    async fn start_silent(&self) -> Result<Instance, Fault> {
        Instance::start(&self.component, &self.limits, None).await
    }
}

impl Plugin {
    /// Puts a plugin together; `loader` is the way to get one.
    pub(super) fn new(
        name: String,
        description: Description,
        spec: PluginSpec,
        starter: Starter,
    ) -> Arc<Self> {
        let recycling = Recycling {
            calls: CALLS_PER_INSTANCE,
            memory: spec.limits.memory.get() / 2,
            idle: IDLE,
            waiting: usize::try_from(spec.concurrency.get()).unwrap_or(usize::MAX),
        };
        let pool = Pool::new(recycling);
        let calls = AtomicU64::new(0);
        let plugin = Arc::new(Self {
            name,
            description,
            spec,
            starter,
            pool,
            calls,
        });
        tokio::spawn(trim(Arc::downgrade(&plugin), plugin.pool.trim_every()));
        plugin
    }

    /// What the administrator says about it.
    pub fn spec(&self) -> &PluginSpec {
        &self.spec
    }

    /// What it asks for and was not granted.
    pub fn missing_grants(&self) -> Vec<Grant> {
        let asks = self.description.asks();
        self.spec
            .grants
            .missing(&asks)
            .into_iter()
            .cloned()
            .collect()
    }

    /// Has an instance ready for the first call.
    ///
    /// # Errors
    /// When none can be started.
    pub async fn warm(&self) -> Result<(), Fault> {
        let instance = self.starter.start().await?;
        self.pool.give_back(instance);
        Ok(())
    }

    async fn call(&self, entry: Entry, request: &Request) -> Result<Step, CallError> {
        size::check(request, self.spec.limits.request)?;
        let instance = match self.spec.isolation {
            Isolation::Warm => self.pool.take(),
            Isolation::Fresh => None,
        };
        let instance = match instance {
            Some(instance) => instance,
            None => self.starter.start().await?,
        };
        let (instance, answered) = instance.call(entry, request).await?;
        if self.spec.isolation == Isolation::Warm {
            self.pool.give_back(instance);
        }
        if self.is_sampled() {
            self.repeat(entry, request, &answered).await?;
        }
        answered.map_err(CallError::from)
    }

    fn is_sampled(&self) -> bool {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        self.spec.sample_every != 0 && call.is_multiple_of(u64::from(self.spec.sample_every))
    }

    /// Asks a fresh instance the same and compares.
    async fn repeat(&self, entry: Entry, request: &Request, first: &Answered) -> Result<(), Fault> {
        let instance = self.starter.start_silent().await?;
        let (_, second) = instance.call(entry, request).await?;
        match sample::difference(first, &second) {
            None => Ok(()),
            Some(difference) => Err(Fault::NotDeterministic { difference }),
        }
    }
}

#[async_trait]
impl Operator for Plugin {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &Description {
        &self.description
    }

    async fn reconcile(&self, request: &Request) -> Result<Step, CallError> {
        self.call(Entry::Reconcile, request).await
    }

    async fn finalize(&self, request: &Request) -> Result<Step, CallError> {
        self.call(Entry::Finalize, request).await
    }
}

impl From<Failure> for CallError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Invalid(text) => Self::Invalid(text),
            Failure::Transient(text) => Self::Transient(text),
        }
    }
}

/// Lets idle instances go as long as the plugin is there.
async fn trim(plugin: Weak<Plugin>, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        match plugin.upgrade() {
            Some(plugin) => plugin.pool.trim(),
            None => return,
        }
    }
}
