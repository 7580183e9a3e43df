//! Which contract a component was built for, read from its bytes: before anything of it is compiled or run.
//!
//! A component's outermost imports and exports carry names with versions, such as
//! `windlass:plugin/operator@0.1.0`. The engine's own words about one that does not fit speak of records and
//! fields; these speak of what an author can mend.

use semver::Version;
use wasmparser::{Encoding, Parser, Payload};

use crate::plugin::limits::Bytes;

/// The version of `windlass:plugin` that this host speaks.
pub const CONTRACT: Version = Version::new(0, 1, 0);

/// The largest component that is read: interpreters are a third of it.
pub const LARGEST: Bytes = Bytes::mebi(64);

/// What a plugin must export, without its version.
const OPERATOR: &str = "windlass:plugin/operator";

/// The package of the contract.
const PACKAGE: &str = "windlass:plugin/";

/// What a plugin may import of WASI 0.2. All of it is inert; `sandbox` links the same.
const INERT: [&str; 16] = [
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/insecure-seed",
];

/// What stands on the outside of a component: the names of its imports and exports, versions included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// What it wants to be given.
    pub imports: Vec<String>,
    /// What it offers.
    pub exports: Vec<String>,
}

/// Bytes that are no component.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAComponent {
    /// Nothing at all.
    #[error("the file is empty")]
    Empty,
    /// Another kind of file.
    #[error("the file is not WebAssembly: it begins with {0:?} and not with \\0asm")]
    NotWasm(String),
    /// WebAssembly of the older form.
    #[error(
        "the file is a core WebAssembly module, not a component: build for wasm32-wasip2, or with your language's componentize tool"
    )]
    CoreModule,
    /// Cut off or damaged.
    #[error("the file is a damaged component: {0}")]
    Damaged(String),
}

/// One way in which a component does not fit this host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// It was built for another version of the contract.
    #[error(
        "the component was built for windlass:plugin@{built}, this host speaks windlass:plugin@{CONTRACT}: build it with the SDK and the wit/ of this release, or run it on a host of version {built}"
    )]
    OtherContract {
        /// Its version.
        built: String,
    },
    /// It is some other component.
    #[error(
        "the component exports no {OPERATOR}@{CONTRACT}: it is not a Windlass plugin, or its world was not exported"
    )]
    NoOperator,
    /// It wants to reach what no plugin can.
    #[error("the component imports {name}, which no plugin is given: {remedy}")]
    ForeignImport {
        /// The import.
        name: String,
        /// What to do about it.
        remedy: &'static str,
    },
}

impl Outline {
    /// Reads the outside of a component.
    ///
    /// # Errors
    /// When the bytes are no component, or a damaged one.
    pub fn read(wasm: &[u8]) -> Result<Self, NotAComponent> {
        recognise(wasm)?;
        let mut outline = Self::default();
        let mut depth = 0_u32;
        for payload in Parser::new(0).parse_all(wasm) {
            let payload = payload.map_err(|error| NotAComponent::Damaged(error.to_string()))?;
            match payload {
                Payload::Version { encoding, .. } => {
                    if depth == 0 && encoding == Encoding::Module {
                        return Err(NotAComponent::CoreModule);
                    }
                    depth += 1;
                }
                Payload::End(_) => depth = depth.saturating_sub(1),
                other if depth == 1 => outline.note(other)?,
                _ => {}
            }
        }
        Ok(outline)
    }

    fn note(&mut self, payload: Payload<'_>) -> Result<(), NotAComponent> {
        let damaged =
            |error: wasmparser::BinaryReaderError| NotAComponent::Damaged(error.to_string());
        match payload {
            Payload::ComponentImportSection(imports) => {
                for import in imports {
                    self.imports
                        .push(import.map_err(damaged)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(exports) => {
                for export in exports {
                    self.exports
                        .push(export.map_err(damaged)?.name.name.to_owned());
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Everything that keeps this component from being a plugin of this host, as far as names tell.
    pub fn misfits(&self) -> Vec<Misfit> {
        let mut misfits: Vec<_> = self.contract_misfit().into_iter().collect();
        misfits.extend(self.imports.iter().filter_map(|name| foreign(name)));
        misfits
    }

    /// The version of the contract that it was built for, if it is a plugin at all.
    pub fn contract(&self) -> Option<&str> {
        let mut exports = self.exports.iter();
        exports.find_map(|name| match name.split_once('@') {
            Some((OPERATOR, version)) => Some(version),
            _ => None,
        })
    }

    fn contract_misfit(&self) -> Option<Misfit> {
        match self.contract() {
            None => Some(Misfit::NoOperator),
            Some(built) if is_spoken(built) => None,
            Some(built) => Some(Misfit::OtherContract {
                built: built.to_owned(),
            }),
        }
    }
}

/// Why a component that fits by its names was refused by the engine: `why` is the engine's word. A function of
/// the contract has another shape there, so it was built from another text of the same version.
pub fn other_shape(why: &str) -> String {
    format!(
        "the component was built from another text of windlass:plugin@{CONTRACT} than this host's ({why}): build it with the SDK and the wit/ of this release"
    )
}

/// What keeps a component that the engine refused from being a plugin, in an author's words. `why` is the engine's.
pub fn refused(wasm: &[u8], why: &str) -> String {
    match Outline::read(wasm) {
        Err(not) => not.to_string(),
        Ok(outline) => {
            let misfits: Vec<_> = outline.misfits().iter().map(ToString::to_string).collect();
            match misfits.is_empty() {
                true => other_shape(why),
                false => misfits.join("; "),
            }
        }
    }
}

fn recognise(wasm: &[u8]) -> Result<(), NotAComponent> {
    if wasm.is_empty() {
        return Err(NotAComponent::Empty);
    }
    if !wasm.starts_with(b"\0asm") {
        let beginning = String::from_utf8_lossy(&wasm[..wasm.len().min(12)]);
        return Err(NotAComponent::NotWasm(beginning.into_owned()));
    }
    Ok(())
}

/// A host serves its own minor version.
fn is_spoken(version: &str) -> bool {
    Version::parse(version)
        .is_ok_and(|built| (built.major, built.minor) == (CONTRACT.major, CONTRACT.minor))
}

fn foreign(name: &str) -> Option<Misfit> {
    let (interface, version) = name.split_once('@').unwrap_or((name, ""));
    let known = match interface.starts_with(PACKAGE) {
        // Another version of the contract is told once, not for each of its interfaces.
        true => true,
        false => INERT.contains(&interface) && version.starts_with("0.2."),
    };
    (!known).then(|| Misfit::ForeignImport {
        name: name.to_owned(),
        remedy: remedy(interface),
    })
}

fn remedy(interface: &str) -> &'static str {
    let package = interface.split('/').next().unwrap_or_default();
    match package {
        "wasi:random" => {
            "decisions may not depend on chance; ask the host for random values with a slot, and leave out crates that seed themselves"
        }
        "wasi:filesystem" => "it has no files: include what it needs when it is built",
        "wasi:sockets" | "wasi:http" => {
            "it opens no connections: say with `need` what to ask, and the host asks"
        }
        "wasi:clocks" => "take the time from the request",
        "wasi:cli" | "wasi:io" => "build it for WASI 0.2 (wasm32-wasip2)",
        _ => "build it against world windlass:plugin/plugin alone",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(imports: &[&str], exports: &[&str]) -> Outline {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Outline {
            imports: owned(imports),
            exports: owned(exports),
        }
    }

    #[test]
    fn the_contract_is_the_one_of_the_wit_file() {
        let wit = include_str!("../../../wit/plugin.wit");
        assert!(wit.contains(&format!("package windlass:plugin@{CONTRACT};")));
    }

    #[test]
    fn what_is_no_component_is_named_for_what_it_is() {
        for (name, bytes, hint) in [
            ("nothing", &b""[..], "empty"),
            ("text", b"#!/bin/sh\nexit 0\n", "#!/bin/sh"),
            (
                "a core module",
                b"\0asm\x01\0\0\0",
                "core WebAssembly module",
            ),
            ("a cut header", b"\0asm\x0d", "damaged"),
            ("a cut section", b"\0asm\x0d\0\x01\0\x0a\xff", "damaged"),
        ] {
            let error = Outline::read(bytes).expect_err(name).to_string();
            assert!(error.contains(hint), "{name}: {error}");
        }
    }

    #[test]
    fn a_component_without_anything_is_no_plugin() {
        let empty = Outline::read(b"\0asm\x0d\0\x01\0").unwrap();
        assert_eq!(empty.misfits(), [Misfit::NoOperator]);
    }

    #[test]
    fn a_plugin_of_this_contract_fits() {
        let plugin = outline(
            &["windlass:plugin/log@0.1.0", "wasi:io/streams@0.2.6"],
            &["windlass:plugin/operator@0.1.3"],
        );
        assert_eq!(plugin.misfits(), []);
    }

    #[test]
    fn another_contract_is_told_once_by_its_version() {
        let plugin = outline(
            &["windlass:plugin/log@0.9.0", "windlass:plugin/facts@0.9.0"],
            &["windlass:plugin/operator@0.9.0"],
        );
        let [misfit] = plugin.misfits().try_into().unwrap();
        let text = misfit.to_string();
        assert!(text.contains("windlass:plugin@0.9.0"), "{text}");
        assert!(text.contains("windlass:plugin@0.1.0"), "{text}");
    }

    #[test]
    fn every_foreign_import_is_named_with_a_remedy() {
        let plugin = outline(
            &[
                "wasi:filesystem/types@0.2.6",
                "wasi:random/random@0.2.6",
                "wasi:io/streams@0.3.0",
                "acme:db/client",
            ],
            &["windlass:plugin/operator@0.1.0"],
        );
        let told: Vec<_> = plugin.misfits().iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 4, "{told:?}");
        assert!(told[0].contains("wasi:filesystem/types@0.2.6") && told[0].contains("no files"));
        assert!(told[1].contains("slot"), "{}", told[1]);
        assert!(told[2].contains("WASI 0.2"), "{}", told[2]);
        assert!(told[3].contains("acme:db/client"), "{}", told[3]);
    }
}
