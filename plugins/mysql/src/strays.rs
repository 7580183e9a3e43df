//! Nobody but the primary takes writes.

use crate::decide::{Command, Decision, Target};
use crate::observe::{PodView, Server, ServerView, View};
use crate::repair;
use crate::status::Primary;

/// Shuts every other instance that takes writes, or whose commits wait for acknowledgements: an old primary that
/// came back from a freeze or a cut.
pub fn shut(view: &View, primary: &Primary, decision: &mut Decision) {
    for pod in view.others(&primary.pod).filter(|pod| !pod.terminating) {
        let target = match &pod.server {
            Server::Answers(server) if is_stray(view, pod, server) => server.target(&pod.name),
            Server::Offline => Target::unseen(&pod.name),
            _ => continue,
        };
        decision.order(Command::Shut(target));
        decision.wait_for(format!("{} to refuse writes", pod.name));
    }
}

/// A copy that is being made needs to be half open.
fn is_stray(view: &View, pod: &PodView, server: &ServerView) -> bool {
    let is_copied = repair::needs_copy(&view.record, &pod.name);
    server.is_writable() || (!server.super_read_only && !is_copied) || !server.is_shut()
}

impl ServerView {
    /// Whether no commit of its own can wait for an acknowledgement.
    #[must_use]
    pub fn is_shut(&self) -> bool {
        self.wait_count == 0
    }
}
