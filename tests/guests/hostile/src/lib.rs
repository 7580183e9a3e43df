//! A plugin that does what no plugin should.
//!
//! `request.config` is `{"do": BEHAVIOUR}`, one of [`Behaviour`] in camelCase; without it, or when an object's
//! annotation `hostile.windlass.dev/do` names another, that one is done instead. So one instance can serve a bad
//! object and a good one.

mod bindings;
mod description;
mod plans;

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use bindings::exports::windlass::plugin::operator::{Failure, Guest, Request, Step};
use bindings::windlass::plugin::log::{Level, write};
use serde::Deserialize;
use serde_json::Value;

struct Hostile;

#[allow(unsafe_code, unreachable_pub)]
mod export {
    use super::Hostile;
    crate::bindings::export!(Hostile with_types_in crate::bindings);
}

/// What to do in a call.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Behaviour {
    /// Return a plan with nothing in it.
    #[default]
    Empty,
    /// Return a plan with one ConfigMap, `NAME-made`.
    OneChild,
    /// Panic with a text that quotes the first fact.
    Panic,
    /// Compute for ever.
    Loop,
    /// Allocate and touch memory without end.
    Allocate,
    /// Recurse without end.
    OverflowStack,
    /// Call `exit(1)`.
    Exit,
    /// Sleep for a minute.
    Sleep,
    /// Return a plan whose status is larger than it may be.
    HugePlan,
    /// Return many children that together are larger than they may be.
    ManyChildren,
    /// Log without end, in pieces.
    Chatter,
    /// Log a line with control characters.
    ForgeLog,
    /// Print on standard output and error, much.
    Print,
    /// Ask for one more object in every call.
    AskForEver,
    /// Ask twice under one id.
    AskTwice,
    /// Return text that is no JSON as child and status.
    Garbage,
    /// Name a child in another namespace.
    OtherNamespace,
    /// Name a child of a kind that it neither owns nor was granted.
    OtherKind,
    /// Send a Redis command to a port that it does not declare.
    OtherPort,
    /// Delete a Pod, which it does not declare.
    DeletePod,
    /// Fill a slot from a Secret of another namespace.
    StealSecret,
    /// Answer with how often this instance was called.
    Count,
    /// Answer with what clocks, hash order, environment and arguments show.
    Look,
    /// Say that the spec can never work.
    Invalid,
    /// Say to try again.
    Transient,
}

#[derive(Default, Deserialize)]
struct Config {
    #[serde(rename = "do", default)]
    behaviour: Behaviour,
}

impl Guest for Hostile {
    fn describe() -> String {
        description::json()
    }

    fn reconcile(request: Request) -> Result<Step, Failure> {
        behave(&request)
    }

    fn finalize(request: Request) -> Result<Step, Failure> {
        behave(&request)?;
        Ok(plans::finalized())
    }
}

fn behave(request: &Request) -> Result<Step, Failure> {
    match wanted(request) {
        Behaviour::Empty => Ok(plans::empty()),
        Behaviour::OneChild => Ok(plans::one_child(request)),
        Behaviour::Panic => panic!("as asked, with {:?}", request.facts.first()),
        Behaviour::Loop => spin(),
        Behaviour::Allocate => allocate(),
        Behaviour::OverflowStack => Err(Failure::Transient(recurse(1).to_string())),
        Behaviour::Exit => std::process::exit(1),
        Behaviour::Sleep => {
            std::thread::sleep(Duration::from_secs(60));
            Ok(plans::empty())
        }
        Behaviour::HugePlan => Ok(plans::with_status("x".repeat(40 << 20))),
        Behaviour::ManyChildren => Ok(plans::many_children()),
        Behaviour::Chatter => chatter(),
        Behaviour::ForgeLog => {
            write(Level::Info, "first\nERROR forged\x1b[2J");
            Ok(plans::empty())
        }
        Behaviour::Print => print(),
        Behaviour::AskForEver => Ok(plans::one_more_question(request)),
        Behaviour::AskTwice => Ok(plans::question_twice()),
        Behaviour::Garbage => Ok(plans::garbage()),
        Behaviour::OtherNamespace => Ok(plans::child_elsewhere(request)),
        Behaviour::OtherKind => Ok(plans::child_of_another_kind(request)),
        Behaviour::OtherPort => Ok(plans::command_to_another_port()),
        Behaviour::DeletePod => Ok(plans::delete_pod(request)),
        Behaviour::StealSecret => Ok(plans::secret_from_elsewhere(request)),
        Behaviour::Count => Err(Failure::Transient(count().to_string())),
        Behaviour::Look => Err(Failure::Transient(look())),
        Behaviour::Invalid => Err(Failure::Invalid("as asked".into())),
        Behaviour::Transient => Err(Failure::Transient("as asked".into())),
    }
}

/// The object's annotation, else the configuration.
fn wanted(request: &Request) -> Behaviour {
    let object: Value = serde_json::from_str(&request.object).unwrap_or_default();
    let annotation = &object["metadata"]["annotations"]["hostile.windlass.dev/do"];
    let config: Config = serde_json::from_str(&request.config).unwrap_or_default();
    serde_json::from_value(annotation.clone()).unwrap_or(config.behaviour)
}

fn spin() -> ! {
    let mut turns = 0_u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

fn allocate() -> ! {
    let mut kept = Vec::new();
    loop {
        kept.push(vec![1_u8; 1 << 20]);
        black_box(&kept);
    }
}

fn recurse(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    match depth {
        u64::MAX => 0,
        _ => recurse(black_box(depth + 1)) + frame[0],
    }
}

fn chatter() -> Result<Step, Failure> {
    for _ in 0..1_000 {
        write(Level::Info, &"blah ".repeat(200));
    }
    Ok(plans::empty())
}

fn print() -> Result<Step, Failure> {
    for line in 0..10_000 {
        println!("line {line}");
        eprintln!("line {line}");
    }
    Ok(plans::empty())
}

fn count() -> u64 {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    CALLS.fetch_add(1, Ordering::Relaxed) + 1
}

fn look() -> String {
    let set: HashMap<u32, ()> = (0..20).map(|number| (number, ())).collect();
    let epoch = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let began = Instant::now();
    let passed = (0..1_000_000)
        .fold(began, |_, _| black_box(began))
        .elapsed();
    format!(
        "now {} passed {} order {:?} env {} args {}",
        epoch.as_millis(),
        passed.as_nanos(),
        set.into_keys().collect::<Vec<_>>(),
        std::env::vars().count(),
        std::env::args().count(),
    )
}
