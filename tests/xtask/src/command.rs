//! Running other programs: what they are called with, where their output goes, how they failed.

use std::env;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, anyhow, bail};

/// The command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program());
    std::iter::once(name)
        .chain(command.get_args())
        .map(quoted)
        .collect::<Vec<_>>()
        .join(" ")
}

fn quoted(argument: &OsStr) -> String {
    let text = argument.to_string_lossy();
    if text.is_empty() || text.contains(char::is_whitespace) {
        format!("'{text}'")
    } else {
        text.into_owned()
    }
}

/// Cargo in a checkout, as if a person had called it.
///
/// What the cargo that runs this program says about this program is taken away: build scripts that
/// read it (ring's does) would build half of the dependencies anew for every change of caller.
pub(crate) fn cargo(checkout: &Path) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(checkout);
    let about_this_program = ["CARGO_MANIFEST_", "CARGO_PKG_"];
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if about_this_program.iter().any(|part| text.starts_with(part)) {
            cargo.env_remove(&name);
        }
    }
    cargo
}

/// Runs a short command and returns what it printed.
///
/// # Errors
/// When the program is missing or fails; the message ends with the last line it wrote.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let output = output(command)?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let last = errors
            .trim_end()
            .lines()
            .next_back()
            .unwrap_or("it printed nothing");
        bail!(
            "failed to run `{}` ({}): {last}",
            shown(command),
            output.status
        );
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("failed to read the output of `{}` as text", shown(command)))
}

/// Runs a short command to its end, whatever its exit status.
pub(crate) fn output(command: &mut Command) -> Result<Output> {
    command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| start_error(command, &error))
}

/// Whether the command can be started and succeeds.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    output(command).is_ok_and(|output| output.status.success())
}

/// What to say when a program could not be started at all.
pub(crate) fn start_error(command: &Command, error: &std::io::Error) -> anyhow::Error {
    let program = command.get_program().to_string_lossy();
    match error.kind() {
        ErrorKind::NotFound => anyhow!("failed to find the program `{program}`: install it first"),
        _ => anyhow!("failed to start `{}`: {error}", shown(command)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_typed() {
        let mut command = Command::new("/opt/go/bin/go");
        command.args(["build", "-ldflags", "-s -w"]);
        assert_eq!(shown(&command), "go build -ldflags '-s -w'");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = capture(&mut Command::new("no-such-program-here")).unwrap_err();
        assert!(
            error.to_string().contains("no-such-program-here"),
            "{error}"
        );
    }

    #[test]
    fn a_failure_ends_with_the_last_line_written() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo first >&2; echo the reason >&2; exit 3"]);
        let error = capture(&mut command).unwrap_err().to_string();
        assert!(error.ends_with("the reason"), "{error}");
    }
}
