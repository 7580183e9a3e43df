//! A person says which Pod is to be the primary, by an annotation: followed where the operator cannot go on by itself,
//! refused where a primary takes writes or the Pod cannot be one.
//!
//! Either is an answer, and each time that the annotation is set it is answered once: one that was forgotten on the
//! object does nothing later.

use crate::decide::{Decision, State, Wish};
use crate::names::{FORCE_PRIMARY, SWITCHOVER};
use crate::observe::{PodView, View};
use crate::status::{Intent, IntentKind};

/// While the operator may yet go on by itself, which loses nothing.
const NOT_YET: &str = "it is followed once the operator cannot go on by itself";

/// Answers what a person asks for, where a primary is on record; before that [`crate::forming`] does.
pub fn answer(wish: &Wish<'_>, view: &View, decision: &mut Decision) {
    if decision.state.takes_writes() {
        return refuse_for_the_living(view, decision);
    }
    let Some(pod) = choice(wish, view, decision) else {
        return;
    };
    if !is_called_for(decision) {
        return wait(decision);
    }
    let why = follow(decision, &pod);
    decision.state = State::Failed(why.clone());
    decision.record.intent = Some(Intent {
        kind: IntentKind::Failover,
        epoch: view.record.epoch + 1,
        why,
        since: view.now,
        to: Some(pod),
        frozen: false,
    });
}

/// The Pod that a person asks for and was not answered about, if it can be a primary now. One that can never be is
/// refused.
pub fn choice(wish: &Wish<'_>, view: &View, decision: &mut Decision) -> Option<String> {
    let pod = asked(view, decision)?;
    let others = wish.pods().join(", ");
    if !view.pods.contains_key(&pod) && !wish.pods().contains(&pod) {
        refuse(
            decision,
            &pod,
            &format!("there is no such instance: name one of {others}"),
        );
        return None;
    }
    let Some(server) = view.pods.get(&pod).and_then(PodView::staying) else {
        decision.unanswered = Some(format!("{pod} is waited for: it does not answer"));
        return None;
    };
    if server.received().is_empty() {
        let why = format!("it has no data, so all would be lost: name another of {others}");
        refuse(decision, &pod, &why);
        return None;
    }
    Some(pod)
}

/// The operator may yet go on by itself.
pub fn wait(decision: &mut Decision) {
    decision.unanswered = Some(NOT_YET.to_owned());
}

/// Notes that a person's choice is followed, and says why this Pod becomes the primary.
pub fn follow(decision: &mut Decision, pod: &str) -> String {
    let why = format!("the annotation {FORCE_PRIMARY} names {pod}");
    let text = format!("{why}; commits that it lacks are lost");
    decision.warn("FailoverForced", text);
    decision.record.refused.remove(FORCE_PRIMARY);
    mark(decision, pod);
    why
}

/// What a person can do where nothing else helps.
#[must_use]
pub fn way_out(wish: &Wish<'_>, view: &View) -> String {
    let choices = wish.pods().join(", ");
    let answered = match view.record.followed.get(FORCE_PRIMARY) {
        Some(pod) => format!("; for {pod} again, take the annotation off first"),
        None => String::new(),
    };
    format!(
        "To go on with what another has, and lose what it lacks, annotate this object with {FORCE_PRIMARY}: POD (one \
         of {choices}{answered})"
    )
}

fn asked(view: &View, decision: &Decision) -> Option<String> {
    let asked = view.annotations.get(FORCE_PRIMARY);
    let answered = decision.record.followed.get(FORCE_PRIMARY);
    asked.filter(|_| asked != answered).cloned()
}

/// Whether the operator cannot go on by itself. Whoever chose may also choose again.
fn is_called_for(decision: &Decision) -> bool {
    let chosen = decision
        .record
        .intent
        .as_ref()
        .is_some_and(|intent| intent.kind == IntentKind::Failover && intent.to.is_some());
    chosen || matches!(decision.state, State::Lost(_) | State::Stuck(_))
}

fn refuse_for_the_living(view: &View, decision: &mut Decision) {
    let Some(pod) = asked(view, decision) else {
        return;
    };
    let primary = decision.record.primary.as_ref();
    let primary = primary.map_or("another", |primary| primary.pod.as_str());
    let why = format!(
        "{primary} takes writes. To have another primary, which then loses nothing, use the annotation {SWITCHOVER}: \
         POD"
    );
    refuse(decision, &pod, &why);
}

fn refuse(decision: &mut Decision, pod: &str, why: &str) {
    let text = format!("{FORCE_PRIMARY}: {pod} is not followed, now or later: {why}");
    decision.warn("ForceRefused", text.clone());
    let annotation = FORCE_PRIMARY.to_owned();
    decision.record.refused.insert(annotation, text);
    mark(decision, pod);
}

fn mark(decision: &mut Decision, pod: &str) {
    let annotation = FORCE_PRIMARY.to_owned();
    decision.record.followed.insert(annotation, pod.to_owned());
}

#[cfg(test)]
mod tests;
