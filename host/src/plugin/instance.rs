//! One instance of a component: started, called under its limits, and dead after anything but an answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::{Store, StoreContextMut, Trap, UpdateDeadline};

use crate::plugin::bindings::generated::{Plugin as Exports, PluginPre};
use crate::plugin::bindings::{Failure, Request, Step};
use crate::plugin::call_error::Fault;
use crate::plugin::engine::TICK;
use crate::plugin::limits::Limits;
use crate::plugin::log::PluginLog;
use crate::plugin::sandbox::Sandbox;

/// How much longer than its CPU time a call may take by the clock on the wall. Only reached when the machine has
/// no time for it: a plugin has nothing to wait for.
const WALL_FACTOR: u32 = 10;

/// Resource handles that an instance may hold; std needs three.
const HANDLES: usize = 1_000;

/// Which function of the contract to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// The object should exist.
    Reconcile,
    /// The object is being deleted.
    Finalize,
}

/// What the author's code answered.
pub(super) type Answered = Result<Step, Failure>;

/// One instance. Calls take it by value and give it back with the answer: an instance that did not answer is
/// dropped, since its state is unknown. The same happens when the future of a call is dropped.
pub(super) struct Instance {
    store: Store<Sandbox>,
    exports: Exports,
    limits: Arc<Limits>,
    calls: u32,
    used: Instant,
}

impl Instance {
    /// Starts one.
    ///
    /// # Errors
    /// When its start traps or goes over a limit.
    pub(super) async fn start(
        component: &PluginPre<Sandbox>,
        limits: &Arc<Limits>,
        log: Option<Arc<PluginLog>>,
    ) -> Result<Self, Fault> {
        let sandbox = Sandbox::new(log, limits.memory);
        let mut store = Store::new(component.engine(), sandbox);
        store.limiter(|sandbox| &mut sandbox.memory);
        store.epoch_deadline_callback(count_tick);
        store.set_hostcall_fuel(limits.plan.get());
        store.set_max_component_handles(HANDLES);
        arm(&mut store, limits.cpu);
        let exports = match component.instantiate_async(&mut store).await {
            Ok(exports) => exports,
            Err(error) => {
                let why = fault(&mut store, limits, &error).to_string();
                return Err(Fault::NotStarted { why });
            }
        };
        Ok(Self {
            store,
            exports,
            limits: limits.clone(),
            calls: 0,
            used: Instant::now(),
        })
    }

    /// Calls `describe`.
    pub(super) async fn describe(mut self) -> Result<(Self, String), Fault> {
        arm(&mut self.store, self.limits.cpu);
        let operator = self.exports.windlass_plugin_operator();
        let call = operator.call_describe(&mut self.store);
        let answer = within(&self.limits, call).await;
        self.ended(answer)
    }

    /// Calls `reconcile` or `finalize`.
    pub(super) async fn call(
        mut self,
        entry: Entry,
        request: &Request,
    ) -> Result<(Self, Answered), Fault> {
        arm(&mut self.store, self.limits.cpu);
        self.store.data_mut().now = request.now;
        let operator = self.exports.windlass_plugin_operator();
        let answer = match entry {
            Entry::Reconcile => {
                within(
                    &self.limits,
                    operator.call_reconcile(&mut self.store, request),
                )
                .await
            }
            Entry::Finalize => {
                within(
                    &self.limits,
                    operator.call_finalize(&mut self.store, request),
                )
                .await
            }
        };
        self.ended(answer)
    }

    fn ended<T>(mut self, answer: Option<wasmtime::Result<T>>) -> Result<(Self, T), Fault> {
        match answer {
            Some(Ok(answer)) => {
                self.calls += 1;
                self.used = Instant::now();
                self.store.data_mut().end_call();
                Ok((self, answer))
            }
            Some(Err(error)) => Err(fault(&mut self.store, &self.limits, &error)),
            None => Err(Fault::TimedOut {
                budget: self.limits.cpu,
            }),
        }
    }

    /// Calls that it has answered.
    pub(super) fn calls(&self) -> u32 {
        self.calls
    }

    /// Bytes of memory that it holds.
    pub(super) fn memory(&self) -> usize {
        self.store.data().memory.memory()
    }

    /// How long ago it was last called.
    pub(super) fn idle(&self) -> Duration {
        self.used.elapsed()
    }
}

/// Gives the next call its whole budget. The engine's deadline is zero by default, which ends a call at once.
fn arm(store: &mut Store<Sandbox>, cpu: Duration) {
    store.data_mut().ticks_left =
        u64::try_from(cpu.as_nanos().div_ceil(TICK.as_nanos())).unwrap_or(u64::MAX);
    store.set_epoch_deadline(1);
}

/// Hands the thread back at every tick until the budget is gone. Time that other tasks took in between does not
/// count: the next deadline is one tick after the call goes on.
fn count_tick(mut store: StoreContextMut<'_, Sandbox>) -> wasmtime::Result<UpdateDeadline> {
    let sandbox = store.data_mut();
    sandbox.ticks_left = sandbox.ticks_left.saturating_sub(1);
    Ok(match sandbox.ticks_left {
        0 => UpdateDeadline::Interrupt,
        _ => UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())),
    })
}

async fn within<T>(
    limits: &Limits,
    call: impl Future<Output = wasmtime::Result<T>>,
) -> Option<wasmtime::Result<T>> {
    tokio::time::timeout(limits.cpu.saturating_mul(WALL_FACTOR), call)
        .await
        .ok()
}

/// Why a call ended without an answer.
fn fault(store: &mut Store<Sandbox>, limits: &Limits, error: &wasmtime::Error) -> Fault {
    let sandbox = store.data_mut();
    if let Some(wanted) = sandbox.memory.refused() {
        return Fault::OutOfMemory {
            wanted,
            limit: limits.memory,
        };
    }
    if error.downcast_ref::<Trap>() == Some(&Trap::Interrupt) {
        return Fault::TimedOut { budget: limits.cpu };
    }
    if is_too_much_output(error) {
        return Fault::OutputTooLarge { limit: limits.plan };
    }
    let printed = sandbox.printed.take();
    Fault::Trapped {
        trap: trap_text(error),
        printed,
    }
}

fn trap_text(error: &wasmtime::Error) -> String {
    let text = error.root_cause().to_string();
    match error.downcast_ref::<Trap>() {
        // A guest's own stack lies at the bottom of its memory and runs out before the engine's does.
        Some(Trap::MemoryOutOfBounds) => format!("{text}, most often a stack overflow"),
        _ => text,
    }
}

/// wasmtime's type for this is private; a test holds its text.
fn is_too_much_output(error: &wasmtime::Error) -> bool {
    error
        .root_cause()
        .to_string()
        .contains("fuel allocated for hostcalls has been exhausted")
}
