//! What the plugin does without grants.

use windlass_sdk::Context;

use crate::component::describe;

/// Without these nothing can be decided.
const ESSENTIAL: [&str; 5] = [
    "act:sql:3306",
    "own:apps/v1/StatefulSet",
    "query:sql:3306",
    "read:v1/PersistentVolumeClaim",
    "read:v1/Pod",
];

/// The grants that are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// By name, sorted.
    pub names: Vec<String>,
}

impl Missing {
    /// What the description asks for and is not given or not served.
    #[must_use]
    pub fn of(cx: &Context<'_>) -> Self {
        let names = describe()
            .grants()
            .into_iter()
            .filter(|grant| !cx.available(grant))
            .collect();
        Self { names }
    }

    /// Whether nothing can be decided.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        self.names
            .iter()
            .any(|name| ESSENTIAL.contains(&name.as_str()))
    }

    /// What to tell people.
    #[must_use]
    pub fn text(&self) -> String {
        let names = self.names.join(", ");
        format!(
            "the Plugin lacks {names}: add them to its spec.grants, or install what serves them"
        )
    }
}
