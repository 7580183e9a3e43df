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
    for crd in descriptions.into_iter().flat_map(carried) {
        let name = crd.metadata.name.clone().unwrap_or_default();
        match crds.insert(name.clone(), crd) {
            Some(other) if other != crd => return Err(CrdsError::Conflict(name)),
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

/// The CRDs of the kinds that a plugin serves, and of those that come with it.
fn carried(description: &Description) -> impl Iterator<Item = &CustomResourceDefinition> {
    let served = description.serves.iter().map(|served| &served.crd);
    served.chain(&description.carries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn crd(plural: &str, kind: &str) -> String {
        let name = kind.to_lowercase();
        format!(
            "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {name}s.example.com}}
spec:
  group: example.com
  scope: Namespaced
  names: {{kind: {kind}, plural: {plural}}}
  versions: [{{name: v1, served: true, storage: true}}]"
        )
    }

    fn described(plugin: &str, plural: &str) -> String {
        let json = json!({
            "name": plugin, "version": "0.1.0",
            "serves": [{"group": "example.com", "version": "v1", "kind": "Thing"}],
            "crds": [crd(plural, "Thing")],
        });
        json.to_string()
    }

    fn description(plugin: &str, plural: &str) -> Description {
        Description::parse(&described(plugin, plural)).unwrap()
    }

    #[test]
    fn a_crd_is_written_once_and_can_be_read_again() {
        let (one, two) = (description("one", "things"), description("two", "things"));
        let text = yaml([&one, &two]).unwrap();
        let read: Vec<CustomResourceDefinition> = serde_saphyr::from_multiple(&text).unwrap();
        assert_eq!(read, [one.serves[0].crd.clone()]);
    }

    #[test]
    fn a_crd_that_comes_with_a_kind_that_is_read_is_written_too() {
        let mut json: serde_json::Value =
            serde_json::from_str(&described("one", "things")).unwrap();
        let part = crd("parts", "Part");
        json["crds"].as_array_mut().unwrap().push(part.into());
        json["reads"] = json!([{"kind": "example.com/v1/Part"}]);
        let description = Description::parse(&json.to_string()).unwrap();
        let text = yaml([&description]).unwrap();
        let read: Vec<CustomResourceDefinition> = serde_saphyr::from_multiple(&text).unwrap();
        let names: Vec<_> = read.iter().map(|crd| &*crd.spec.names.kind).collect();
        assert_eq!(names, ["Part", "Thing"]);
    }

    #[test]
    fn plugins_that_disagree_about_a_crd_are_refused() {
        let (one, two) = (description("one", "things"), description("two", "thingies"));
        let error = yaml([&one, &two]).unwrap_err();
        assert!(error.to_string().contains("things.example.com"), "{error}");
    }
}
