//! The command behind `cargo xtask`: brings up a cluster, tests everything on it, takes it down.

mod args;
mod artifact;
mod bench;
mod cluster;
mod command;
mod down;
mod duration;
mod install;
mod kubeconfig;
mod mutations;
mod prepare;
mod reproduce;
mod stage;
mod test;
mod tidy;
mod up;
mod workplace;

use std::process::ExitCode;

use anyhow::Result;

use args::{Arguments, Verb};
use workplace::Workplace;

fn main() -> ExitCode {
    let arguments = match args::parse() {
        Ok(arguments) => arguments,
        Err(code) => return code,
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let workplace = Workplace::find()?;
    match &arguments.verb {
        Verb::Up(options) => up::run(&workplace, options),
        Verb::Down(options) => down::run(&workplace, options),
        Verb::Kubeconfig(options) => kubeconfig::run(&workplace, options),
        Verb::Kubectl(options) => kubeconfig::kubectl(&workplace, options),
        Verb::Test(options) => test::run(&workplace, options),
        Verb::Bench(options) => bench::run(&workplace, options),
        Verb::Plugins => install::run_plugins(&workplace),
        Verb::Reproduce => reproduce::run(&workplace),
        Verb::Mutations => mutations::run(&workplace),
        Verb::Tidy(options) => tidy::run(&workplace, options),
        Verb::Roles => install::run_roles(&workplace),
    }
}
