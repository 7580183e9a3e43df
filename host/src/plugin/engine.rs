//! The WebAssembly engine that all plugins share, and the clock that interrupts them.

use std::time::Duration;

use wasmtime::{Config, Engine, EngineWeak};

/// How often a running plugin hands the thread back and its budget is counted.
pub(super) const TICK: Duration = Duration::from_millis(10);

/// What a call's stack may hold; deeper recursion traps.
const STACK: usize = 1 << 20;

/// Makes an engine and starts its clock.
///
/// Instances are allocated on demand, not from a pool: warm instances make the pool's speed for fresh ones
/// unimportant, and a pool's totals would let one plugin starve another.
///
/// # Errors
/// When the machine cannot run WebAssembly the way that is asked for, or has no thread left.
pub(super) fn start() -> wasmtime::Result<Engine> {
    let engine = Engine::new(&configuration())?;
    let clock = engine.weak();
    std::thread::Builder::new()
        .name("plugin-clock".into())
        .spawn(move || tick(&clock))?;
    Ok(engine)
}

/// The engine's settings. Compiled components fit only an engine of the same settings, so the compiling child
/// process uses these too.
pub(super) fn configuration() -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true);
    config.max_wasm_stack(STACK);
    config.async_stack_size(2 * STACK);
    // Answers must not depend on the machine.
    config.relaxed_simd_deterministic(true);
    config.cranelift_nan_canonicalization(true);
    // Guest functions are synchronous; the machinery for the others costs every call.
    config.concurrency_support(false);
    config.shared_memory(false);
    config
}

/// Ends with the engine. A missed tick is not made up for.
fn tick(engine: &EngineWeak) {
    loop {
        std::thread::sleep(TICK);
        match engine.upgrade() {
            Some(engine) => engine.increment_epoch(),
            None => return,
        }
    }
}
