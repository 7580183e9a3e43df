//! The host's log: text for a person at a terminal, JSON for a machine.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// What is logged when nothing else is asked for.
const DEFAULT: &str = "info,kube=warn,hyper=warn,tower=warn";

/// Starts logging to standard error. `filter` is of tracing's form, such as `debug` or `windlass::apply=trace`;
/// None takes the default.
///
/// # Errors
/// When the filter is none.
pub fn start(filter: Option<&str>) -> anyhow::Result<()> {
    let filter = filter.unwrap_or(DEFAULT);
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        anyhow::anyhow!("the log filter \"{filter}\" is not understood: {error}")
    })?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    if std::io::stderr().is_terminal() {
        log.init();
    } else {
        log.json().flatten_event(true).with_span_list(false).init();
    }
    Ok(())
}
