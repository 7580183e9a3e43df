//! Credentials and certificates from Secrets and ConfigMaps reach the servers that ask for them.

use serde_json::{Value, json};
use windlass_e2e::prelude::*;

use super::monitors::{job_of, merged};
use super::subject::{Prometheus, condition};

const GUARDED: &str = include_str!("../../../manifests/guarded.yaml");
const CLIENT: &str = include_str!("../../../manifests/client.yaml");

/// A ServiceMonitor of one door of the guarded server.
fn door(name: &str, path: &str, credentials: &Value) -> Value {
    of_port(
        name,
        &merged(json!({"port": "doors", "path": path}), credentials),
    )
}

fn of_port(name: &str, endpoint: &Value) -> Value {
    json!({
        "apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": "guarded"}}, "endpoints": [endpoint]},
    })
}

fn secret(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data})
}

fn key(of: &str, name: &str) -> Value {
    json!({"name": of, "key": name})
}

#[tokio::test]
async fn credentials_and_certificates_really_scrape() -> Result<()> {
    scenario(async |ns| {
        certificates(ns).await?;
        ns.apply(GUARDED).await?;
        let values = json!({
            "user": "pilot", "password": "tide", "token": "first", "client": "client", "secret": "secret",
        });
        ns.apply(&secret("keys", &values).to_string()).await?;
        let spec = json!({"serviceMonitorSelector": {}});
        let prometheus = Prometheus::running(ns, "main", &spec).await?;
        let issuer = format!("http://{}:8000/token", ns.service_host("guarded"));
        let from_keys = |name: &str| key("keys", name);
        let monitors = [
            door("basic", "/basic", &json!({
                "basicAuth": {"username": from_keys("user"), "password": from_keys("password")},
            })),
            door("bearer", "/bearer", &json!({"authorization": {"credentials": from_keys("token")}})),
            door("bearer-of-old", "/bearer", &json!({"bearerTokenSecret": from_keys("token")})),
            door("oauth2", "/oauth2", &json!({"oauth2": {
                "clientId": {"secret": from_keys("client")},
                "clientSecret": from_keys("secret"),
                "tokenUrl": issuer,
            }})),
            of_port("tls", &json!({"port": "tls", "scheme": "https", "tlsConfig": {
                "serverName": "guarded",
                "ca": {"configMap": key("authority", "ca.crt")},
                "cert": {"secret": key("certificates", "client.crt")},
                "keySecret": key("certificates", "client.key"),
            }})),
        ];
        for monitor in &monitors {
            ns.apply(&monitor.to_string()).await?;
        }
        for monitor in &monitors {
            prometheus.scrapes_job(&job_of(ns.name(), monitor), 1).await?;
        }
        the_api_server_takes_a_token(ns, &prometheus).await?;
        prometheus.server(0).check_with_promtool().await?;

        // Whoever shows nothing is not let in: up means that the credentials were right.
        let open = door("open", "/basic", &json!({}));
        ns.apply(&open.to_string()).await?;
        let job = job_of(ns.name(), &open);
        eventually("a scrape without credentials is refused", async || {
            let targets = prometheus.server(0).targets_of(&job).await?;
            let refused = targets.iter().any(|target| target.error.contains("401"));
            ensure!(refused, "there are {targets:?}");
            Ok(())
        })
        .await
    })
    .await
}

/// As kubelets and API servers are scraped: a token that stands in the Prometheus' own Pod, a
/// certificate of the cluster's authority, which stands in a ConfigMap.
async fn the_api_server_takes_a_token(ns: &Namespace, prometheus: &Prometheus<'_>) -> Result<()> {
    let monitor = json!({
        "apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor",
        "metadata": {"name": "apiserver"},
        "spec": {
            "selector": {"matchLabels": {"component": "apiserver", "provider": "kubernetes"}},
            "namespaceSelector": {"matchNames": ["default"]},
            "endpoints": [{
                "port": "https", "scheme": "https", "interval": "5s",
                "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
                "tlsConfig": {
                    "serverName": "kubernetes",
                    "ca": {"configMap": key("kube-root-ca.crt", "ca.crt")},
                },
            }],
        },
    });
    ns.apply(&monitor.to_string()).await?;
    prometheus
        .scrapes_job(&job_of(ns.name(), &monitor), 1)
        .await
}

#[tokio::test]
async fn a_secret_that_comes_late_or_changes_is_followed() -> Result<()> {
    scenario(async |ns| {
        certificates(ns).await?;
        ns.apply(GUARDED).await?;
        let spec = json!({"serviceMonitorSelector": {}});
        let prometheus = Prometheus::running(ns, "main", &spec).await?;
        let monitor = door(
            "late",
            "/bearer",
            &json!({"authorization": {"credentials": key("late", "token")}}),
        );
        ns.apply(&monitor.to_string()).await?;
        prometheus.tells_of("late", false, "does not exist").await?;

        for token in ["first", "second"] {
            ns.apply(&secret("late", &json!({"token": token})).to_string())
                .await?;
            let server = prometheus.server(0);
            eventually(&format!("the {token} token is shown"), async || {
                let series = server.series("shown").await?;
                let shown = series.iter().any(|labels| labels["credentials"] == token);
                ensure!(shown, "there are {series:?}");
                Ok(())
            })
            .await?;
            prometheus.settled(1).await?;
        }

        // Gone again, its monitor is left out, and nothing else is.
        let api = ns.api::<k8s_openapi::api::core::v1::Secret>();
        api.delete("late", &kube::api::DeleteParams::default())
            .await?;
        prometheus.tells_of("late", false, "does not exist").await?;
        let settled = prometheus.settled(1).await?;
        let accepted = condition(&settled, "SpecAccepted").map(|found| found.0);
        ensure!(
            accepted != Some("False"),
            "the Prometheus itself is refused"
        );
        prometheus.forgets(&job_of(ns.name(), &monitor)).await
    })
    .await
}

/// An authority, a server called `guarded` and a client, in the Secret `certificates`; the authority's
/// certificate in the ConfigMap `authority`.
async fn certificates(ns: &Namespace) -> Result<()> {
    const MAKE: &str = r#"
        cd /tmp
        new="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -x509"
        openssl req $new -subj /CN=authority -keyout ca.key -out ca.crt
        for name in server client; do
          openssl req $new -CA ca.crt -CAkey ca.key -subj /CN=$name -addext subjectAltName=DNS:guarded \
            -addext basicConstraints=CA:FALSE -keyout $name.key -out $name.crt
        done
    "#;
    ns.apply(CLIENT).await?;
    let client = ns.pod("client");
    client.ready().await?;
    client.exec(&["bash", "-ec", MAKE]).await?;
    let mut data = json!({});
    for file in [
        "ca.crt",
        "server.crt",
        "server.key",
        "client.crt",
        "client.key",
    ] {
        let text = client.exec(&["cat", &format!("/tmp/{file}")]).await?;
        data[file] = format!("{text}\n").into();
    }
    let authority = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "authority"},
        "data": {"ca.crt": data["ca.crt"]},
    });
    ns.apply(&authority.to_string()).await?;
    ns.apply(&secret("certificates", &data).to_string()).await
}
