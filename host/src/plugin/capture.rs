//! What a plugin prints: the last of it is kept, since a panic's text comes there.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

/// Bytes kept of what one call prints: the text of a panic, and a little before it.
const KEPT: usize = 8 << 10;

/// A pipe that never blocks, never fails and keeps the last [`KEPT`] bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Capture(Arc<Mutex<VecDeque<u8>>>);

impl Capture {
    /// What was printed since the last time this was asked.
    pub(super) fn take(&self) -> String {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.drain(..).collect();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }

    fn append(&self, bytes: &[u8]) {
        let last = &bytes[bytes.len().saturating_sub(KEPT)..];
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let surplus = (kept.len() + last.len()).saturating_sub(KEPT);
        kept.drain(..surplus);
        kept.extend(last);
    }
}

#[async_trait::async_trait]
impl Pollable for Capture {
    async fn ready(&mut self) {}
}

impl OutputStream for Capture {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.append(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(KEPT)
    }
}

impl AsyncWrite for Capture {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        self.append(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl IsTerminal for Capture {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Capture {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_and_given_once() {
        let capture = Capture::default();
        capture.append(&[b'a'; KEPT]);
        capture.append(b"the end");
        let text = capture.take();
        assert_eq!(text.len(), KEPT);
        assert!(text.ends_with("aathe end"));
        assert_eq!(capture.take(), "");
        capture.append(&[b'b'; 3 * KEPT]);
        assert_eq!(capture.take().len(), KEPT);
    }
}
