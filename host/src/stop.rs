//! SIGTERM and SIGINT: the first process of a container dies of neither unless it asks to be told.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// True once SIGTERM or SIGINT came.
///
/// # Errors
/// When the process cannot be told of signals.
pub fn signals() -> std::io::Result<watch::Receiver<bool>> {
    let (mut terminate, mut interrupt) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping: what is being done may end");
        let _ = sender.send(true);
    });
    Ok(receiver)
}

/// Waits until somebody says so.
pub async fn stopped(mut stop: watch::Receiver<bool>) {
    // A sender that is gone has said what it had to say.
    let _ = stop.wait_for(|stop| *stop).await;
}
