//! One fault for each law of the host, and the test that has to notice it.

/// A test program of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// What stands beside the code.
    Unit,
    /// `host/tests/NAME`, on a control plane.
    OnControlPlane(&'static str),
}

/// A fault in the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mutation {
    /// Which law it breaks, as `host/README.md` counts them.
    pub(super) law: u8,
    /// What is wrong with the host then.
    pub(super) fault: &'static str,
    /// The file, from the root of the checkout.
    pub(super) file: &'static str,
    /// What stands there, once.
    pub(super) from: &'static str,
    /// What takes its place.
    pub(super) to: &'static str,
    pub(super) program: Program,
    /// The test that fails.
    pub(super) test: &'static str,
}

pub(super) const MUTATIONS: [Mutation; 10] = [
    Mutation {
        law: 1,
        fault: "status is written in every round",
        file: "host/src/status/mod.rs",
        from: "if !changed {",
        to: "if !changed && need != Need::Nothing {",
        program: Program::OnControlPlane("rounds"),
        test: "steady::a_host_that_starts_anew_writes_nothing",
    },
    Mutation {
        law: 2,
        fault: "actions run on a status that is no longer current",
        file: "host/src/status/mod.rs",
        from: "if (&live.uid, &live.resource_version) != (&seen.uid, &seen.resource_version) {",
        to: "if live.uid != seen.uid {",
        program: Program::OnControlPlane("control_plane"),
        test: "status::an_unchanged_status_is_a_fence_only_when_it_is_shown_to_be_current",
    },
    Mutation {
        law: 3,
        fault: "a host that starts takes what is stored for done",
        file: "host/src/reconcile/mod.rs",
        from: "        self.admit(&round.object)?;\n",
        to: "        if round.memory.requirements.is_empty() && round.object.json.contains(\"observedGeneration\") {\n\
             return Ok(Done::default());\n}\n",
        program: Program::OnControlPlane("rounds"),
        test: "crash::a_crash_between_any_two_writes_changes_nothing_about_the_end",
    },
    Mutation {
        law: 4,
        fault: "the first child in trouble ends the round's others",
        file: "host/src/apply/mod.rs",
        from: "Err(trouble) => ChildEnded::Failed(trouble),",
        to: "Err(trouble) => {\n\
             let ended = ChildEnded::Failed(trouble);\n\
             children.push(ChildOutcome { key: child.key.clone(), ended });\n\
             break;\n}",
        program: Program::OnControlPlane("control_plane"),
        test: "children::one_failing_child_does_not_stop_the_others",
    },
    Mutation {
        law: 5,
        fault: "the way out of a deletion that hangs is closed",
        file: "host/src/reconcile/mod.rs",
        from: "Stage::LetGo => return self.let_go(round).await,",
        to: "Stage::LetGo => Call::Finalize,",
        program: Program::OnControlPlane("rounds"),
        test: "deletion::a_broken_plugin_says_so_on_the_object_and_a_person_can_let_it_go",
    },
    Mutation {
        law: 6,
        fault: "a round that is cut short is forgotten",
        file: "host/src/queue/mod.rs",
        from: "let interrupted = || Next::failed(Reason::Retry(\"its round was cut short\".into()));",
        to: "let interrupted = || Next::Never;",
        program: Program::Unit,
        test: "queue::tests::a_round_that_is_dropped_half_way_puts_its_object_back",
    },
    Mutation {
        law: 7,
        fault: "children are not checked against grants",
        file: "host/src/plan/mod.rs",
        from: "if !grants.allows(&grant) {",
        to: "if !grants.allows(&grant) && child.slots.len() > 1000 {",
        program: Program::OnControlPlane("rounds"),
        test: "facts::a_plan_without_the_grant_is_refused_as_a_whole",
    },
    Mutation {
        law: 8,
        fault: "secret values are not masked",
        file: "host/src/secrets.rs",
        from: "Some(masks) => masks.blot(text),",
        to: "Some(_) => text.to_owned(),",
        program: Program::OnControlPlane("control_plane"),
        test: "events::a_secret_value_is_masked",
    },
    Mutation {
        law: 9,
        fault: "nobody is told that a plan was refused",
        file: "host/src/reconcile/next.rs",
        from: "                self.tell(round, Unsynced::Refused(refused.clone())).await;\n",
        to: "",
        program: Program::OnControlPlane("rounds"),
        test: "faults::a_plan_that_breaks_the_contract_is_refused",
    },
    Mutation {
        law: 10,
        fault: "a host writes also without the lease",
        file: "host/src/gate.rs",
        from: "let left = lease.remaining().ok_or(NotSent::NotHolder)?;",
        to: "let left = lease.remaining().unwrap_or(std::time::Duration::from_secs(60));",
        program: Program::Unit,
        test: "gate::tests::without_the_lease_what_reads_passes_and_what_writes_does_not",
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::MUTATIONS;

    #[test]
    fn every_law_has_a_fault() {
        let laws: BTreeSet<u8> = MUTATIONS.iter().map(|mutation| mutation.law).collect();
        assert_eq!(laws, (1..=10).collect());
    }

    #[test]
    fn every_fault_has_one_place_in_the_host() {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for mutation in MUTATIONS {
            let text = fs::read_to_string(checkout.join(mutation.file)).unwrap();
            let places = text.matches(mutation.from).count();
            assert_eq!(places, 1, "{}: {}", mutation.file, mutation.from);
        }
    }
}
