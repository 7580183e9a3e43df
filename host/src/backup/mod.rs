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
use args::{ListArgs, PruneArgs};
use place::{Place, masked};

/// `windlass backup …`.
///
/// # Errors
/// In words, with the step that failed and without credentials; for `store` also in the termination message.
pub async fn run(arguments: &BackupArgs) -> anyhow::Result<()> {
    tls::choose_cryptography();
    match &arguments.command {
        BackupCommand::Store(store) => {
            let stored = store::store(store).await;
            let stored = stored.map_err(|error| masked(&store.place, &error));
            report::told(&store.report, stored)
        }
        BackupCommand::Fetch(fetch) => {
            let fetched = fetch::fetch(fetch).await;
            fetched.map_err(|error| masked(&fetch.place, &error))
        }
        BackupCommand::List(list) => {
            let listed = print_complete(list).await;
            listed.map_err(|error| masked(&list.place, &error))
        }
        BackupCommand::Prune(prune) => {
            let pruned = print_removed(prune).await;
            pruned.map_err(|error| masked(&prune.place, &error))
        }
    }
}

async fn print_complete(list: &ListArgs) -> anyhow::Result<()> {
    let place = Place::open(&list.place)?;
    let complete = retention::found(&place).await?.complete;
    println!("{}", serde_json::to_string_pretty(&complete)?);
    Ok(())
}

async fn print_removed(prune: &PruneArgs) -> anyhow::Result<()> {
    let place = Place::open(&prune.place)?;
    let removed = retention::prune(&place, prune.keep(), SystemClock.now()).await?;
    println!("{}", serde_json::to_string(&removed)?);
    Ok(())
}
