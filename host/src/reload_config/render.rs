//! From what is mounted to what the server reads.

use std::borrow::Cow;
use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::Context as _;
use flate2::read::GzDecoder;

/// The largest configuration, unpacked: far above what a Secret can hold, and a bound for a broken one.
const LARGEST: u64 = 256 * 1024 * 1024;

/// What only the Pod knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Variables(Vec<(&'static str, String)>);

impl Variables {
    /// Those of this process' environment; one that is not set is left as it stands.
    pub(super) fn of_process() -> Self {
        let names = ["POD_NAME", "SHARD"];
        let set = names.map(|name| Some((name, std::env::var(name).ok()?)));
        Self(set.into_iter().flatten().collect())
    }

    /// A text with `$(NAME)` replaced.
    fn expand<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut expanded = Cow::Borrowed(text);
        for (name, value) in &self.0 {
            let place = format!("$({name})");
            if expanded.contains(&place) {
                expanded = Cow::Owned(expanded.replace(&place, value));
            }
        }
        expanded
    }
}

/// Writes the configuration, in one piece.
///
/// # Errors
/// When it cannot be read, is no gzip or no text, or cannot be written.
pub(super) fn write(source: &Path, output: &Path, variables: &Variables) -> anyhow::Result<()> {
    let packed =
        std::fs::read(source).with_context(|| format!("failed to read {}", source.display()))?;
    let text = unpack(&packed).with_context(|| format!("failed to unpack {}", source.display()))?;
    let wanted = variables.expand(&text);
    if std::fs::read(output).is_ok_and(|there| there == wanted.as_bytes()) {
        return Ok(());
    }
    replace(output, wanted.as_bytes())
        .with_context(|| format!("failed to write {}", output.display()))
}

/// A configuration that begins as gzip does is unpacked, any other taken as it stands.
fn unpack(packed: &[u8]) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    if packed.starts_with(&[0x1f, 0x8b]) {
        GzDecoder::new(packed)
            .take(LARGEST)
            .read_to_end(&mut bytes)?;
    } else {
        bytes.extend_from_slice(packed);
    }
    String::from_utf8(bytes).context("it is not text")
}

fn replace(output: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let folder = output.parent().context("it has no folder")?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(readable)?;
    file.persist(output)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_only_the_pod_knows_is_filled_in() {
        let home = tempfile::tempdir().unwrap();
        let (source, output) = (home.path().join("in.gz"), home.path().join("out.yaml"));
        std::fs::write(
            &source,
            gzip("replica: $(POD_NAME)\nregex: $(SHARD);|$1|$(OTHER)\n"),
        )
        .unwrap();
        let variables = Variables(vec![("POD_NAME", "a-0".into()), ("SHARD", "1".into())]);
        write(&source, &output, &variables).unwrap();
        let text = std::fs::read_to_string(&output).unwrap();
        assert_eq!(text, "replica: a-0\nregex: 1;|$1|$(OTHER)\n");
    }

    #[test]
    fn a_broken_configuration_leaves_the_last_one() {
        let home = tempfile::tempdir().unwrap();
        let (source, output) = (home.path().join("in.gz"), home.path().join("out.yaml"));
        std::fs::write(&output, "good").unwrap();
        std::fs::write(&source, &gzip("next")[..12]).unwrap();
        assert!(write(&source, &output, &Variables::default()).is_err());
        assert_eq!(std::fs::read_to_string(&output).unwrap(), "good");
    }
}
