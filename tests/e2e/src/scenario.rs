//! One scenario: a namespace before, evidence on failure, nothing left after success.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use anyhow::{Result, anyhow};
use futures::FutureExt;

use crate::cluster::Cluster;
use crate::evidence;
use crate::namespace::Namespace;

/// A scenario that takes longer hangs: every wait inside it has a shorter deadline of its own.
const LONGEST: Duration = Duration::from_secs(15 * 60);

/// Runs a story in a namespace of its own on the cluster that `WINDLASS_E2E_CLUSTER` names.
///
/// The namespace carries the name of the calling test. After success it is removed, and the
/// scenario fails if that does not work. After a failure its objects, events and logs are collected
/// into a folder, whose path is part of the error, before it is removed; with `WINDLASS_E2E_KEEP`
/// set, a failed scenario's namespace stays for a look.
///
/// # Errors
/// What the story returned, or that it panicked or hung, with the path of the evidence.
pub async fn scenario<S>(story: S) -> Result<()>
where
    S: AsyncFnOnce(&Namespace) -> Result<()>,
{
    let name = test_name(std::any::type_name::<S>());
    let cluster = Cluster::from_environment().await?;
    let namespace = Namespace::create(&cluster, name).await?;
    match run(story(&namespace)).await {
        Ok(()) => namespace.remove().await,
        Err(failure) => Err(explain(&namespace, failure).await),
    }
}

/// Runs the story to its end and turns a panic or a hang into an error like any other.
async fn run(story: impl Future<Output = Result<()>>) -> Result<()> {
    let guarded = AssertUnwindSafe(story).catch_unwind();
    match tokio::time::timeout(LONGEST, guarded).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(panic)) => Err(anyhow!(
            "the scenario panicked: {}",
            panic_text(panic.as_ref())
        )),
        Err(_) => Err(anyhow!(
            "the scenario did not end within {} s",
            LONGEST.as_secs()
        )),
    }
}

async fn explain(namespace: &Namespace, failure: anyhow::Error) -> anyhow::Error {
    let evidence = match evidence::collect(namespace).await {
        Ok(folder) => format!("evidence: {}", folder.display()),
        Err(error) => format!("evidence could not be collected: {error:#}"),
    };
    if std::env::var_os("WINDLASS_E2E_KEEP").is_none()
        && let Err(error) = namespace.start_removal().await
    {
        eprintln!("{error:#}");
    }
    failure.context(evidence)
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

/// The test function's name, out of the type name of the closure inside it, such as
/// `redis::a_killed_pod_returns_with_its_data::{{closure}}::{{closure}}`.
fn test_name(closure: &str) -> &str {
    let function = closure.split("::{{closure}}").next().unwrap_or_default();
    function.rsplit("::").next().unwrap_or("scenario")
}

#[cfg(test)]
mod tests {
    use super::{run, test_name};

    #[test]
    fn a_namespace_is_named_after_the_test_around_the_closure() {
        let closure = "redis::a_killed_pod_returns::{{closure}}::{{closure}}";
        assert_eq!(test_name(closure), "a_killed_pod_returns");
    }

    #[tokio::test]
    async fn a_panic_in_a_story_becomes_an_error_with_its_text() {
        let outcome = run(async { panic!("the mast broke") }).await;
        let error = outcome.expect_err("a panic is a failure");
        assert!(error.to_string().contains("the mast broke"), "{error:#}");
    }
}
