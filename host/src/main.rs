//! The one binary.

mod kit;

use std::process::ExitCode;

use clap::Parser;
use windlass::args::{Arguments, Command, PluginTool};
use windlass::{ask, author, backup, oci, plugin, reload_config, start, stop, telemetry};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = telemetry::start(arguments.log.as_deref()).and_then(|()| run(arguments.command));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("windlass: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    if let Command::CompileComponent { input, output } = command {
        return plugin::compile::compile_component(&input, &output);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match command {
            Command::Run(arguments) => start::run(arguments).await,
            Command::Crds(arguments) => start::print_crds(&arguments).await,
            Command::Rbac(arguments) => start::print_rbac(&arguments).await,
            Command::Explain(arguments) => ask::explain(&arguments).await,
            Command::Backup(arguments) => unless_stopped(backup::run(&arguments)).await,
            Command::ReloadConfig(arguments) => reload_config::run(arguments).await,
            Command::Plugin(arguments) => match arguments.command {
                PluginTool::New(arguments) => author::run_new(&arguments, &kit::KIT),
                PluginTool::Build(arguments) => author::run_build(&arguments).await,
                PluginTool::Check(arguments) => author::run_check(&arguments).await,
                PluginTool::Inspect(arguments) => author::run_inspect(&arguments).await,
                PluginTool::Push(arguments) => oci::tool::run_push(&arguments).await,
                PluginTool::Pull(arguments) => oci::tool::run_pull(&arguments).await,
                PluginTool::Compile { into, components } => {
                    start::compile(&into, &components).await
                }
            },
            Command::CompileComponent { .. } => Ok(()),
        }
    })
}

/// Runs what is of no use half done, and fails when it is asked to stop before its end.
async fn unless_stopped(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    let stop = stop::signals()?;
    tokio::select! {
        done = work => done,
        () = stop::stopped(stop) => anyhow::bail!("asked to stop before it was done"),
    }
}
