//! How much memory a process has for itself.

use std::fs;

use anyhow::{Context, Result};

/// Bytes that would be free if this process ended: its private pages, as the kernel counts them in `smaps_rollup`
/// (proc(5)). Pages of files that others map too are not among them.
///
/// # Errors
/// When there is no such process.
pub fn private(process: u32) -> Result<u64> {
    let path = format!("/proc/{process}/smaps_rollup");
    let text = fs::read_to_string(&path).with_context(|| format!("failed to read {path}"))?;
    let kibibytes = |line: &str| -> Option<u64> {
        let (name, rest) = line.split_once(':')?;
        matches!(name, "Private_Clean" | "Private_Dirty" | "Private_Hugetlb")
            .then(|| rest.trim().trim_end_matches(" kB").parse().ok())
            .flatten()
    };
    Ok(text.lines().filter_map(kibibytes).sum::<u64>() * 1024)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_process_that_allocates_has_more() {
        let me = std::process::id();
        let before = super::private(me).unwrap();
        let block = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = super::private(me).unwrap();
        assert!(after >= before + (60 << 20), "{before} {after}");
        drop(block);
    }
}
