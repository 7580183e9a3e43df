//! Everything that a plugin can reach: `log`, and WASI without a world behind it.
//!
//! Rust's standard library imports thirteen WASI interfaces whatever a program does; a hash map adds a seed, time
//! adds two clocks. Those are linked and inert: no environment, no arguments, an empty input, output that ends in
//! [`Capture`], clocks that stand still, a seed that never changes. Nothing else is linked, so a component that
//! imports files, sockets or randomness is refused by the name of what it wants.

use std::sync::Arc;

use wasmtime::component::{HasData, HasSelf, Linker, Resource, ResourceTable};
use wasmtime::{Engine, bail};
use wasmtime_wasi::cli::{WasiCli, WasiCliView as _};
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::p2::bindings::clocks::{monotonic_clock, wall_clock};
use wasmtime_wasi::p2::bindings::{cli, random::insecure_seed};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_io::bindings::wasi::io;

use crate::plugin::bindings::generated::windlass::plugin::log;
use crate::plugin::bindings::{Level, Timestamp};
use crate::plugin::capture::Capture;
use crate::plugin::limits::{Bytes, MemoryWatch};
use crate::plugin::log::{CallLog, PluginLog};

/// What every plugin gets for randomness: hash maps of equal content have equal order.
const SEED: (u64, u64) = (0x5749_4e44, 0x4c41_5353);

/// What the host keeps for one instance.
pub(super) struct Sandbox {
    wasi: WasiCtx,
    resources: ResourceTable,
    /// None for a repeated call, whose log was written the first time.
    log: Option<Arc<PluginLog>>,
    call_log: CallLog,
    /// Its memory.
    pub(super) memory: MemoryWatch,
    /// What it prints.
    pub(super) printed: Capture,
    /// What its clocks show.
    pub(super) now: Timestamp,
    /// Ticks of the engine's clock that the running call has left.
    pub(super) ticks_left: u64,
}

impl Sandbox {
    pub(super) fn new(log: Option<Arc<PluginLog>>, memory: Bytes) -> Self {
        let printed = Capture::default();
        Self {
            wasi: WasiCtx::builder()
                .stdout(printed.clone())
                .stderr(printed.clone())
                .build(),
            resources: ResourceTable::new(),
            log,
            call_log: CallLog::default(),
            memory: MemoryWatch::new(memory),
            printed,
            now: 0,
            ticks_left: 0,
        }
    }

    /// Ends a call that went well.
    pub(super) fn end_call(&mut self) {
        let (written, printed) = (std::mem::take(&mut self.call_log), self.printed.take());
        if let Some(log) = &self.log {
            log.end(written);
            log.printed(&printed);
        }
    }
}

/// A linker with exactly what plugins may import.
///
/// # Errors
/// When an interface is linked twice, which is a mistake here.
pub(super) fn linker(engine: &Engine) -> wasmtime::Result<Linker<Sandbox>> {
    let mut linker = Linker::new(engine);
    let l = &mut linker;
    io::error::add_to_linker::<Sandbox, Resources>(l, |sandbox| &mut sandbox.resources)?;
    io::poll::add_to_linker::<Sandbox, Resources>(l, |sandbox| &mut sandbox.resources)?;
    io::streams::add_to_linker::<Sandbox, Resources>(l, |sandbox| &mut sandbox.resources)?;
    cli::environment::add_to_linker::<Sandbox, WasiCli>(l, Sandbox::cli)?;
    cli::exit::add_to_linker::<Sandbox, WasiCli>(l, Sandbox::cli)?;
    cli::stdin::add_to_linker::<Sandbox, WasiCli>(l, Sandbox::cli)?;
    cli::stdout::add_to_linker::<Sandbox, WasiCli>(l, Sandbox::cli)?;
    cli::stderr::add_to_linker::<Sandbox, WasiCli>(l, Sandbox::cli)?;
    cli::terminal_input::add_to_linker::<Sandbox, WasiCli>(l, Sandbox::cli)?;
    cli::terminal_output::add_to_linker::<Sandbox, WasiCli>(l, Sandbox::cli)?;
    cli::terminal_stdin::add_to_linker::<Sandbox, WasiCli>(l, Sandbox::cli)?;
    cli::terminal_stdout::add_to_linker::<Sandbox, WasiCli>(l, Sandbox::cli)?;
    cli::terminal_stderr::add_to_linker::<Sandbox, WasiCli>(l, Sandbox::cli)?;
    monotonic_clock::add_to_linker::<Sandbox, HasSelf<Sandbox>>(l, |sandbox| sandbox)?;
    wall_clock::add_to_linker::<Sandbox, HasSelf<Sandbox>>(l, |sandbox| sandbox)?;
    insecure_seed::add_to_linker::<Sandbox, HasSelf<Sandbox>>(l, |sandbox| sandbox)?;
    log::add_to_linker::<Sandbox, HasSelf<Sandbox>>(l, |sandbox| sandbox)?;
    Ok(linker)
}

/// Names the part of a [`Sandbox`] that WASI streams live in.
struct Resources;

impl HasData for Resources {
    type Data<'a> = &'a mut ResourceTable;
}

impl WasiView for Sandbox {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.resources,
        }
    }
}

impl log::Host for Sandbox {
    fn write(&mut self, level: Level, text: String) {
        if let Some(log) = &self.log {
            log.write(&mut self.call_log, level, &text);
        }
    }
}

impl insecure_seed::Host for Sandbox {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        Ok(SEED)
    }
}

impl wall_clock::Host for Sandbox {
    fn now(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        let nanoseconds = u32::try_from(self.now % 1000 * 1_000_000).unwrap_or_default();
        Ok(wall_clock::Datetime {
            seconds: self.now / 1000,
            nanoseconds,
        })
    }

    fn resolution(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        Ok(wall_clock::Datetime {
            seconds: 0,
            nanoseconds: 1_000_000,
        })
    }
}

impl monotonic_clock::Host for Sandbox {
    fn now(&mut self) -> wasmtime::Result<monotonic_clock::Instant> {
        Ok(self.now.saturating_mul(1_000_000))
    }

    fn resolution(&mut self) -> wasmtime::Result<monotonic_clock::Duration> {
        Ok(1_000_000)
    }

    fn subscribe_instant(
        &mut self,
        _: monotonic_clock::Instant,
    ) -> wasmtime::Result<Resource<DynPollable>> {
        bail!("a plugin cannot wait, its clock stands still: answer with requeue-after")
    }

    fn subscribe_duration(
        &mut self,
        _: monotonic_clock::Duration,
    ) -> wasmtime::Result<Resource<DynPollable>> {
        bail!("a plugin cannot wait, its clock stands still: answer with requeue-after")
    }
}
