//! `windlass explain`: asks the acting host what it remembers of an object, and shows it.

use std::net::SocketAddr;

use anyhow::{Context, bail};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use kube::api::Api;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::args::ExplainArgs;
use crate::explain::{Explained, Round};
use crate::start::LEASE;
use crate::tls;

/// Where a host listens for `explain`, on its own loopback.
const PORT: u16 = 8081;

/// `windlass explain KIND/NAME`.
///
/// # Errors
/// When the acting host is not found or not reached, or remembers no such object.
pub async fn explain(arguments: &ExplainArgs) -> anyhow::Result<()> {
    let (kind, name) = arguments
        .object
        .split_once('/')
        .context("name the object as KIND/NAME, such as redis/my-redis")?;
    let path = format!(
        "/explain?kind={kind}&name={name}&namespace={}",
        arguments.namespace
    );
    let answer = match arguments.address {
        Some(address) => from_address(address, &path).await?,
        None => from_acting_pod(&arguments.host_namespace, &path).await?,
    };
    if arguments.json {
        println!("{answer}");
        return Ok(());
    }
    let objects: Vec<Explained> =
        serde_json::from_str(&answer).context("failed to read the host's answer")?;
    if objects.is_empty() {
        bail!(
            "the acting host remembers no round of {kind}/{name} in the namespace {}: is it a kind that a plugin \
             serves, and does the object exist?",
            arguments.namespace
        );
    }
    objects.iter().for_each(show);
    Ok(())
}

async fn from_address(address: SocketAddr, path: &str) -> anyhow::Result<String> {
    let stream = tokio::net::TcpStream::connect(address).await;
    let stream = stream.with_context(|| format!("no host listens on {address}"))?;
    get(stream, path).await
}

/// The Lease names the acting Pod; its loopback is reached through the API server, which asks for the right to
/// `pods/portforward`.
async fn from_acting_pod(namespace: &str, path: &str) -> anyhow::Result<String> {
    tls::choose_cryptography();
    let client = kube::Client::try_default()
        .await
        .context("failed to find a cluster: set KUBECONFIG")?;
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let lease = leases.get(LEASE).await;
    let lease = lease.with_context(|| format!("failed to read the Lease {namespace}/{LEASE}"))?;
    let holder = lease
        .spec
        .and_then(|spec| spec.holder_identity)
        .unwrap_or_default();
    let Some((pod, _)) = holder.rsplit_once('_') else {
        bail!("no host holds the Lease {namespace}/{LEASE}: are the host's Pods running?");
    };
    let pods: Api<Pod> = Api::namespaced(client, namespace);
    let mut forwarded = pods.portforward(pod, &[PORT]).await.with_context(|| {
        format!("failed to reach the Pod {namespace}/{pod}; a host outside the cluster is asked with --address")
    })?;
    let stream = forwarded
        .take_stream(PORT)
        .context("the port was not forwarded")?;
    get(stream, path).await
}

async fn get(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    path: &str,
) -> anyhow::Result<String> {
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let request = hyper::Request::get(path)
        .header("host", "windlass")
        .body(Empty::<Bytes>::new())?;
    let answer = sender
        .send_request(request)
        .await?
        .into_body()
        .collect()
        .await?
        .to_bytes();
    connection.abort();
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn show(explained: &Explained) {
    println!("{}", explained.object);
    explained.rounds.iter().for_each(show_round);
}

fn show_round(round: &Round) {
    let at = i64::try_from(round.at)
        .ok()
        .and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    let at = at.map(|at| at.to_string()).unwrap_or_default();
    println!(
        "\n{at}  round {}  because {}  → {}",
        round.id, round.reason, round.ended
    );
    println!(
        "  generation {}, {} calls, {} µs{}",
        round.generation,
        round.calls,
        round.took,
        if round.repeated > 0 {
            format!(", {} rounds like it before", round.repeated)
        } else {
            String::new()
        }
    );
    for asked in &round.asked {
        println!(
            "  asked    [{}] {} → {}",
            asked.stage, asked.question, asked.answer
        );
    }
    let planned = round.plan.clone().unwrap_or_default();
    let lines = [
        ("told", &round.told),
        ("says", &planned.conditions),
        ("refused", &planned.refusals),
        ("action", &planned.actions),
        ("changed", &round.changed),
        ("outcome", &round.outcomes),
    ];
    for (word, texts) in lines {
        texts.iter().for_each(|text| println!("  {word:<8} {text}"));
    }
    if let Some(after) = planned.requeue_after {
        println!("  again    after {after} ms");
    }
}
