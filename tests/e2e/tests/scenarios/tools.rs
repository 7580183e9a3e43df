//! The tools beside the cluster: S3, an OCI registry, Helm.

use object_store::ObjectStoreExt;
use object_store::aws::AmazonS3;
use object_store::path::Path;
use oci_client::Reference;
use oci_client::client::{Config, ImageLayer};
use oci_client::secrets::RegistryAuth;
use tempfile::TempDir;
use windlass_e2e::prelude::*;
use windlass_e2e::tools::{Registry, S3Server, helm};

const WASM: &str = "application/wasm";

#[tokio::test]
async fn an_object_put_into_s3_can_be_got_again() -> Result<()> {
    let server = S3Server::start().await?;
    let bucket: AmazonS3 = server.bucket("backups")?;
    let path = Path::from("redis/2026-01-01.rdb");

    bucket.put(&path, "the cargo".into()).await?;
    let got = bucket.get(&path).await?.bytes().await?;
    ensure!(got == "the cargo", "the object became {got:?}");

    bucket.delete(&path).await?;
    let gone = bucket.get(&path).await;
    ensure!(
        matches!(gone, Err(object_store::Error::NotFound { .. })),
        "still there: {gone:?}"
    );
    Ok(())
}

#[tokio::test]
async fn an_artifact_pushed_to_the_registry_can_be_pulled_again() -> Result<()> {
    let registry = Registry::start().await?;
    let client = registry.client();
    let image: Reference = registry.image("plugins/redis:1.0").parse()?;
    let layer = ImageLayer::new("the component", WASM.to_owned(), None);
    let config = Config::oci_v1("{}", None);

    let auth = RegistryAuth::Anonymous;
    client.push(&image, &[layer], config, &auth, None).await?;
    let pulled = client.pull(&image, &auth, vec![WASM]).await?;

    let layers: Vec<_> = pulled
        .layers
        .iter()
        .map(|layer| layer.data.as_ref())
        .collect();
    ensure!(layers == [b"the component"], "the layers became {layers:?}");
    Ok(())
}

#[tokio::test]
async fn helm_renders_a_chart() -> Result<()> {
    let folder = TempDir::new()?;
    let chart = folder.path().join("demo");
    helm(&["create".as_ref(), chart.as_os_str()]).await?;

    let rendered = helm(&["template".as_ref(), "demo".as_ref(), chart.as_os_str()]).await?;

    ensure!(
        rendered.contains("kind: Deployment"),
        "no Deployment in:\n{rendered}"
    );
    Ok(())
}
