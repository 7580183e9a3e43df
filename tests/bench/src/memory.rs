//! How much memory a process takes.

use std::fs;

use anyhow::{Context, Result};

/// Bytes of memory, as the kernel counts them in `smaps_rollup` (proc(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Pages that this process alone has and has written: nobody else uses them, and nothing can be dropped.
    pub private: u64,
    /// All pages in memory, those of the program's file among them, which another process of it shares.
    pub resident: u64,
}

/// Bytes as people read them.
pub fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// The memory of a process.
///
/// # Errors
/// When there is no such process.
pub fn of(process: u32) -> Result<Memory> {
    let path = format!("/proc/{process}/smaps_rollup");
    let text = fs::read_to_string(&path).with_context(|| format!("failed to read {path}"))?;
    let bytes = |wanted: &str| -> u64 {
        let value = text.lines().find_map(|line| {
            let (name, rest) = line.split_once(':')?;
            (name == wanted).then(|| rest.trim().trim_end_matches(" kB").parse::<u64>().ok())?
        });
        value.unwrap_or_default() * 1024
    };
    Ok(Memory {
        private: bytes("Private_Dirty"),
        resident: bytes("Rss"),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_that_allocates_has_more() {
        let me = std::process::id();
        let before = super::of(me).unwrap();
        let block = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = super::of(me).unwrap();
        let grown = 60 << 20;
        assert!(
            after.private >= before.private + grown,
            "{before:?} {after:?}"
        );
        assert!(after.resident >= before.resident + grown);
        drop(block);
    }
}
