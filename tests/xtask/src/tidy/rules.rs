//! What the layout of the project must be, as far as a program can tell.

use std::collections::BTreeSet;

use super::layout::ProjectFile;

/// The folders of the design, and the files that tools look for at the top.
const TOP_LEVEL: [&str; 18] = [
    ".cargo",
    ".ci",
    ".gitignore",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "clippy.toml",
    "crds",
    "deny.toml",
    "deploy",
    "host",
    "plugins",
    "rust-toolchain.toml",
    "rustfmt.toml",
    "tests",
    "wit",
];

/// Folders whose own folders are rooms too.
const BUILDINGS: [&str; 2] = ["plugins", "tests"];

const LONGEST_FILE: usize = 600;
const SOURCES: [&str; 5] = ["rs", "go", "wit", "sh", "py"];

/// First labels of the hosts that serve packages. Which of them a person uses is their own
/// affair: a client's default serves.
const REGISTRY_LABELS: [&str; 8] = [
    "deb", "ftp", "index", "mirror", "mirrors", "proxy", "registry", "static",
];

type Rule = fn(&ProjectFile) -> Option<String>;
const FILE_RULES: [Rule; 5] = [
    top_level_is_fixed,
    no_catch_all,
    not_too_long,
    no_home_folder,
    no_registry_host,
];

/// Every breach, as a line that names the file and the rule.
pub(super) fn violations(files: &[ProjectFile]) -> Vec<String> {
    let of_files = files
        .iter()
        .flat_map(|file| FILE_RULES.iter().filter_map(move |rule| rule(file)));
    of_files.chain(rooms_without_readme(files)).collect()
}

fn top_level_is_fixed(file: &ProjectFile) -> Option<String> {
    let top = file.path.split('/').next()?;
    let message = || format!("{}: `{top}` has no place at the top level", file.path);
    (!TOP_LEVEL.contains(&top)).then(message)
}

fn no_catch_all(file: &ProjectFile) -> Option<String> {
    let is_catch_all = |part: &str| {
        let stem = part.split('.').next().unwrap_or(part);
        matches!(stem, "util" | "utils" | "helpers" | "misc" | "common")
    };
    let message = || {
        format!(
            "{}: name what it is about, not that it is of use",
            file.path
        )
    };
    file.path.split('/').any(is_catch_all).then(message)
}

fn not_too_long(file: &ProjectFile) -> Option<String> {
    let lines = file.text.lines().count();
    let message = || format!("{}: {lines} lines, {LONGEST_FILE} are the limit", file.path);
    (is_source(file) && lines > LONGEST_FILE).then(message)
}

fn is_source(file: &ProjectFile) -> bool {
    file.path
        .rsplit_once('.')
        .is_some_and(|(_, extension)| SOURCES.contains(&extension))
}

fn no_home_folder(file: &ProjectFile) -> Option<String> {
    let is_personal = |line: &&str| ["/home/", "/root/"].iter().any(|home| follows(line, home));
    let (number, line) = numbered(file).find(|(_, line)| is_personal(line))?;
    Some(format!(
        "{}:{number}: a path of one machine: {}",
        file.path,
        line.trim()
    ))
}

/// The account of images that run without root: its folder is on no machine.
const OF_IMAGES: &str = "nonroot";

/// Whether a person's folder follows `home` in the line: the folder as such may be spoken of.
fn follows(line: &str, home: &str) -> bool {
    let is_name = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.');
    let mut after = line.split(home).skip(1);
    after.any(|rest| is_name(rest) && !rest.starts_with(OF_IMAGES))
}

fn no_registry_host(file: &ProjectFile) -> Option<String> {
    let names_one = |line: &&str| line.split("://").skip(1).any(is_registry_host);
    let (number, line) = numbered(file).find(|(_, line)| names_one(line))?;
    Some(format!(
        "{}:{number}: the host of a package registry: {}",
        file.path,
        line.trim()
    ))
}

fn is_registry_host(after_scheme: &str) -> bool {
    let host = after_scheme
        .split(['/', '"', '\'', ' ', ')'])
        .next()
        .unwrap_or_default();
    let label = host.split('.').next().unwrap_or_default();
    host.contains('.') && REGISTRY_LABELS.contains(&label)
}

fn numbered(file: &ProjectFile) -> impl Iterator<Item = (usize, &str)> {
    file.text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line))
}

fn rooms_without_readme(files: &[ProjectFile]) -> impl Iterator<Item = String> {
    let paths: BTreeSet<_> = files.iter().map(|file| file.path.as_str()).collect();
    let rooms: BTreeSet<_> = files.iter().filter_map(|file| room(&file.path)).collect();
    let lacks = move |room: &&str| !paths.contains(format!("{room}/README.md").as_str());
    rooms
        .into_iter()
        .filter(lacks)
        .map(|room| format!("{room}: a room without a README.md"))
}

/// The folder of a file that must say what lives there: `host`, or `plugins/redis`.
fn room(path: &str) -> Option<&str> {
    let (top, rest) = path.split_once('/')?;
    if top.starts_with('.') {
        return None;
    }
    match rest.split_once('/') {
        Some((inner, _)) if BUILDINGS.contains(&top) => Some(&path[..top.len() + 1 + inner.len()]),
        _ => Some(top),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> ProjectFile {
        ProjectFile {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    fn breaches(path: &str, text: &str) -> Vec<String> {
        violations(&[file(path, text), file("host/README.md", "")])
    }

    #[test]
    fn a_file_that_keeps_the_rules_is_left_alone() {
        let text = "// The folder /root/ as such, /home/nonroot, http://127.0.0.1:5000/v2, docker.io/redis.\n";
        assert_eq!(breaches("host/src/watch.rs", text), Vec::<String>::new());
    }

    #[test]
    fn breaches_are_named() {
        let long = "\n".repeat(LONGEST_FILE + 1);
        let mirror = format!("see https://{}.example.org/crates", "proxy");
        let cases = [
            ("scripts/run.sh", "", "no place at the top level"),
            ("host/src/utils.rs", "", "name what it is about"),
            ("host/src/utils/mod.rs", "", "name what it is about"),
            ("host/src/watch.rs", long.as_str(), "601 lines"),
            (
                "host/src/watch.rs",
                concat!("let p = \"/home", "/ann/x\";"),
                ":1: a path of one",
            ),
            (
                "host/src/watch.rs",
                mirror.as_str(),
                ":1: the host of a package registry",
            ),
        ];
        for (path, text, expected) in cases {
            let found = breaches(path, text);
            assert!(
                found.iter().any(|line| line.contains(expected)),
                "{path}: {found:?}"
            );
        }
    }

    #[test]
    fn every_room_says_what_lives_there() {
        let files = [
            file("host/src/main.rs", ""),
            file("plugins/README.md", ""),
            file("plugins/redis/src/lib.rs", ""),
            file("Cargo.toml", ""),
        ];
        let found = violations(&files);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("host:"));
        assert!(found[1].starts_with("plugins/redis:"));
    }

    #[test]
    fn a_long_file_that_nobody_writes_by_hand_is_fine() {
        let long = "\n".repeat(LONGEST_FILE + 1);
        assert!(breaches("host/big.json", &long).is_empty());
    }
}
