//! Volumes are really as large as they say.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use serde_json::json;
use windlass_e2e::prelude::*;

const REDIS: &str = include_str!("../../manifests/redis.yaml");
const MIB: u64 = 1 << 20;

#[tokio::test]
async fn a_volume_grows_while_it_is_mounted() -> Result<()> {
    scenario(async |ns| {
        ns.apply(REDIS).await?;
        let redis = ns.pod("redis-0");
        redis.ready().await?;
        let life = redis.life().await?;
        ensure!(
            size_of_data(&redis).await? == 32 * MIB,
            "the volume does not begin with 32 MiB"
        );

        let wish = json!({"spec": {"resources": {"requests": {"storage": "64Mi"}}}});
        ns.patch::<PersistentVolumeClaim>("data-redis-0", wish)
            .await?;
        let claim = ns.expect::<PersistentVolumeClaim>("data-redis-0");
        claim
            .to("have grown to 64Mi", |claim| {
                capacity(claim) == Some("64Mi")
            })
            .await?;

        let size = size_of_data(&redis).await?;
        ensure!(
            size == 64 * MIB,
            "inside the Pod the volume has {size} bytes"
        );
        ensure!(redis.life().await? == life, "the container was restarted");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_full_disk_stops_writes_until_there_is_room() -> Result<()> {
    scenario(async |ns| {
        ns.apply(REDIS).await?;
        let redis = ns.pod("redis-0");
        redis.ready().await?;
        write(&redis)
            .await
            .context("redis must write while there is room")?;

        let full = redis.fill_disk("/data").await?;
        eventually("redis refuses to write", async || {
            match write(&redis).await {
                Ok(_) => bail!("redis still writes"),
                Err(error) => {
                    let text = format!("{error:#}");
                    ensure!(text.contains("MISCONF"), "the reason is another: {text}");
                    Ok(())
                }
            }
        })
        .await?;

        full.relieve()?;
        eventually("redis writes again", async || write(&redis).await).await?;
        Ok(())
    })
    .await
}

/// Writes more than the rest of a page, so that it needs new room.
async fn write(redis: &Pod) -> Result<String> {
    redis
        .exec(&["redis-cli", "-e", "SET", "cargo", &"x".repeat(10_000)])
        .await
}

async fn size_of_data(redis: &Pod) -> Result<u64> {
    let size = redis
        .exec(&["df", "--block-size=1", "--output=size", "/data"])
        .await?;
    let size = size.lines().last().context("df printed nothing")?;
    size.trim()
        .parse()
        .with_context(|| format!("{size:?} is no size"))
}

fn capacity(claim: &PersistentVolumeClaim) -> Option<&str> {
    let capacity = claim.status.as_ref()?.capacity.as_ref()?;
    capacity.get("storage").map(|quantity| quantity.0.as_str())
}
