//! The command line.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Everything a developer of Windlass runs.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Bring up a cluster and everything that runs on it.
    Up(UpOptions),
    /// Take the cluster down and leave the machine as it was.
    Down(DownOptions),
    /// Print the path of the running cluster's kubeconfig.
    Kubeconfig(ClusterName),
    /// Run kubectl against the running cluster.
    Kubectl(KubectlOptions),
    /// Run every test layer and count.
    Test(TestOptions),
    /// Measure what the host costs.
    Bench(BenchOptions),
    /// Build the plugins that ship with the host, and print their digests.
    Plugins,
    /// Build the plugins in two places from nothing, and see that they are the same.
    Reproduce,
    /// Break each law of the host in a copy, and see that its test turns red.
    Mutations,
    /// Check formatting, lints, dependencies and layout.
    Tidy(TidyOptions),
    /// Write the host's roles anew from what the plugins are granted.
    Roles,
}

/// Which cluster of this machine is meant.
#[derive(Clone, Debug, Args)]
pub(crate) struct ClusterName {
    /// Name of the cluster; several live side by side.
    #[arg(long, default_value = "dev", value_parser = cluster_name)]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct UpOptions {
    #[command(flatten)]
    pub(crate) cluster_name: ClusterName,
    /// Where the cluster comes from.
    #[arg(long, value_enum, default_value_t = Source::Auto)]
    pub(crate) cluster: Source,
    /// Run the host as a process beside the cluster, in the foreground, instead of in it.
    #[arg(long)]
    pub(crate) outside: bool,
}

/// Where a cluster comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Source {
    /// kind or k3d where Docker answers, else this machine.
    Auto,
    /// The cluster that KUBECONFIG points to, with --outside.
    Current,
    /// kind, or k3d where only that is installed: needs Docker.
    Kind,
    /// A real Kubernetes of processes on this machine: needs root, Debian and Go.
    Local,
}

#[derive(Debug, Args)]
pub(crate) struct DownOptions {
    #[command(flatten)]
    pub(crate) cluster_name: ClusterName,
    /// Empty the caches too: binaries, images, logs.
    #[arg(long)]
    pub(crate) purge: bool,
}

#[derive(Debug, Args)]
pub(crate) struct KubectlOptions {
    #[command(flatten)]
    pub(crate) cluster_name: ClusterName,
    /// What kubectl is given.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct TestOptions {
    /// Leave out what needs a cluster.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Run one layer (tidy, unit, go, cluster) or the tests whose name contains this.
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Option<String>,
    /// Repeat so many times, and stop at the first failure.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) times: u32,
}

#[derive(Debug, Args)]
pub(crate) struct BenchOptions {
    /// What to measure: all where nothing is named.
    #[arg(value_enum)]
    only: Vec<Measure>,
    /// How many objects `crowd` makes.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) objects: u32,
    /// How often each fault of `failover` happens.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) times: u32,
}

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Measure {
    /// A round that changes nothing, through the component and natively.
    Round,
    /// The memory of a host that has nothing to do.
    Idle,
    /// A host that starts among many objects: takes a quarter of an hour to make ten thousand.
    Crowd,
    /// What plugins cost: to compile, to start, to keep, and beside others that misbehave.
    Plugins,
    /// One more ServiceMonitor among many, beside prometheus-operator.
    Prometheus,
    /// For how long a MySQL's clients cannot write after each kind of fault, on a cluster: ten times take an hour.
    Failover,
}

impl BenchOptions {
    /// What was asked for.
    pub(crate) fn measures(&self) -> &[Measure] {
        match self.only.is_empty() {
            true => Measure::value_variants(),
            false => &self.only,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct TidyOptions {
    /// Mend what a formatter can mend.
    #[arg(long)]
    pub(crate) fix: bool,
}

/// Reads the command line. A mistake is told in one line, help and version in full.
pub(crate) fn parse() -> Result<Arguments, ExitCode> {
    Arguments::try_parse().map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => error.exit(),
        _ => {
            eprintln!("xtask: {}", one_line(&error.to_string()));
            ExitCode::from(2)
        }
    })
}

fn one_line(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    let what = first.strip_prefix("error: ").unwrap_or(first);
    format!("{what}; `cargo xtask --help` lists what there is")
}

/// A name becomes part of interface and folder names, so it is short and plain.
fn cluster_name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let begins_well = text.starts_with(|c: char| c.is_ascii_lowercase());
    if begins_well && !text.ends_with('-') && text.len() <= 40 && text.chars().all(plain) {
        Ok(text.to_owned())
    } else {
        Err("use up to 40 of a-z, 0-9 and inner hyphens, a letter first".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_mistake_is_told_in_one_line() {
        let error = Arguments::try_parse_from(["xtask", "upp"]).unwrap_err();
        let line = one_line(&error.to_string());
        assert!(line.contains("'upp'"), "{line}");
        assert_eq!(line.lines().count(), 1);
    }

    #[test]
    fn kubectl_is_given_its_arguments_as_they_are() {
        for line in [
            "xtask kubectl --name dev-2 get pods -A",
            "xtask kubectl --name dev-2 -- get pods -A",
        ] {
            let parsed = Arguments::try_parse_from(line.split(' ')).unwrap();
            let Verb::Kubectl(options) = parsed.verb else {
                panic!("{:?}", parsed.verb);
            };
            assert_eq!(options.cluster_name.name, "dev-2");
            assert_eq!(options.arguments, ["get", "pods", "-A"]);
        }
    }

    #[test]
    fn zero_repeats_are_refused() {
        assert!(Arguments::try_parse_from(["xtask", "test", "--times", "0"]).is_err());
    }

    #[test]
    fn names_that_would_break_paths_are_refused() {
        for name in [
            "",
            "Dev",
            "a/b",
            "9lives",
            "dev-",
            "a-name-that-is-far-too-long-to-be-read-by-anybody",
        ] {
            assert!(cluster_name(name).is_err(), "{name}");
        }
        assert_eq!(cluster_name("dev-2").as_deref(), Ok("dev-2"));
    }
}
