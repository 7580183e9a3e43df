//! What a Pod's status says about why it does not run.

use k8s_openapi::api::core::v1::{ContainerStatus, PodStatus};

/// The longest that is repeated of what another wrote.
const LONGEST: usize = 300;
/// A container that is not ready and was restarted so often keeps ending.
const OFTEN: i32 = 2;

/// Why a Pod does not run, after its name and a verb of the plugin's own: `cannot be scheduled: 0/3 nodes are
/// available: …`. None where its status tells nothing, as while it starts.
///
/// Says the same through the turns of a back-off, so that a status that repeats it is not written again and again.
#[must_use]
pub fn trouble(status: &PodStatus) -> Option<String> {
    let trouble = unscheduled(status)
        .or_else(|| failed(status))
        .or_else(|| containers(status).find_map(stopped))?;
    let cut = trouble.floor_char_boundary(LONGEST);
    Some(match cut < trouble.len() {
        true => format!("{}…", &trouble[..cut]),
        false => trouble,
    })
}

fn containers(status: &PodStatus) -> impl Iterator<Item = &ContainerStatus> {
    let first = status.init_container_statuses.iter().flatten();
    first.chain(status.container_statuses.iter().flatten())
}

fn unscheduled(status: &PodStatus) -> Option<String> {
    let mut conditions = status.conditions.iter().flatten();
    let condition = conditions
        .find(|condition| condition.type_ == "PodScheduled" && condition.status == "False")?;
    let why = condition.message.as_deref().unwrap_or("no reason is given");
    Some(format!("cannot be scheduled: {why}"))
}

/// Evicted, or past its deadline: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-phase.
fn failed(status: &PodStatus) -> Option<String> {
    let reason = status.reason.as_deref()?;
    let failed = status.phase.as_deref() == Some("Failed");
    let message = status.message.as_deref().unwrap_or_default();
    failed.then(|| format!("failed: {reason} {message}").trim_end().to_owned())
}

fn stopped(container: &ContainerStatus) -> Option<String> {
    let name = &container.name;
    let state = container.state.clone().unwrap_or_default();
    let waiting = state.waiting.unwrap_or_default();
    match waiting.reason.as_deref() {
        Some("ErrImagePull" | "ImagePullBackOff") => {
            let image = &container.image;
            return Some(format!(
                "cannot pull the image {image} of its container {name}"
            ));
        }
        Some("CrashLoopBackOff" | "ContainerCreating" | "PodInitializing") | None => {}
        Some(reason) => {
            let message = waiting.message.unwrap_or_default();
            let text = format!("cannot start its container {name}: {reason} {message}");
            return Some(text.trim_end().to_owned());
        }
    }
    let before = container.last_state.clone().unwrap_or_default();
    let keeps_ending = !container.ready && container.restart_count >= OFTEN;
    let now = state.terminated.filter(|ended| ended.exit_code != 0);
    let ended = now.or(before.terminated.filter(|_| keeps_ending))?;
    let how = match keeps_ending {
        true => "keeps ending, the last time",
        false => "ended",
    };
    let reason = ended.reason.as_deref().unwrap_or("Error");
    let code = ended.exit_code;
    let message = ended.message.unwrap_or_default();
    let text = format!(
        "does not run: its container {name} {how} with exit code {code} ({reason}) {message}"
    );
    Some(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn told(status: Value) -> Option<String> {
        trouble(&serde_json::from_value(status).unwrap())
    }

    fn container(restarts: i32, ready: bool, state: Value, last: Value) -> Option<String> {
        told(json!({"containerStatuses": [{
            "name": "redis", "image": "redis:none", "imageID": "", "restartCount": restarts, "ready": ready,
            "state": state, "lastState": last,
        }]}))
    }

    #[test]
    fn what_starts_or_runs_is_no_trouble() {
        let none = json!({});
        let ended = json!({"terminated": {"exitCode": 137, "reason": "Error"}});
        let waiting = |reason: &str| json!({"waiting": {"reason": reason}});
        let running = json!({"running": {}});
        assert_eq!(told(json!({"phase": "Pending"})), None);
        for reason in ["ContainerCreating", "PodInitializing"] {
            assert_eq!(container(0, false, waiting(reason), none.clone()), None);
        }
        assert_eq!(container(0, false, running.clone(), none.clone()), None);
        assert_eq!(container(1, false, running.clone(), ended.clone()), None);
        assert_eq!(container(9, true, running, ended), None);
        let done = json!({"terminated": {"exitCode": 0, "reason": "Completed"}});
        assert_eq!(container(0, true, done, none), None);
    }

    #[test]
    fn each_obstacle_is_named() {
        let unscheduled = json!({"conditions": [{"type": "PodScheduled", "status": "False",
            "message": "0/1 nodes are available: 1 Insufficient memory."}]});
        assert_eq!(
            told(unscheduled).unwrap(),
            "cannot be scheduled: 0/1 nodes are available: 1 Insufficient memory."
        );
        let evicted = json!({"phase": "Failed", "reason": "Evicted", "message": "low on memory"});
        assert_eq!(told(evicted).unwrap(), "failed: Evicted low on memory");
        let waiting = json!({"waiting": {"reason": "CreateContainerConfigError", "message": "secret \"x\" not found"}});
        assert_eq!(
            container(0, false, waiting, json!({})).unwrap(),
            "cannot start its container redis: CreateContainerConfigError secret \"x\" not found"
        );
        let long = json!({"waiting": {"reason": "InvalidImageName", "message": "ä".repeat(500)}});
        let long = container(0, false, long, json!({})).unwrap();
        assert!(
            long.len() <= LONGEST + "…".len() && long.ends_with('…'),
            "{long}"
        );
    }

    #[test]
    fn the_turns_of_a_back_off_say_the_same() {
        let waiting = |reason: &str| json!({"waiting": {"reason": reason, "message": reason}});
        let pulled = |reason| container(0, false, waiting(reason), json!({}));
        let told = pulled("ErrImagePull");
        assert!(told.as_ref().unwrap().contains("redis:none"), "{told:?}");
        assert_eq!(told, pulled("ImagePullBackOff"));
        let ended = json!({"terminated": {"exitCode": 1, "reason": "Error"}});
        let states = [
            ended.clone(),
            waiting("CrashLoopBackOff"),
            json!({"running": {}}),
        ];
        for state in states {
            assert_eq!(
                container(7, false, state, ended.clone()).unwrap(),
                "does not run: its container redis keeps ending, the last time with exit code 1 (Error)"
            );
        }
    }
}
