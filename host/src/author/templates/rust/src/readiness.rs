//! How it goes: what Pods say, in one condition. Pure, and tested as a table.

use k8s_openapi::api::core::v1::Pod;

/// What the condition `Ready` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// Pods that serve.
    pub ready: i32,
    /// `True` or `False`.
    pub status: &'static str,
    /// One word in CamelCase.
    pub reason: &'static str,
    /// For people.
    pub message: String,
}

/// Judges the Pods of a Website of which so many should serve.
#[must_use]
pub fn readiness(wanted: i32, pods: &[Pod]) -> Readiness {
    let ready = pods.iter().filter(|pod| serves(pod)).count();
    let ready = i32::try_from(ready).unwrap_or(i32::MAX);
    let served = format!("{ready} of {wanted} Pods serve the page");
    let said = |status, reason, message| Readiness {
        ready,
        status,
        reason,
        message,
    };
    match pods.iter().find_map(trouble) {
        _ if wanted == 0 => said("False", "SwitchedOff", "spec.replicas is 0".to_owned()),
        _ if ready >= wanted => said("True", "Serving", served),
        Some(trouble) => said("False", "PodsInTrouble", format!("{served}: {trouble}")),
        None => said("False", "Starting", served),
    }
}

fn serves(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let ready = conditions.into_iter().flatten();
    pod.metadata.deletion_timestamp.is_none()
        && ready
            .into_iter()
            .any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// What keeps a Pod from starting, in the kubelet's words.
fn trouble(pod: &Pod) -> Option<String> {
    let containers = pod.status.as_ref()?.container_statuses.as_ref()?;
    let waiting = containers
        .iter()
        .find_map(|container| container.state.as_ref()?.waiting.as_ref())?;
    let reason = waiting.reason.as_deref()?;
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    (reason != "ContainerCreating").then(|| format!("{name} waits, {reason}"))
}

#[cfg(test)]
mod tests {
    use super::readiness;
    use k8s_openapi::api::core::v1::{
        ContainerState, ContainerStateWaiting, ContainerStatus, Pod, PodCondition, PodStatus,
    };

    fn pod(ready: &str, waiting: Option<&str>) -> Pod {
        let mut pod = Pod::default();
        pod.metadata.name = Some("hello-1".to_owned());
        pod.status = Some(PodStatus {
            conditions: Some(vec![PodCondition {
                type_: "Ready".to_owned(),
                status: ready.to_owned(),
                ..PodCondition::default()
            }]),
            container_statuses: Some(vec![ContainerStatus {
                state: Some(ContainerState {
                    waiting: waiting.map(|reason| ContainerStateWaiting {
                        reason: Some(reason.to_owned()),
                        message: None,
                    }),
                    ..ContainerState::default()
                }),
                ..ContainerStatus::default()
            }]),
            ..PodStatus::default()
        });
        pod
    }

    #[test]
    fn the_condition_says_how_it_goes() {
        let up = || pod("True", None);
        let starting = || pod("False", Some("ContainerCreating"));
        let stuck = || pod("False", Some("ImagePullBackOff"));
        for (name, wanted, pods, reason, message) in [
            ("nothing yet", 1, vec![], "Starting", "0 of 1 Pods serve the page"),
            ("on the way", 1, vec![starting()], "Starting", "0 of 1 Pods serve the page"),
            ("there", 1, vec![up()], "Serving", "1 of 1 Pods serve the page"),
            (
                "one is stuck",
                2,
                vec![up(), stuck()],
                "PodsInTrouble",
                "1 of 2 Pods serve the page: hello-1 waits, ImagePullBackOff",
            ),
            ("switched off", 0, vec![], "SwitchedOff", "spec.replicas is 0"),
        ] {
            let said = readiness(wanted, &pods);
            assert_eq!((said.reason, said.message.as_str()), (reason, message), "{name}");
        }
    }
}
