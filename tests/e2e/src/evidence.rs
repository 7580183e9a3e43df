//! What is left of a failed scenario: a folder with its namespace's objects, events and logs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use futures::StreamExt;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::ResourceExt;
use kube::api::{ApiResource, DynamicObject, ListParams, LogParams};
use kube::discovery::{Discovery, Scope, verbs};
use tokio::fs;

use crate::namespace::Namespace;

/// Names the folder under which each failed scenario gets one of its own.
const ARTIFACTS: &str = "WINDLASS_E2E_ARTIFACTS";

/// Collects everything of the namespace and returns the folder. What cannot be had is named in its
/// file `incomplete.txt` and hides nothing else.
pub(crate) async fn collect(namespace: &Namespace) -> Result<PathBuf> {
    let folder = artifacts()?.join(namespace.name());
    fs::create_dir_all(&folder)
        .await
        .with_context(|| format!("failed to make {}", folder.display()))?;
    let parts = [
        ("events", events(namespace, &folder).await),
        ("logs", logs(namespace, &folder).await),
        ("objects", objects(namespace, &folder).await),
    ];
    let problems: Vec<String> = parts
        .into_iter()
        .filter_map(|(part, outcome)| Some(format!("{part}: {:#}\n", outcome.err()?)))
        .collect();
    if !problems.is_empty() {
        fs::write(folder.join("incomplete.txt"), problems.concat()).await?;
    }
    Ok(folder)
}

/// By default `e2e` in the build's target folder, which this test was started from.
fn artifacts() -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os(ARTIFACTS) {
        return Ok(folder.into());
    }
    // TARGET/release/deps/redis-0123456789abcdef
    let test = std::env::current_exe().context("failed to find the target folder")?;
    let target = test
        .ancestors()
        .nth(3)
        .context("failed to find the target folder")?;
    Ok(target.join("e2e"))
}

async fn events(namespace: &Namespace, folder: &Path) -> Result<()> {
    let mut events = namespace
        .api::<Event>()
        .list(&ListParams::default())
        .await?
        .items;
    events.sort_by_key(time);
    let lines: String = events.iter().map(line).collect();
    fs::write(folder.join("events.txt"), lines).await?;
    Ok(())
}

fn time(event: &Event) -> String {
    let creation = event
        .metadata
        .creation_timestamp
        .as_ref()
        .map(|time| time.0);
    let time = event.last_timestamp.as_ref().map(|time| time.0);
    let time = time
        .or_else(|| event.event_time.as_ref().map(|time| time.0))
        .or(creation);
    time.map(|time| time.to_string()).unwrap_or_default()
}

fn line(event: &Event) -> String {
    let object = &event.involved_object;
    format!(
        "{} {} {}/{} {}: {}\n",
        time(event),
        event.type_.as_deref().unwrap_or("-"),
        object.kind.as_deref().unwrap_or("-"),
        object.name.as_deref().unwrap_or("-"),
        event.reason.as_deref().unwrap_or("-"),
        event.message.as_deref().unwrap_or("-").trim(),
    )
}

async fn logs(namespace: &Namespace, folder: &Path) -> Result<()> {
    let folder = folder.join("logs");
    fs::create_dir_all(&folder).await?;
    for pod in namespace
        .api::<Pod>()
        .list(&ListParams::default())
        .await?
        .items
    {
        let spec = pod.spec.clone().unwrap_or_default();
        let containers = spec
            .containers
            .into_iter()
            .chain(spec.init_containers.unwrap_or_default());
        for container in containers {
            for previous in [false, true] {
                let life = LogParams {
                    container: Some(container.name.clone()),
                    previous,
                    timestamps: true,
                    ..LogParams::default()
                };
                log(namespace, &pod.name_any(), &life, &folder).await?;
            }
        }
    }
    Ok(())
}

/// A container that has not started, or never restarted, has no such log: its file is left out.
async fn log(namespace: &Namespace, pod: &str, life: &LogParams, folder: &Path) -> Result<()> {
    if let Ok(text) = namespace.api::<Pod>().logs(pod, life).await {
        let container = life.container.as_deref().unwrap_or_default();
        let suffix = if life.previous { ".previous" } else { "" };
        fs::write(folder.join(format!("{pod}.{container}{suffix}.log")), text).await?;
    }
    Ok(())
}

/// Every kind that the API server can list in a namespace, custom resources too.
async fn objects(namespace: &Namespace, folder: &Path) -> Result<()> {
    let folder = folder.join("objects");
    fs::create_dir_all(&folder).await?;
    let discovery = Discovery::new(namespace.client()).run().await?;
    let kinds = discovery
        .groups()
        .flat_map(|group| group.recommended_resources());
    let kinds = kinds.filter(|(kind, capabilities)| {
        kind.plural != "events"
            && capabilities.scope == Scope::Namespaced
            && capabilities.supports_operation(verbs::LIST)
    });
    let writes = futures::stream::iter(kinds.map(|(kind, _)| kind))
        .map(|kind| dump(namespace, kind, &folder))
        .buffer_unordered(4);
    writes.collect::<Vec<_>>().await.into_iter().collect()
}

async fn dump(namespace: &Namespace, kind: ApiResource, folder: &Path) -> Result<()> {
    let list = namespace.dynamic(&kind).list(&ListParams::default()).await;
    let items = list
        .with_context(|| format!("failed to list {}", kind.plural))?
        .items;
    if items.is_empty() {
        return Ok(());
    }
    let items: Vec<DynamicObject> = items.into_iter().map(presentable).collect();
    let yaml = serde_saphyr::to_string_multiple(&items)
        .with_context(|| format!("failed to write {} as YAML", kind.plural))?;
    let group = if kind.group.is_empty() {
        String::new()
    } else {
        format!(".{}", kind.group)
    };
    fs::write(folder.join(format!("{}{group}.yaml", kind.plural)), yaml).await?;
    Ok(())
}

/// Without what hides the rest, and without the values of Secrets: evidence is handed around.
fn presentable(mut object: DynamicObject) -> DynamicObject {
    object.managed_fields_mut().clear();
    if object
        .types
        .as_ref()
        .is_some_and(|types| types.kind == "Secret")
        && let Some(data) = object.data.as_object_mut()
    {
        data.remove("data");
    }
    object
}
