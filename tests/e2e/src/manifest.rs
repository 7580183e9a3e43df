//! YAML texts as a person would hand them to `kubectl apply`.

use anyhow::{Context, Result};
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::{self, Scope};
use kube::{Api, ResourceExt};

use crate::namespace::{FIELD_MANAGER, Namespace};

/// Stands for the name of the scenario's namespace in a text.
const PLACEHOLDER: &str = "${NAMESPACE}";

/// Applies every object of the text into the namespace, whatever the text says. An object of a kind
/// without namespaces is owned by the namespace, so that it goes with it.
pub(crate) async fn apply(namespace: &Namespace, yaml: &str) -> Result<()> {
    for object in parse(&yaml.replace(PLACEHOLDER, namespace.name()))? {
        apply_one(namespace, object).await?;
    }
    Ok(())
}

fn parse(yaml: &str) -> Result<Vec<DynamicObject>> {
    serde_saphyr::from_multiple(yaml).context("failed to read the manifest")
}

async fn apply_one(namespace: &Namespace, mut object: DynamicObject) -> Result<()> {
    let name = object.name_any();
    let types = object
        .types
        .clone()
        .with_context(|| format!("{name} has no kind"))?;
    let gvk = GroupVersionKind::try_from(&types)
        .with_context(|| format!("{name} has a malformed apiVersion"))?;
    let (resource, capabilities) = discovery::pinned_kind(&namespace.client(), &gvk)
        .await
        .with_context(|| format!("the cluster has no kind {} of {}", gvk.kind, gvk.version))?;
    let api: Api<DynamicObject> = match capabilities.scope {
        Scope::Namespaced => {
            object.metadata.namespace = Some(namespace.name().to_owned());
            namespace.dynamic(&resource)
        }
        Scope::Cluster => {
            object
                .owner_references_mut()
                .push(namespace.owner_reference());
            Api::all_with(namespace.client(), &resource)
        }
    };
    api.patch(
        &name,
        &PatchParams::apply(FIELD_MANAGER).force(),
        &Patch::Apply(&object),
    )
    .await
    .with_context(|| format!("failed to apply {} {name}", gvk.kind))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use kube::ResourceExt;

    use super::parse;

    #[test]
    fn a_text_of_two_documents_gives_two_objects() {
        let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {tide: \"on\"}\n\
                    ---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\n";
        let objects = parse(yaml).expect("well-formed");
        let names: Vec<String> = objects.iter().map(ResourceExt::name_any).collect();
        assert_eq!(names, ["one", "two"]);
        assert_eq!(objects[0].data["data"]["tide"], "on");
    }
}
