//! The names of a project: checked, and put in the place of those that the templates use.

use aho_corasick::{AhoCorasick, MatchKind};
use anyhow::{Context, ensure};
use kube::api::{ApiResource, GroupVersionKind};

use crate::author::args::NewArgs;
use crate::plugin::grants::is_dns_label;

/// What stands in the templates. They are whole projects by themselves, for the kind `Website`.
const TEMPLATE: [&str; 6] = [
    "website-operator",
    "website_operator",
    "Website",
    "websites",
    "website",
    "web.example.com",
];

/// Kinds that have a meaning in the projects, or in every cluster.
const TAKEN: [&str; 40] = [
    "Child",
    "Condition",
    "Conditions",
    "Config",
    "ConfigMap",
    "Container",
    "Context",
    "Controller",
    "CronJob",
    "CustomResource",
    "DaemonSet",
    "Deployment",
    "Description",
    "Error",
    "Event",
    "Harness",
    "HostNotes",
    "Ingress",
    "Job",
    "Namespace",
    "Node",
    "None",
    "Object",
    "Operator",
    "Option",
    "Plan",
    "Plugin",
    "Pod",
    "Probe",
    "Query",
    "Readiness",
    "Result",
    "Round",
    "Secret",
    "Self",
    "Service",
    "Some",
    "StatefulSet",
    "String",
    "Volume",
];

/// Groups that API servers guard, and the host's own.
const GUARDED: [&str; 3] = ["k8s.io", "kubernetes.io", "windlass.dev"];

/// Names of crates and modules that a project cannot have.
const RESERVED: [&str; 6] = ["alloc", "core", "proc-macro", "std", "test", "wit-world"];

/// The names of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Names {
    /// The plugin and the project.
    pub(super) plugin: String,
    kind: String,
    plural: String,
    group: String,
}

impl Names {
    /// Checks what a person typed.
    ///
    /// # Errors
    /// Says which name cannot be, and how it should look.
    pub(super) fn of(arguments: &NewArgs) -> anyhow::Result<Self> {
        let NewArgs {
            name, kind, group, ..
        } = arguments;
        check_plugin(name)?;
        let kind = match kind {
            Some(kind) => kind.clone(),
            None => kind_of(name),
        };
        check_kind(&kind)?;
        check_group(group)?;
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", &kind));
        Ok(Self {
            plugin: name.clone(),
            plural: resource.plural,
            kind,
            group: group.clone(),
        })
    }

    /// A template's text with these names.
    ///
    /// # Errors
    /// Never, as long as the names of the templates are texts.
    pub(super) fn fill(&self, template: &str) -> anyhow::Result<String> {
        let names = [
            self.plugin.clone(),
            self.plugin.replace('-', "_"),
            self.kind.clone(),
            self.plural.clone(),
            self.kind.to_lowercase(),
            self.group.clone(),
        ];
        // All at once: a name may hold another one's template.
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(TEMPLATE)
            .context("failed to read the templates' names")?;
        Ok(finder.replace_all(template, &names))
    }
}

fn check_plugin(name: &str) -> anyhow::Result<()> {
    ensure!(
        is_dns_label(name) && name.starts_with(|first: char| first.is_ascii_lowercase()),
        "\"{name}\" cannot be a plugin's name: write a DNS label that begins with a letter, such as website (a-z, 0-9 and -, at most 63)"
    );
    ensure!(
        !RESERVED.contains(&name),
        "\"{name}\" cannot be a plugin's name: it means something else to compilers"
    );
    Ok(())
}

/// `my-site` and `my-site-operator` serve `MySite`.
fn kind_of(name: &str) -> String {
    let stem = name.strip_suffix("-operator").unwrap_or(name);
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| {
            first.to_ascii_uppercase().to_string() + letters.as_str()
        })
    };
    stem.split('-').map(capital).collect()
}

fn check_kind(kind: &str) -> anyhow::Result<()> {
    let fits = kind.len() <= 40
        && kind.starts_with(|first: char| first.is_ascii_uppercase())
        && kind.bytes().all(|letter| letter.is_ascii_alphanumeric());
    ensure!(
        fits,
        "\"{kind}\" cannot be a kind: write CamelCase, such as --kind Website (letters and digits, at most 40)"
    );
    ensure!(
        !TAKEN.contains(&kind),
        "{kind} means something else already: name what your users think of, with --kind"
    );
    Ok(())
}

fn check_group(group: &str) -> anyhow::Result<()> {
    ensure!(
        group.len() <= 200 && group.contains('.') && group.split('.').all(is_dns_label),
        "\"{group}\" cannot be an API group: write a domain of yours, such as --group example.com"
    );
    let guarded = GUARDED
        .iter()
        .find(|domain| group == **domain || group.ends_with(&format!(".{domain}")));
    if let Some(domain) = guarded {
        anyhow::bail!(
            "{group} cannot be an API group of yours: {domain} is somebody else's; write a domain of yours"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::author::args::Language;

    fn typed(name: &str, kind: Option<&str>, group: &str) -> anyhow::Result<Names> {
        Names::of(&NewArgs {
            name: name.into(),
            language: Language::Rust,
            kind: kind.map(Into::into),
            group: group.into(),
            path: None,
        })
    }

    #[test]
    fn the_kind_is_made_from_the_name() {
        for (name, kind, plural) in [
            ("website", "Website", "websites"),
            ("my-policy", "MyPolicy", "mypolicies"),
            ("box-operator", "Box", "boxes"),
        ] {
            let names = typed(name, None, "example.com").unwrap();
            assert_eq!((names.kind.as_str(), names.plural.as_str()), (kind, plural));
        }
    }

    #[test]
    fn templates_are_filled_in_one_pass() {
        let names = typed("website-shop", Some("Shop"), "website.io").unwrap();
        let template = "website-operator website_operator Website WebsiteSpec websites.web.example.com website example.com";
        let filled = "website-shop website_shop Shop ShopSpec shops.website.io shop example.com";
        assert_eq!(names.fill(template).unwrap(), filled);
    }

    #[test]
    fn a_name_that_cannot_be_is_refused_with_what_to_write() {
        for (name, kind, group, hint) in [
            ("Website", None, "example.com", "DNS label"),
            ("1st", None, "example.com", "begins with a letter"),
            ("../up", None, "example.com", "DNS label"),
            ("core", None, "example.com", "compilers"),
            ("site", Some("site"), "example.com", "CamelCase"),
            ("site", Some("My-Site"), "example.com", "CamelCase"),
            ("service", None, "example.com", "--kind"),
            ("site", None, "example", "domain of yours"),
            ("site", None, "apps.k8s.io", "somebody else's"),
        ] {
            let error = typed(name, kind, group).expect_err(name).to_string();
            assert!(error.contains(hint), "{name} {kind:?} {group}: {error}");
        }
    }
}
