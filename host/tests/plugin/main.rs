//! Plugins that misbehave, called for real: each hurts its own call and nothing else.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod guest;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use windlass::plugin::bindings::{Answer, Fact, Request, Step};
use windlass::plugin::compile::Compiler;
use windlass::plugin::configuration::PluginSpec;
use windlass::plugin::{CallError, Fault, Loader, Operator, Plugin};

#[tokio::test]
async fn a_plugin_that_behaves_is_called() {
    let host = Host::new();
    let plugin = host.load(json!({})).await;
    assert_eq!(plugin.description().name, "hostile");
    let step = plugin.reconcile(&asking("oneChild")).await.unwrap();
    let Step::Plan(plan) = step else {
        panic!("not a plan: {step:?}")
    };
    let child: Value = serde_json::from_str(&plan.children[0].manifest).unwrap();
    assert_eq!(child["metadata"]["name"], "a-made");
    let step = plugin.finalize(&asking("empty")).await.unwrap();
    assert!(matches!(step, Step::Plan(plan) if plan.finalized));
}

#[tokio::test]
async fn the_authors_own_answers_are_not_faults() {
    let host = Host::new();
    let plugin = host.load(json!({})).await;
    let said = "as asked".to_owned();
    assert_eq!(
        plugin.reconcile(&asking("invalid")).await,
        Err(CallError::Invalid(said.clone()))
    );
    assert_eq!(
        plugin.reconcile(&asking("transient")).await,
        Err(CallError::Transient(said))
    );
}

#[tokio::test]
async fn a_panic_is_told_with_its_text() {
    let fault = fault_of("panic").await;
    let Fault::Trapped { printed, .. } = &fault else {
        panic!("{fault:?}")
    };
    assert!(
        printed.contains("as asked, with") && printed.contains("src/lib.rs"),
        "{printed}"
    );
    assert!(printed.contains("canary"), "the fact is quoted: {printed}");
    assert!(!fault.for_object("hostile", "r-1").contains("canary"));
}

#[tokio::test]
async fn a_loop_is_stopped_after_its_cpu_time() {
    let host = Host::new();
    let plugin = host.load(json!({"limits": {"cpu": "200ms"}})).await;
    let fault = fault(plugin.reconcile(&asking("loop")).await);
    assert!(matches!(fault, Fault::TimedOut { .. }), "{fault:?}");
}

#[tokio::test]
async fn a_loop_does_not_keep_others_from_being_called() {
    let host = Host::new();
    let busy = host.load(json!({"limits": {"cpu": "1h"}})).await;
    let other = host.load(json!({})).await;
    let looping = tokio::spawn(async move { busy.reconcile(&asking("loop")).await });
    for _ in 0..20 {
        other.reconcile(&asking("empty")).await.unwrap();
    }
    assert!(!looping.is_finished());
    looping.abort();
    assert!(looping.await.unwrap_err().is_cancelled());
}

#[tokio::test]
async fn memory_is_refused_over_the_limit() {
    let fault = fault_of("allocate").await;
    assert!(matches!(fault, Fault::OutOfMemory { .. }), "{fault:?}");
    assert!(fault.to_string().contains("64Mi"), "{fault}");
}

#[tokio::test]
async fn a_stack_without_end_is_told_as_such() {
    let fault = fault_of("overflowStack").await;
    let Fault::Trapped { trap, .. } = &fault else {
        panic!("{fault:?}")
    };
    assert!(trap.contains("stack"), "{trap}");
}

#[tokio::test]
async fn exit_ends_the_instance_and_not_the_host() {
    assert!(matches!(fault_of("exit").await, Fault::Trapped { .. }));
}

#[tokio::test]
async fn a_plugin_cannot_wait() {
    let fault = fault_of("sleep").await;
    assert!(fault.to_string().contains("requeue-after"), "{fault}");
}

#[tokio::test]
async fn too_much_output_is_refused_as_one_piece_and_as_many() {
    for behaviour in ["hugePlan", "manyChildren"] {
        let host = Host::new();
        let plugin = host.load(json!({"limits": {"memory": "256Mi"}})).await;
        let fault = fault(plugin.reconcile(&asking(behaviour)).await);
        assert!(
            matches!(fault, Fault::OutputTooLarge { .. }),
            "{behaviour}: {fault:?}"
        );
    }
}

#[tokio::test]
async fn a_request_over_its_limit_names_the_fact_to_blame() {
    let host = Host::new();
    let plugin = host.load(json!({"limits": {"request": "1Ki"}})).await;
    let mut request = asking("empty");
    request.facts[0].answer = Answer::Objects(vec!["x".repeat(2048)]);
    let fault = fault(plugin.reconcile(&request).await);
    assert!(fault.to_string().contains("the fact canary"), "{fault}");
}

#[tokio::test]
async fn talking_too_much_is_cut_and_harms_nothing() {
    let host = Host::new();
    let plugin = host.load(json!({})).await;
    for behaviour in ["chatter", "print", "forgeLog"] {
        plugin.reconcile(&asking(behaviour)).await.unwrap();
    }
}

#[tokio::test]
async fn a_plugin_goes_on_after_any_fault() {
    let host = Host::new();
    let plugin = host.load(json!({"limits": {"cpu": "300ms"}})).await;
    for behaviour in [
        "panic",
        "loop",
        "allocate",
        "overflowStack",
        "exit",
        "sleep",
    ] {
        fault(plugin.reconcile(&asking(behaviour)).await);
        assert_eq!(
            calls_seen(&plugin).await,
            1,
            "an instance lived on after {behaviour}"
        );
        plugin.reconcile(&asking("panic")).await.unwrap_err();
    }
}

#[tokio::test]
async fn warm_instances_are_used_again_and_fresh_ones_are_not() {
    let host = Host::new();
    let warm = host.load(json!({})).await;
    assert_eq!([calls_seen(&warm).await, calls_seen(&warm).await], [1, 2]);
    let fresh = host.load(json!({"isolation": "fresh"})).await;
    assert_eq!([calls_seen(&fresh).await, calls_seen(&fresh).await], [1, 1]);
}

#[tokio::test]
async fn a_call_that_is_given_up_leaves_the_plugin_usable() {
    let host = Host::new();
    let plugin = host.load(json!({"limits": {"cpu": "1h"}})).await;
    assert_eq!(calls_seen(&plugin).await, 1);
    let given_up = plugin.clone();
    let call = tokio::spawn(async move { given_up.reconcile(&asking("loop")).await });
    tokio::task::yield_now().await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    assert_eq!(
        calls_seen(&plugin).await,
        1,
        "the instance of a call that was given up was used again"
    );
}

#[tokio::test]
async fn calls_at_the_same_time_have_instances_of_their_own() {
    let host = Host::new();
    let plugin = host.load(json!({})).await;
    let calls = (0..8).map(|number| {
        let plugin = plugin.clone();
        let behaviour = if number % 2 == 0 { "panic" } else { "oneChild" };
        tokio::spawn(async move { plugin.reconcile(&asking(behaviour)).await.is_ok() })
    });
    let mut ended = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        ended.push(call.await.unwrap());
    }
    assert_eq!(ended, [false, true, false, true, false, true, false, true]);
}

#[tokio::test]
async fn a_plugin_with_a_memory_of_its_own_is_found_out() {
    let host = Host::new();
    let plugin = host.load(json!({"sampleEvery": 2})).await;
    assert_eq!(calls_seen(&plugin).await, 1);
    let fault = fault(plugin.reconcile(&asking("count")).await);
    let Fault::NotDeterministic { difference } = &fault else {
        panic!("{fault:?}")
    };
    assert!(
        difference.contains('2') && difference.contains('1'),
        "{difference}"
    );
}

#[tokio::test]
async fn a_plugin_sees_no_world() {
    let host = Host::new();
    let plugin = host
        .load(json!({"isolation": "fresh", "sampleEvery": 1}))
        .await;
    let mut request = asking("look");
    request.now = 1_700_000_000_123;
    let Err(CallError::Transient(seen)) = plugin.reconcile(&request).await else {
        panic!()
    };
    assert!(
        seen.starts_with("now 1700000000123 passed 0 order "),
        "{seen}"
    );
    assert!(seen.ends_with("env 0 args 0"), "{seen}");
}

#[tokio::test]
async fn a_configuration_that_does_not_fit_is_refused() {
    let host = Host::new();
    let error = host
        .try_load(json!({"config": {"mood": "good"}}))
        .await
        .err()
        .unwrap();
    assert!(error.to_string().contains("mood"), "{error}");
}

#[tokio::test]
async fn what_is_asked_but_not_granted_is_listed() {
    let host = Host::new();
    let plugin = host
        .load(json!({"grants": ["own:v1/ConfigMap", "query:redis:6379"]}))
        .await;
    let missing: Vec<_> = plugin
        .missing_grants()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(missing, ["own:v1/Secret", "read:v1/Pod", "act:redis:6379"]);
}

#[tokio::test]
async fn a_component_that_is_no_plugin_is_refused() {
    let host = Host::new();
    let file = host.folder.path().join("empty.wasm");
    std::fs::write(&file, b"\0asm\x0d\0\x01\0").unwrap();
    let error = host.try_load_from(&file, json!({})).await.err().unwrap();
    assert!(error.to_string().contains("not a plugin"), "{error}");
}

#[tokio::test]
async fn a_component_that_imports_more_than_log_is_refused_by_name() {
    let host = Host::new();
    let file = host.folder.path().join("greedy.wasm");
    std::fs::write(&file, importing("wasi:sockets/tcp@0.2.6")).unwrap();
    let error = host.try_load_from(&file, json!({})).await.err().unwrap();
    assert!(error.to_string().contains("wasi:sockets/tcp"), "{error}");
}

#[tokio::test]
async fn the_hosts_own_binary_compiles_in_a_process_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let compiler = Compiler::Child(env!("CARGO_BIN_EXE_windlass").into());
    let loader = Loader::new(&folder.path().join("cache"), compiler).unwrap();
    let host = Host { folder, loader };
    let plugin = host.load(json!({})).await;
    plugin.reconcile(&asking("empty")).await.unwrap();
    let file = host.folder.path().join("text.wasm");
    std::fs::write(&file, "this is text").unwrap();
    let error = host.try_load_from(&file, json!({})).await.err().unwrap();
    assert!(
        error
            .to_string()
            .starts_with("failed to compile the component: "),
        "{error}"
    );
    let left = std::fs::read_dir(host.folder.path().join("cache"))
        .unwrap()
        .count();
    assert_eq!(left, 1, "a draft was left behind");
}

/// A component that imports an instance of that name with one function, and does nothing.
fn importing(name: &str) -> Vec<u8> {
    let length = |bytes: usize| u8::try_from(bytes).unwrap();
    let header = b"\0asm\x0d\0\x01\0";
    let instance_type = [
        7, 16, 1, 0x42, 2, 1, 0x40, 0, 1, 0, 4, 0, 3, b'u', b's', b'e', 1, 0,
    ];
    let import = [10, length(name.len() + 5), 1, 0, length(name.len())];
    [
        &header[..],
        &instance_type,
        &import,
        name.as_bytes(),
        &[5, 0],
    ]
    .concat()
}

/// A loader, whose compiled components are shared by all tests, and a folder of its own.
struct Host {
    folder: tempfile::TempDir,
    loader: Loader,
}

impl Host {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-plugins");
        let loader = Loader::new(&cache, Compiler::Here).unwrap();
        Self { folder, loader }
    }

    async fn load(&self, spec: Value) -> Arc<Plugin> {
        self.try_load(spec).await.unwrap()
    }

    /// Loads the hostile plugin under `spec`, whose source is left out.
    async fn try_load(&self, spec: Value) -> anyhow::Result<Arc<Plugin>> {
        self.try_load_from(guest::hostile(), spec).await
    }

    async fn try_load_from(&self, component: &Path, spec: Value) -> anyhow::Result<Arc<Plugin>> {
        let mut whole = json!({"source": {"file": component}, "sampleEvery": 0});
        whole
            .as_object_mut()
            .unwrap()
            .extend(spec.as_object().unwrap().clone());
        let spec: PluginSpec = serde_json::from_value(whole)?;
        let component = std::fs::read(component)?;
        Ok(self.loader.prepare("hostile", &spec, &component).await?)
    }
}

/// The fault that this behaviour is.
async fn fault_of(behaviour: &str) -> Fault {
    let plugin = Host::new().load(json!({})).await;
    fault(plugin.reconcile(&asking(behaviour)).await)
}

fn fault(answer: Result<Step, CallError>) -> Fault {
    match answer {
        Err(CallError::Fault(fault)) => fault,
        other => panic!("not a fault: {other:?}"),
    }
}

/// How often the instance that answered was called for this, as it counts itself.
async fn calls_seen(plugin: &Plugin) -> u64 {
    match plugin.reconcile(&asking("count")).await {
        Err(CallError::Transient(count)) => count.parse().unwrap(),
        other => panic!("not a count: {other:?}"),
    }
}

fn asking(behaviour: &str) -> Request {
    let object = json!({
        "apiVersion": "hostile.windlass.dev/v1", "kind": "Victim",
        "metadata": {"name": "a", "namespace": "default",
            "annotations": {"hostile.windlass.dev/do": behaviour}},
    });
    Request {
        object: object.to_string(),
        children: Vec::new(),
        facts: vec![Fact {
            id: "canary".into(),
            answer: Answer::Object(None),
        }],
        outcomes: Vec::new(),
        running: Vec::new(),
        available: Vec::new(),
        now: Duration::from_secs(1_700_000_000)
            .as_millis()
            .try_into()
            .unwrap(),
        config: "{}".into(),
        deletion: None,
    }
}
