//! `windlass plugin inspect`: what a plugin is and asks for, in words for the person who decides whether to run it.

mod meaning;
mod settings;

use std::fmt::Write as _;
use std::time::Duration;

use crate::author::candidate::Candidate;
use crate::author::check::spoken;
use crate::plugin::grants::{Grant, Protocol};
use crate::plugin::{Description, Grants};
use meaning::meaning;

/// The whole text, one section after the other. What a plugin does not do is said too: silence would have to be
/// interpreted.
pub fn text(candidate: &Candidate, description: &Description) -> String {
    let Description {
        name,
        version,
        purpose,
        ..
    } = description;
    let mut text = format!("{name} {version}: {purpose}\n");
    let _ = writeln!(
        text,
        "{}, {}, {}, for {}",
        candidate.name,
        candidate.size(),
        candidate.digest(),
        spoken()
    );
    for (title, lines) in sections(description) {
        let _ = write!(text, "\n{title}\n{}", aligned(&lines));
    }
    let _ = write!(
        text,
        "\nWhat it needs to be granted, to be pasted into spec of its Plugin; without it, it can do nothing of this\n{}",
        grants(&description.asks())
    );
    text
}

type Line = [String; 2];

fn sections(description: &Description) -> Vec<(&'static str, Vec<Line>)> {
    vec![
        (
            "Serves: objects that people write, and it carries out",
            serves(description),
        ),
        ("Owns: objects that it makes for them", owns(description)),
        ("Reads: objects that it looks at", reads(description)),
        (
            "Talks to: servers in the Pods of its objects, and nobody else's",
            ports(description),
        ),
        ("Acts: changes beside its own objects", acts(description)),
        ("Outside the cluster", outside(description)),
        (
            "Configuration: spec.config of its Plugin",
            settings::settings(&description.config_schema),
        ),
        (
            "Looks at every object again",
            vec![["every".into(), spoken_time(description.resync)]],
        ),
    ]
}

fn serves(description: &Description) -> Vec<Line> {
    let line = |served: &crate::plugin::description::Served| {
        let scope = match served.crd.spec.scope.as_str() {
            "Cluster" => "of the whole cluster",
            _ => "in namespaces",
        };
        let deletion = match served.finalizes {
            true => "; their deletion waits until the plugin is done (finalizer)",
            false => "; deleted at once, with what it made",
        };
        [served.kind.to_string(), format!("{scope}{deletion}")]
    };
    description.serves.iter().map(line).collect()
}

fn owns(description: &Description) -> Vec<Line> {
    let kinds = description.owns.iter();
    kinds
        .map(|kind| [kind.to_string(), String::new()])
        .collect()
}

fn reads(description: &Description) -> Vec<Line> {
    let line = |read: &crate::plugin::description::Read| {
        let which = match read.selector.as_str() {
            "" => "all of them".to_owned(),
            selector => format!("those labelled {selector}"),
        };
        let values = match (read.kind.group.as_str(), read.kind.kind.as_str()) {
            ("", "Secret") => ": key names and digests, never values",
            _ => "",
        };
        [read.kind.to_string(), format!("{which}{values}")]
    };
    description.reads.iter().map(line).collect()
}

fn ports(description: &Description) -> Vec<Line> {
    let asks = description.asks();
    let talks = |grant: &&Grant| matches!(grant, Grant::Query(..) | Grant::Act(..));
    let line = |grant: &Grant| match grant {
        Grant::Query(protocol, port) => [
            format!("{protocol} on port {port}"),
            match protocol {
                Protocol::Redis => "asks: commands that change nothing",
                Protocol::Sql => "asks: SELECT and SHOW",
                Protocol::Http => "asks: GET and HEAD",
            }
            .to_owned(),
        ],
        Grant::Act(protocol, port) => [
            format!("{protocol} on port {port}"),
            "tells it what to do: commands that change data".to_owned(),
        ],
        other => [other.to_string(), String::new()],
    };
    asks.iter().filter(talks).map(line).collect()
}

fn acts(description: &Description) -> Vec<Line> {
    let asks = description.asks();
    let acts = |grant: &&Grant| matches!(grant, Grant::Patch(_) | Grant::Delete(_) | Grant::Evict);
    let line = |grant: &Grant| match grant {
        Grant::Patch(kind) => ["changes".to_owned(), kind.to_string()],
        Grant::Delete(kind) => ["deletes".to_owned(), kind.to_string()],
        _ => ["evicts".to_owned(), "v1/Pod".to_owned()],
    };
    asks.iter().filter(acts).map(line).collect()
}

fn outside(description: &Description) -> Vec<Line> {
    let hosts = description.external_hosts.iter();
    hosts
        .map(|host| [host.to_string(), "asks it over HTTP".to_owned()])
        .collect()
}

/// The block for `spec` of a Plugin, each grant with what it lets the plugin do.
pub fn grants(asks: &Grants) -> String {
    let names: Vec<_> = asks.iter().map(ToString::to_string).collect();
    if names.is_empty() {
        return "grants: []\n".to_owned();
    }
    let width = names.iter().map(String::len).max().unwrap_or(0);
    let lines = names.iter().zip(asks.iter());
    let lines = lines.map(|(name, grant)| format!("- {name:width$}  # {}\n", meaning(grant)));
    lines.fold("grants:\n".to_owned(), |text, line| text + &line)
}

fn aligned(lines: &[Line]) -> String {
    if lines.is_empty() {
        return "  nothing\n".to_owned();
    }
    let width = lines
        .iter()
        .map(|[first, _]| first.len())
        .max()
        .unwrap_or(0);
    let line =
        |[first, second]: &Line| format!("  {first:width$}  {second}").trim_end().to_owned() + "\n";
    lines.iter().map(line).collect()
}

fn spoken_time(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn description() -> Description {
        let crd = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sites.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Site, plural: sites}
  versions: [{name: v1, served: true, storage: true}]";
        let json = json!({
            "name": "site", "version": "0.3.0", "purpose": "Sites on the web",
            "serves": [{"group": "example.com", "version": "v1", "kind": "Site", "finalizes": true}],
            "crds": [crd],
            "owns": ["apps/v1/Deployment", "v1/Secret"],
            "reads": [{"kind": "v1/Pod", "selector": "app=site"}, {"kind": "v1/Secret"}],
            "queries": {"http": [8080]},
            "actions": {"delete": ["v1/Pod"]},
            "resync": 90_000,
            "configSchema": {"properties": {"domain": {"type": "string"}}},
        });
        Description::parse(&json.to_string()).unwrap()
    }

    #[test]
    fn an_administrator_reads_what_it_is_and_asks_for() {
        let candidate = Candidate {
            name: "site.wasm".into(),
            bytes: vec![0; 1_234],
        };
        let text = text(&candidate, &description());
        for line in [
            "site 0.3.0: Sites on the web",
            "site.wasm, 1 KB, sha256:",
            "  example.com/v1/Site  in namespaces; their deletion waits until the plugin is done (finalizer)",
            "  v1/Pod     those labelled app=site",
            "  v1/Secret  all of them: key names and digests, never values",
            "  http on port 8080  asks: GET and HEAD",
            "  deletes  v1/Pod",
            "Outside the cluster\n  nothing",
            "  domain  string",
            "  every  1 min 30 s",
        ] {
            assert!(text.contains(line), "no {line:?} in\n{text}");
        }
    }

    #[test]
    fn the_block_of_grants_can_be_pasted_and_is_what_is_asked_for() {
        let asks = description().asks();
        let block = grants(&asks);
        let pasted: serde_json::Value = serde_saphyr::from_str(&block).unwrap();
        let pasted: Grants = serde_json::from_value(pasted["grants"].clone()).unwrap();
        assert_eq!(pasted, asks);
        assert!(block.contains("# deletes Pods"), "{block}");
        assert_eq!(grants(&Grants::default()), "grants: []\n");
    }
}
