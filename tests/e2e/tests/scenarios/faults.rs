//! The faults that scenarios make are real, hit only whom they should and end when they should.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use windlass_e2e::prelude::*;

const REDIS: &str = include_str!("../../manifests/redis.yaml");
const BUSY: &str = include_str!("../../manifests/busy.yaml");
const REDIS_PORT: u16 = 6379;

#[tokio::test]
async fn a_partition_between_two_pods_can_be_made_and_healed() -> Result<()> {
    scenario(async |ns| {
        let [one, two, three] = redis(ns).await?;
        reaches(&one, &two).await?;

        let cut = partition(&one, &two).await?;
        does_not_reach(&one, &two).await?;
        does_not_reach(&two, &one).await?;
        reaches(&one, &three).await?;
        reaches(&three, &two).await?;

        cut.heal()?;
        reaches(&one, &two).await?;
        reaches(&two, &one).await
    })
    .await
}

#[tokio::test]
async fn a_pod_can_be_cut_off_from_all_its_peers() -> Result<()> {
    scenario(async |ns| {
        let [one, two, three] = redis(ns).await?;

        let cut = one.cut_off(From::Pods(&[&two, &three])).await?;
        does_not_reach(&one, &two).await?;
        does_not_reach(&three, &one).await?;
        reaches(&two, &three).await?;
        this_machine_reaches(&one).await?;

        cut.heal()?;
        reaches(&one, &three).await
    })
    .await
}

#[tokio::test]
async fn a_pod_can_be_cut_off_from_this_machine_alone() -> Result<()> {
    scenario(async |ns| {
        let [one, two, _] = redis(ns).await?;
        this_machine_reaches(&one).await?;

        let cut = one.cut_off(From::ThisMachine).await?;
        ensure!(
            this_machine_reaches(&one).await.is_err(),
            "this machine still reaches the Pod"
        );
        reaches(&two, &one).await?;

        cut.heal()?;
        this_machine_reaches(&one).await
    })
    .await
}

#[tokio::test]
async fn a_pod_cut_off_from_everyone_still_answers_its_probes() -> Result<()> {
    scenario(async |ns| {
        let [one, two, _] = redis(ns).await?;
        let life = one.life().await?;

        let cut = one.cut_off(From::Everyone).await?;
        ensure!(
            this_machine_reaches(&one).await.is_err(),
            "this machine still reaches the Pod"
        );
        does_not_reach(&two, &one).await?;
        does_not_reach(&one, &two).await?;
        one.exec(&["redis-cli", "-e", "PING"]).await?;

        cut.heal()?;
        reaches(&two, &one).await?;
        ensure!(one.life().await? == life, "the cut restarted the container");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_cut_outlives_a_killed_container() -> Result<()> {
    scenario(async |ns| {
        let [one, two, _] = redis(ns).await?;
        let cut = partition(&one, &two).await?;

        let killed = one.kill().await?;
        one.ready_again(&killed).await?;
        does_not_reach(&two, &one).await?;

        cut.heal()?;
        reaches(&two, &one).await
    })
    .await
}

#[tokio::test]
async fn a_frozen_redis_answers_nothing_until_it_thaws() -> Result<()> {
    scenario(async |ns| {
        let [one, two, _] = redis(ns).await?;
        let life = one.life().await?;

        let frozen = one.freeze().await?;
        does_not_reach(&two, &one).await?;

        frozen.thaw();
        reaches(&two, &one).await?;
        ensure!(
            one.life().await? == life,
            "the freeze restarted the container"
        );
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_freeze_stops_every_process_of_the_container() -> Result<()> {
    scenario(async |ns| {
        ns.apply(BUSY).await?;
        let busy = ns.pod("busy");
        busy.ready().await?;
        let beat = async || busy.exec(&["cat", "/tmp/beat"]).await;

        let frozen = busy.freeze().await?;
        let last = beat().await?;
        throughout(
            Duration::from_secs(2),
            "the second process stands still",
            async || {
                let now = beat().await?;
                ensure!(now == last, "it counted from {last:?} to {now:?}");
                Ok(())
            },
        )
        .await?;

        frozen.thaw();
        eventually("the second process goes on", async || {
            let now = beat().await?;
            ensure!(now != last, "it still is at {now:?}");
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test]
async fn a_throttled_pod_waits_for_its_cpu() -> Result<()> {
    scenario(async |ns| {
        ns.apply(BUSY).await?;
        let busy = ns.pod("busy");
        busy.ready().await?;

        let throttle = busy.throttle_cpu(20).await?;
        let before = throttle.throttled_periods()?;
        eventually("the kernel makes the container wait", async || {
            let periods = throttle.throttled_periods()?;
            ensure!(
                periods > before,
                "it waited in {periods} periods, as before"
            );
            Ok(())
        })
        .await?;
        throttle.lift()
    })
    .await
}

/// Three Redis servers that know nothing of each other.
async fn redis(ns: &Namespace) -> Result<[Pod; 3]> {
    ns.apply(REDIS).await?;
    let pods = [ns.pod("redis-0"), ns.pod("redis-1"), ns.pod("redis-2")];
    for pod in &pods {
        pod.ready().await?;
    }
    Ok(pods)
}

async fn ping(from: &Pod, to: &Pod) -> Result<String> {
    let host = to.ip().await?.to_string();
    from.exec(&["timeout", "2", "redis-cli", "-e", "-h", &host, "PING"])
        .await
}

async fn reaches(from: &Pod, to: &Pod) -> Result<()> {
    let what = format!("{} reaches {}", from.name(), to.name());
    eventually(&what, async || ping(from, to).await)
        .await
        .map(|_| ())
}

async fn does_not_reach(from: &Pod, to: &Pod) -> Result<()> {
    let answer = ping(from, to).await;
    ensure!(
        answer.is_err(),
        "{} still reaches {}: {answer:?}",
        from.name(),
        to.name()
    );
    Ok(())
}

async fn this_machine_reaches(pod: &Pod) -> Result<()> {
    let address = SocketAddr::new(pod.ip().await?, REDIS_PORT);
    let connection = TcpStream::connect(address);
    tokio::time::timeout(Duration::from_secs(2), connection).await??;
    Ok(())
}
