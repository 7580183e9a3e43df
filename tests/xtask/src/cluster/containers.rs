//! A cluster in containers, made by kind or k3d.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::{Cluster, installed_kubectl};
use crate::command;
use crate::stage::Log;
use crate::workplace::Workplace;

/// A program that makes clusters in containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Kind,
    K3d,
}

impl Tool {
    fn program(self) -> &'static str {
        match self {
            Self::Kind => "kind",
            Self::K3d => "k3d",
        }
    }

    fn list(self) -> &'static [&'static str] {
        match self {
            Self::Kind => &["get", "clusters"],
            Self::K3d => &["cluster", "list", "--no-headers"],
        }
    }

    fn create(self, cluster: &str, kubeconfig: &Path) -> Vec<OsString> {
        let path = kubeconfig.as_os_str();
        match self {
            Self::Kind => words(&["create", "cluster", "--wait", "120s", "--name", cluster])
                .chain(["--kubeconfig".into(), path.to_owned()])
                .collect(),
            Self::K3d => {
                let keep_own = ["--kubeconfig-update-default=false", "--wait", cluster];
                words(&["cluster", "create"])
                    .chain(words(&keep_own))
                    .collect()
            }
        }
    }

    fn delete(self, cluster: &str, kubeconfig: &Path) -> Vec<OsString> {
        let path = kubeconfig.as_os_str();
        match self {
            Self::Kind => words(&["delete", "cluster", "--name", cluster, "--kubeconfig"])
                .chain([path.to_owned()])
                .collect(),
            Self::K3d => words(&["cluster", "delete", cluster]).collect(),
        }
    }

    fn load_image(self, cluster: &str, archive: &Path) -> Vec<OsString> {
        let (verb, option): (&[_], _) = match self {
            Self::Kind => (&["load", "image-archive"], "--name"),
            Self::K3d => (&["image", "import"], "--cluster"),
        };
        words(verb)
            .chain([archive.into(), option.into(), cluster.into()])
            .collect()
    }

    fn print_kubeconfig(self, cluster: &str) -> Vec<OsString> {
        match self {
            Self::Kind => words(&["get", "kubeconfig", "--name", cluster]).collect(),
            Self::K3d => words(&["kubeconfig", "get", cluster]).collect(),
        }
    }
}

fn words(words: &[&str]) -> impl Iterator<Item = OsString> {
    words
        .iter()
        .map(OsString::from)
        .collect::<Vec<_>>()
        .into_iter()
}

/// The first of the two that is on the PATH.
pub(crate) fn installed_tool() -> Option<Tool> {
    [Tool::Kind, Tool::K3d]
        .into_iter()
        .find(|tool| on_path(tool.program()).is_some())
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

/// One cluster of such a tool.
pub(crate) struct Containers {
    tool: Tool,
    program: PathBuf,
    cluster: String,
    kubeconfig: PathBuf,
}

impl Containers {
    pub(crate) fn new(tool: Tool, workplace: &Workplace, name: &str) -> Self {
        let program = on_path(tool.program()).unwrap_or_else(|| tool.program().into());
        Self::with_program(tool, program, workplace, name)
    }

    fn with_program(tool: Tool, program: PathBuf, workplace: &Workplace, name: &str) -> Self {
        let cluster = format!("windlass-{name}");
        let kubeconfig = workplace
            .cache()
            .join("containers")
            .join(&cluster)
            .with_extension("yaml");
        Self {
            tool,
            program,
            cluster,
            kubeconfig,
        }
    }

    fn is_running(&self) -> Result<bool> {
        let listed = command::capture(Command::new(&self.program).args(self.tool.list()))?;
        Ok(listed
            .lines()
            .any(|line| line.split_whitespace().next() == Some(&self.cluster)))
    }

    fn write_kubeconfig(&self) -> Result<()> {
        let print = self.tool.print_kubeconfig(&self.cluster);
        let text = command::capture(Command::new(&self.program).args(print))?;
        fs::write(&self.kubeconfig, text)
            .with_context(|| format!("failed to write {}", self.kubeconfig.display()))
    }

    fn make_folder(&self) -> Result<()> {
        let folder = self
            .kubeconfig
            .parent()
            .context("a kubeconfig lies in a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))
    }
}

impl Cluster for Containers {
    fn start(&self, log: &Log) -> Result<()> {
        self.make_folder()?;
        if !self.is_running()? {
            let create = self.tool.create(&self.cluster, &self.kubeconfig);
            log.run(Command::new(&self.program).args(create))?;
        }
        self.write_kubeconfig()
    }

    fn stop(&self, log: &Log) -> Result<()> {
        if self.is_running()? {
            let delete = self.tool.delete(&self.cluster, &self.kubeconfig);
            log.run(Command::new(&self.program).args(delete))?;
        }
        match fs::remove_file(&self.kubeconfig) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error)
                .with_context(|| format!("failed to remove {}", self.kubeconfig.display())),
            _ => Ok(()),
        }
    }

    fn kubeconfig(&self) -> Result<Option<PathBuf>> {
        let is_there = self.kubeconfig.is_file() && self.is_running()?;
        Ok(is_there.then(|| self.kubeconfig.clone()))
    }

    fn load_image(&self, archive: &Path, log: &Log) -> Result<()> {
        let load = self.tool.load_image(&self.cluster, archive);
        log.run(Command::new(&self.program).args(load))
    }

    fn kubectl(&self) -> Result<Command> {
        installed_kubectl(self)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tempfile::TempDir;

    use super::*;

    /// A stand-in for kind or k3d that writes down what it was called with and lists the
    /// clusters that the file `clusters` beside it names.
    struct StandIn {
        folder: TempDir,
    }

    impl StandIn {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let program = folder.path().join("tool");
            let script = "#!/bin/sh\n\
                here=$(dirname \"$0\")\n\
                echo \"$@\" >>\"$here/calls\"\n\
                case \"$*\" in *'get clusters'|*list*) cat \"$here/clusters\" 2>/dev/null;; esac\n\
                exit 0\n";
            fs::write(&program, script).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            Self { folder }
        }

        fn cluster(&self, tool: Tool) -> Containers {
            let cache = self.folder.path().to_owned();
            let workplace = Workplace::new(cache.clone(), cache);
            Containers::with_program(tool, self.folder.path().join("tool"), &workplace, "dev")
        }

        fn lists(&self, line: &str) {
            fs::write(self.folder.path().join("clusters"), line).unwrap();
        }

        fn calls(&self) -> Vec<String> {
            let calls = fs::read_to_string(self.folder.path().join("calls")).unwrap();
            let folder = self.folder.path().to_string_lossy();
            calls
                .lines()
                .map(|line| line.replace(&*folder, "CACHE"))
                .collect()
        }

        fn log(&self) -> Log {
            Log::create(self.folder.path(), "log").unwrap()
        }
    }

    #[test]
    fn kind_is_called_with_a_name_and_a_kubeconfig_of_its_own() {
        let stand_in = StandIn::new();
        stand_in.cluster(Tool::Kind).start(&stand_in.log()).unwrap();
        assert_eq!(
            stand_in.calls(),
            [
                "get clusters",
                "create cluster --wait 120s --name windlass-dev --kubeconfig \
                 CACHE/containers/windlass-dev.yaml",
                "get kubeconfig --name windlass-dev",
            ]
        );
    }

    #[test]
    fn k3d_leaves_the_users_kubeconfig_alone() {
        let stand_in = StandIn::new();
        stand_in.cluster(Tool::K3d).start(&stand_in.log()).unwrap();
        assert_eq!(
            stand_in.calls(),
            [
                "cluster list --no-headers",
                "cluster create --kubeconfig-update-default=false --wait windlass-dev",
                "kubeconfig get windlass-dev",
            ]
        );
    }

    #[test]
    fn a_running_cluster_is_not_made_again() {
        let stand_in = StandIn::new();
        stand_in.lists("windlass-dev  1/1  0/0  true\n");
        let cluster = stand_in.cluster(Tool::K3d);
        cluster.start(&stand_in.log()).unwrap();
        assert!(
            !stand_in
                .calls()
                .iter()
                .any(|call| call.starts_with("cluster create"))
        );
        assert!(cluster.kubeconfig().unwrap().is_some());
    }

    #[test]
    fn an_image_is_loaded_into_the_cluster_of_this_name() {
        let stand_in = StandIn::new();
        for tool in [Tool::Kind, Tool::K3d] {
            let cluster = stand_in.cluster(tool);
            cluster
                .load_image(Path::new("host.tar"), &stand_in.log())
                .unwrap();
        }
        assert_eq!(
            stand_in.calls(),
            [
                "load image-archive host.tar --name windlass-dev",
                "image import host.tar --cluster windlass-dev",
            ]
        );
    }

    #[test]
    fn only_the_cluster_of_this_name_is_deleted() {
        let stand_in = StandIn::new();
        stand_in.lists("windlass-other\n");
        stand_in.cluster(Tool::Kind).stop(&stand_in.log()).unwrap();
        assert_eq!(stand_in.calls(), ["get clusters"]);
        stand_in.lists("windlass-other\nwindlass-dev\n");
        stand_in.cluster(Tool::Kind).stop(&stand_in.log()).unwrap();
        let last = stand_in.calls().pop().unwrap();
        assert!(
            last.starts_with("delete cluster --name windlass-dev "),
            "{last}"
        );
    }
}
