//! The first primary: of a new Redis, or of one whose volumes were kept.

use crate::decide::{Command, Decision, State, Wish};
use crate::names::FORCE_PRIMARY;
use crate::observe::{PodView, View, VolumeView};
use crate::reopen::{forced, is_emptied, reopen};

/// Chooses the first primary once it is certain that no data is overlooked.
pub fn form(wish: &Wish<'_>, view: &View, decision: &mut Decision) {
    decision
        .record
        .boots_with_aof
        .get_or_insert(boots_with_aof(wish, view));
    if let Some((pod, server)) = forced(view) {
        decision.record.forced = view.force.clone();
        reopen(view, pod, server, "a person asked for it", decision);
    } else if let Some((pod, epoch)) = last_primary(view) {
        resume(wish, view, pod, epoch, decision);
    } else {
        begin(wish, view, decision);
    }
}

/// How the data of kept volumes is to be read; as the spec says where there is none.
#[must_use]
pub fn boots_with_aof(wish: &Wish<'_>, view: &View) -> bool {
    let last = last_primary(view).and_then(|(pod, _)| view.volumes.get(pod)?.aof);
    last.unwrap_or(wish.aof())
}

/// The Pod whose volume became the primary's last, by the marks on kept volumes.
fn last_primary(view: &View) -> Option<(&str, i64)> {
    let marked = view
        .volumes
        .iter()
        .filter_map(|(pod, volume)| Some((pod.as_str(), volume.epoch?)));
    marked.max_by_key(|(_, epoch)| *epoch)
}

/// A Redis of this name ran before: the same Pod is the primary again, if it still has its data.
fn resume(wish: &Wish<'_>, view: &View, name: &str, epoch: i64, decision: &mut Decision) {
    decision.record.epoch = epoch;
    if !wish.pods().iter().any(|pod| pod == name) {
        decision.state = State::Stuck(format!(
            "the volume of {name} holds the newest data, but spec.replicas leaves that Pod out: raise \
             spec.replicas, or choose another Pod by the annotation {FORCE_PRIMARY}: POD"
        ));
        return;
    }
    let found = view
        .pods
        .get(name)
        .and_then(|pod| Some((pod, pod.staying()?)));
    let Some((pod, server)) = found.filter(|(_, server)| server.is_whole()) else {
        decision.state = State::Forming(format!(
            "{name}, whose volume holds the newest data, does not answer yet{}",
            view.trouble(name)
        ));
        return;
    };
    if is_emptied(view, name, server) {
        decision.state = State::Stuck(format!(
            "{name} should hold the newest data but is empty, while another Pod is not: choose the Pod whose data \
             to keep by the annotation {FORCE_PRIMARY}: POD"
        ));
        return;
    }
    reopen(
        view,
        pod,
        server,
        "its volume holds the newest data",
        decision,
    );
}

/// A new Redis: the first Pod is the primary, unless data is there whose age nobody knows.
fn begin(wish: &Wish<'_>, view: &View, decision: &mut Decision) {
    let with_data = view
        .pods
        .values()
        .find(|pod| pod.answering().is_some_and(|it| it.keys > 0));
    if let Some(pod) = with_data {
        decision.state = State::Stuck(unmarked(&pod.name));
        return;
    }
    let is_old = |volume: &VolumeView| volume.created < view.created;
    let unread = view
        .volumes
        .iter()
        .find(|(pod, volume)| is_old(volume) && !is_read(view, pod));
    if let Some((pod, _)) = unread {
        decision.state = match wish.pods().contains(pod) {
            true => State::Forming(format!(
                "{pod}, whose volume is older than this Redis, does not answer yet{}",
                view.trouble(pod)
            )),
            false => State::Stuck(unmarked(pod)),
        };
        return;
    }
    let first = view.pods.get(&wish.names.first_primary());
    let ready = first.and_then(|pod| Some((pod, pod.staying()?)));
    let Some((pod, server)) = ready.filter(|(_, server)| server.is_whole()) else {
        let first = wish.names.first_primary();
        let trouble = view.trouble(&first);
        decision.state = State::Forming(format!("{first} does not answer yet{trouble}"));
        return;
    };
    decision.crown(view, pod, server, Vec::new());
    decision
        .commands
        .push(Command::Open(server.target(&pod.name), 0));
    decision.note(
        "PrimaryChosen",
        format!("opening {} as the first primary", pod.name),
    );
    decision.state = State::Opening;
}

fn is_read(view: &View, pod: &str) -> bool {
    view.pods
        .get(pod)
        .and_then(PodView::answering)
        .is_some_and(|server| !server.loading)
}

fn unmarked(pod: &str) -> String {
    format!(
        "the volume of {pod} may hold data, and no volume says which Pod was the primary: choose the Pod whose data \
         to keep by the annotation {FORCE_PRIMARY}: POD"
    )
}

#[cfg(test)]
mod tests {
    use crate::decide::{Command, State};
    use crate::observe::Server;
    use crate::testing::{MASTER, NOW, R0, R1, Scene, target};

    #[test]
    fn the_first_pod_of_a_new_redis_is_the_primary() {
        let mut scene = Scene::new();
        scene.pod(R1).server = Server::Unasked;
        let decision = scene.decide();
        assert_eq!(decision.primary(), MASTER);
        assert_eq!(decision.record.epoch, 1);
        assert_eq!(decision.record.boots_with_aof, Some(true));
        assert!(decision.orders(&Command::Open(target(MASTER), 0)));
    }

    #[test]
    fn the_first_pod_is_waited_for() {
        let mut scene = Scene::new();
        scene.pod(MASTER).server = Server::Silent(NOW);
        let decision = scene.decide();
        assert!(matches!(decision.state, State::Forming(_)));
        assert!(decision.commands.is_empty());
    }

    #[test]
    fn data_of_unknown_age_needs_a_person() {
        let mut scene = Scene::new();
        scene.server(R1).keys = 5;
        let decision = scene.decide();
        assert!(matches!(decision.state, State::Stuck(_)));
        assert_eq!(decision.record.primary, None);

        scene.view.force = Some(R1.into());
        assert_eq!(scene.decide().primary(), R1);
    }

    #[test]
    fn an_older_volume_is_read_before_anybody_is_opened() {
        let mut scene = Scene::new();
        scene.view.volumes.get_mut(R1).unwrap().created = 500;
        scene.pod(R1).server = Server::Silent(NOW);
        assert!(matches!(scene.decide().state, State::Forming(_)));

        let volume = scene.view.volumes.remove(R1).unwrap();
        scene
            .view
            .volumes
            .insert("my-redis-replica-7".into(), volume);
        assert!(matches!(scene.decide().state, State::Stuck(_)));
    }

    /// Volumes were kept: R0 became the primary last, in epoch 4.
    fn kept() -> Scene {
        let mut scene = Scene::new();
        for (pod, epoch) in [(MASTER, 3), (R0, 4)] {
            let volume = scene.view.volumes.get_mut(pod).unwrap();
            (volume.created, volume.epoch, volume.aof) = (500, Some(epoch), Some(false));
        }
        for pod in [MASTER, R0] {
            scene.server(pod).keys = 3;
        }
        scene
    }

    #[test]
    fn the_last_primary_of_kept_volumes_is_the_primary_again() {
        let decision = kept().decide();
        assert_eq!(decision.primary(), R0);
        assert_eq!(decision.record.epoch, 5);
        assert_eq!(decision.record.boots_with_aof, Some(false));
    }

    #[test]
    fn the_last_primary_is_waited_for() {
        let mut scene = kept();
        scene.server(R0).loading = true;
        assert!(matches!(scene.decide().state, State::Forming(_)));
    }

    #[test]
    fn a_last_primary_that_is_left_out_or_empty_needs_a_person() {
        let mut scene = kept();
        scene.spec.replicas = 0;
        assert!(matches!(scene.decide().state, State::Stuck(_)));

        let mut scene = kept();
        scene.server(R0).keys = 0;
        assert!(matches!(scene.decide().state, State::Stuck(_)));
    }
}
