//! Bad input is refused with a message that names the field.

use serde_json::{Value, json};
use windlass_e2e::prelude::*;

use super::subject::SMALL;

/// What kubectl says when it is to create the cluster with one change; null removes a field.
async fn refusal(ns: &Namespace, group: &str, pointer: &str, value: Value) -> Result<String> {
    let mut object: Value = serde_saphyr::from_str(SMALL)?;
    object["apiVersion"] = json!(format!("{group}/v1"));
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
    let schedule = |schedule: &str| json!({"schedule": schedule});
    scenario(async |ns| {
        let cases = [
            ("/spec/replicas", json!(0), "spec.replicas"),
            ("/spec/replicas", json!(-1), "spec.replicas"),
            ("/spec/replicas", json!("three"), "spec.replicas"),
            ("/spec/version", json!("8"), "spec.version"),
            ("/spec/version", json!("latest"), "spec.version"),
            ("/spec/version", json!(8.0), "spec.version"),
            ("/spec/version", Value::Null, "spec.version"),
            ("/spec/storageSize", json!("10 GB"), "spec.storageSize"),
            (
                "/spec/backup",
                schedule("0 0 2 * * *"),
                "spec.backup.schedule",
            ),
            ("/spec/backup", schedule("nightly"), "spec.backup.schedule"),
            (
                "/spec/backup",
                json!({"storagePath": "ftp://backups"}),
                "spec.backup.storagePath",
            ),
            ("/spec/backups", json!({}), "backups"),
            ("/spec", Value::Null, "spec"),
        ];
        for group in ["db.example.com", "mysql.example.com"] {
            for (pointer, value, named) in &cases {
                let said = refusal(ns, group, pointer, value.clone()).await?;
                ensure!(
                    said.contains(named),
                    "of {pointer} = {value} the API server says {said:?}"
                );
            }
        }
        Ok(())
    })
    .await
}
