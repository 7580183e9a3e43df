//! `windlass backup`: copies of files under a place, complete or not there. README.md beside this file says how it
//! is used and what it guarantees.

mod args;
mod fetch;
mod manifest;
mod place;
mod report;
mod retention;
mod store;

pub use args::{BackupArgs, BackupCommand};

use crate::clock::{Clock, SystemClock};
use crate::tls;
use place::Place;

/// `windlass backup …`.
///
/// # Errors
/// In words, with the step that failed; for `store` also in the termination message.
pub async fn run(arguments: &BackupArgs) -> anyhow::Result<()> {
    tls::choose_cryptography();
    match &arguments.command {
        BackupCommand::Store(store) => report::told(&store.report, store::store(store).await),
        BackupCommand::Fetch(fetch) => fetch::fetch(fetch).await,
        BackupCommand::List(list) => {
            let place = Place::open(&list.place)?;
            let complete = retention::found(&place).await?.complete;
            println!("{}", serde_json::to_string_pretty(&complete)?);
            Ok(())
        }
        BackupCommand::Prune(prune) => {
            let place = Place::open(&prune.place)?;
            let removed = retention::prune(&place, prune.keep(), SystemClock.now()).await?;
            println!("{}", serde_json::to_string(&removed)?);
            Ok(())
        }
    }
}
