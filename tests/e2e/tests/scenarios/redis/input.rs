//! Bad input is refused with a message that names the field.

use serde_json::{Value, json};
use windlass_e2e::prelude::*;

use super::subject::SAMPLE;

/// What kubectl says when it is to create the sample with one change; null removes a field.
async fn refusal(ns: &Namespace, pointer: &str, value: Value) -> Result<String> {
    let mut object: Value = serde_saphyr::from_str(SAMPLE)?;
    object["metadata"]["namespace"] = json!(ns.name());
    set(&mut object, pointer, value)?;
    let file = tempfile::NamedTempFile::new()?;
    serde_json::to_writer(&file, &object)?;
    let path = file.path().to_string_lossy();
    match ns.cluster().kubectl(&["create", "-f", &path]).await {
        Ok(_) => bail!("the API server took {pointer}"),
        Err(error) => Ok(format!("{error:#}")),
    }
}

fn set(object: &mut Value, pointer: &str, value: Value) -> Result<()> {
    let (parent, key) = pointer.rsplit_once('/').context("a pointer has a slash")?;
    let parent = object.pointer_mut(parent).context("the parent exists")?;
    let fields = parent.as_object_mut().context("the parent has fields")?;
    match value {
        Value::Null => fields.remove(key),
        value => fields.insert(key.to_owned(), value),
    };
    Ok(())
}

#[tokio::test]
async fn bad_input_is_refused_by_the_name_of_its_field() -> Result<()> {
    scenario(async |ns| {
        let cases = [
            ("/spec/replicas", json!(-1), "spec.replicas"),
            ("/spec/version", json!("latest!"), "spec.version"),
            ("/spec/replicas", json!("two"), "spec.replicas"),
            (
                "/spec/persistence/size",
                json!("10 GB"),
                "spec.persistence.size",
            ),
            ("/spec/persistense", json!({}), "persistense"),
            ("/spec", Value::Null, "spec"),
        ];
        for (pointer, value, named) in cases {
            let said = refusal(ns, pointer, value.clone()).await?;
            ensure!(
                said.contains(named),
                "of {pointer} = {value} the API server says {said:?}"
            );
        }
        Ok(())
    })
    .await
}
