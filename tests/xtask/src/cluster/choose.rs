//! Which source of clusters serves on this machine.

use anyhow::{Result, bail};

use super::{Tool, containers};
use crate::args::Source;
use crate::command;
use crate::prepare::is_debian;
use std::process::Command;

/// A source that serves here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Current,
    Containers(Tool),
    Local,
}

/// What there is on this machine that sources depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    docker_answers: bool,
    tool: Option<Tool>,
    root: bool,
    debian: bool,
    go: bool,
}

impl Machine {
    fn look() -> Self {
        Self {
            docker_answers: command::succeeds(Command::new("docker").arg("info")),
            tool: containers::installed_tool(),
            root: nix::unistd::geteuid().is_root(),
            debian: is_debian(),
            go: command::succeeds(Command::new("go").arg("version")),
        }
    }

    /// What is missing for a cluster in containers.
    fn lacks_for_containers(&self) -> Option<&'static str> {
        match (self.docker_answers, self.tool) {
            (false, _) => Some("Docker does not answer"),
            (true, None) => Some("neither kind nor k3d is installed"),
            (true, Some(_)) => None,
        }
    }

    /// What is missing for a cluster of processes.
    fn lacks_for_local(&self) -> Option<&'static str> {
        match self {
            Self { root: false, .. } => Some("you are not root"),
            Self { debian: false, .. } => Some("this is not Debian"),
            Self { go: false, .. } => Some("Go is missing"),
            _ => None,
        }
    }
}

/// Picks the source that was asked for, or the first that serves.
///
/// # Errors
/// When it cannot serve here, with what is missing.
pub(crate) fn choose(source: Source) -> Result<Choice> {
    choose_on(&Machine::look(), source)
}

fn choose_on(machine: &Machine, source: Source) -> Result<Choice> {
    match source {
        Source::Current => Ok(Choice::Current),
        Source::Kind => containers_on(machine),
        Source::Local => local_on(machine),
        Source::Auto => containers_on(machine)
            .or_else(|_| local_on(machine))
            .or_else(|_| {
                bail!(
                    "no cluster can be made here: {} (kind, k3d), {} (local)",
                    machine.lacks_for_containers().unwrap_or_default(),
                    machine.lacks_for_local().unwrap_or_default(),
                )
            }),
    }
}

fn containers_on(machine: &Machine) -> Result<Choice> {
    match (machine.lacks_for_containers(), machine.tool) {
        (None, Some(tool)) => Ok(Choice::Containers(tool)),
        (lack, _) => bail!("no cluster in containers: {}", lack.unwrap_or_default()),
    }
}

fn local_on(machine: &Machine) -> Result<Choice> {
    match machine.lacks_for_local() {
        None => Ok(Choice::Local),
        Some(lack) => bail!("no cluster of processes on this machine: {lack}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT_ON_DEBIAN: Machine = Machine {
        docker_answers: false,
        tool: None,
        root: true,
        debian: true,
        go: true,
    };
    const WITH_KIND: Machine = Machine {
        docker_answers: true,
        tool: Some(Tool::Kind),
        root: false,
        ..ROOT_ON_DEBIAN
    };

    #[test]
    fn auto_prefers_containers_and_falls_back_to_this_machine() {
        assert_eq!(
            choose_on(&WITH_KIND, Source::Auto).unwrap(),
            Choice::Containers(Tool::Kind)
        );
        assert_eq!(
            choose_on(&ROOT_ON_DEBIAN, Source::Auto).unwrap(),
            Choice::Local
        );
        let silent = Machine {
            docker_answers: false,
            root: true,
            ..WITH_KIND
        };
        assert_eq!(choose_on(&silent, Source::Auto).unwrap(), Choice::Local);
    }

    #[test]
    fn what_is_missing_is_named() {
        let cases = [
            (
                Machine {
                    root: false,
                    ..ROOT_ON_DEBIAN
                },
                Source::Local,
                "you are not root",
            ),
            (
                Machine {
                    debian: false,
                    ..ROOT_ON_DEBIAN
                },
                Source::Local,
                "this is not Debian",
            ),
            (
                Machine {
                    go: false,
                    ..ROOT_ON_DEBIAN
                },
                Source::Local,
                "Go is missing",
            ),
            (ROOT_ON_DEBIAN, Source::Kind, "Docker does not answer"),
            (
                Machine {
                    tool: None,
                    ..WITH_KIND
                },
                Source::Kind,
                "neither kind nor k3d",
            ),
            (
                Machine {
                    root: false,
                    ..ROOT_ON_DEBIAN
                },
                Source::Auto,
                "you are not root",
            ),
        ];
        for (machine, source, expected) in cases {
            let error = choose_on(&machine, source).unwrap_err().to_string();
            assert!(
                error.contains(expected),
                "{source:?} on {machine:?}: {error}"
            );
            assert_eq!(error.lines().count(), 1);
        }
    }
}
