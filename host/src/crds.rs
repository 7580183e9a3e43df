//! The CustomResourceDefinitions that plugins carry, as one YAML text: `windlass crds`.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::plugin::Description;

/// Two plugins that carry different CRDs under one name, or a CRD that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum CrdsError {
    /// They cannot both be installed.
    #[error("two plugins carry different CRDs named {0}: only one of them can be installed")]
    Conflict(String),
    /// Not expressible in YAML.
    #[error("failed to write the CRD {name}: {why}")]
    Write {
        /// Its name.
        name: String,
        /// Why.
        why: String,
    },
}

/// All CRDs of these plugins, sorted by name, as YAML documents for `kubectl apply`.
///
/// # Errors
/// When two plugins disagree about one CRD.
pub fn yaml<'a>(
    descriptions: impl IntoIterator<Item = &'a Description>,
) -> Result<String, CrdsError> {
    let mut crds = BTreeMap::<String, &CustomResourceDefinition>::new();
    for served in descriptions
        .into_iter()
        .flat_map(|description| &description.serves)
    {
        let name = served.crd.metadata.name.clone().unwrap_or_default();
        match crds.insert(name.clone(), &served.crd) {
            Some(other) if *other != served.crd => return Err(CrdsError::Conflict(name)),
            _ => {}
        }
    }
    let document = |(name, crd): (String, &CustomResourceDefinition)| {
        serde_saphyr::to_string(crd).map_err(|error| CrdsError::Write {
            name,
            why: error.to_string(),
        })
    };
    let documents = crds
        .into_iter()
        .map(document)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(documents.join("---\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn description(plugin: &str, plural: &str) -> Description {
        let crd = format!(
            "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: things.example.com}}
spec:
  group: example.com
  scope: Namespaced
  names: {{kind: Thing, plural: {plural}}}
  versions: [{{name: v1, served: true, storage: true}}]"
        );
        let json = json!({
            "name": plugin, "version": "0.1.0",
            "serves": [{"group": "example.com", "version": "v1", "kind": "Thing"}],
            "crds": [crd],
        });
        Description::parse(&json.to_string()).unwrap()
    }

    #[test]
    fn a_crd_is_written_once_and_can_be_read_again() {
        let (one, two) = (description("one", "things"), description("two", "things"));
        let text = yaml([&one, &two]).unwrap();
        let read: Vec<CustomResourceDefinition> = serde_saphyr::from_multiple(&text).unwrap();
        assert_eq!(read, [one.serves[0].crd.clone()]);
    }

    #[test]
    fn plugins_that_disagree_about_a_crd_are_refused() {
        let (one, two) = (description("one", "things"), description("two", "thingies"));
        let error = yaml([&one, &two]).unwrap_err();
        assert!(error.to_string().contains("things.example.com"), "{error}");
    }
}
