//! One bad object harms only itself.

use serde_json::{Value, json};
use windlass_e2e::prelude::*;

use super::monitors::{group, job_of, rule, service_monitor, service_monitor_with};
use super::subject::{Prometheus, condition, told};

/// Monitors that nobody can follow, each with a part of why.
fn bad_monitors() -> [(Value, &'static str); 4] {
    let with = |name: &str, endpoint: Value| service_monitor_with(name, &endpoint);
    let key = |name: &str| json!({"name": "harbour", "key": name});
    let auth = json!({"username": key("user"), "password": key("password")});
    [
        (
            with(
                "bad-regex",
                json!({"relabelings": [{"regex": "(", "targetLabel": "a"}]}),
            ),
            "regular expression",
        ),
        (
            with(
                "no-secret",
                json!({"authorization": {"credentials": {"name": "nowhere", "key": "token"}}}),
            ),
            "does not exist",
        ),
        (
            with(
                "two-ways",
                json!({"basicAuth": auth, "authorization": {"credentials": key("user")}}),
            ),
            "takes one of them",
        ),
        (
            with("a-file", json!({"bearerTokenFile": "/etc/passwd"})),
            "forbids",
        ),
    ]
}

#[tokio::test]
async fn bad_monitors_among_fifty_are_left_out_alone() -> Result<()> {
    scenario(async |ns| {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "harbour"},
            "stringData": {"user": "pilot", "password": "tide"},
        });
        ns.apply(&secret.to_string()).await?;
        let spec = json!({
            "serviceMonitorSelector": {},
            "arbitraryFSAccessThroughSMs": {"deny": true},
            // Fifty jobs a second on one target are no test of anything here.
            "scrapeInterval": "15s",
        });
        let prometheus = Prometheus::running(ns, "main", &spec).await?;
        for number in 0..46 {
            let good = service_monitor(&format!("good-{number:02}"));
            ns.apply(&good.to_string()).await?;
        }
        let bad = bad_monitors();
        for (monitor, _) in &bad {
            ns.apply(&monitor.to_string()).await?;
        }
        for (monitor, why) in &bad {
            let name = monitor["metadata"]["name"].as_str().unwrap_or_default();
            prometheus.tells_of(name, false, why).await?;
            let event = told(ns, name, "InvalidConfiguration").await?;
            ensure!(event.contains(why), "the Event says {event:?}");
        }
        let settled = prometheus.settled(1).await?;
        let selection = &settled.data["status"]["selection"];
        let counts = (selection["picked"].as_i64(), selection["leftOut"].as_i64());
        ensure!(
            counts == (Some(46), Some(4)),
            "the selection is {selection}"
        );
        let jobs = prometheus.server(0).jobs().await?;
        ensure!(jobs.len() == 46, "there are {} jobs: {jobs:?}", jobs.len());

        // Mended, it is followed as any other.
        let mended = service_monitor("bad-regex");
        ns.apply(&mended.to_string()).await?;
        prometheus.has_job(&job_of(ns.name(), &mended)).await?;
        prometheus.tells_of("bad-regex", true, "").await
    })
    .await
}

#[tokio::test]
async fn what_prometheus_refuses_leaves_the_last_good_configuration() -> Result<()> {
    scenario(async |ns| {
        let additional = |text: &str| {
            json!({
                "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "more"},
                "stringData": {"jobs.yaml": text},
            })
            .to_string()
        };
        ns.apply(&additional("- job_name: more\n")).await?;
        let spec = json!({
            "serviceMonitorSelector": {}, "ruleSelector": {},
            "additionalScrapeConfigs": {"name": "more", "key": "jobs.yaml"},
        });
        let prometheus = Prometheus::running(ns, "main", &spec).await?;
        let monitor = service_monitor("self");
        prometheus.scrapes(&monitor, 1).await?;

        // What stands in a Secret nobody but Prometheus reads.
        ns.apply(&additional("- job_name: more\n  tide: high\n"))
            .await?;
        prometheus
            .expect()
            .to("tell that Prometheus refuses it", |prometheus| {
                condition(prometheus, "Reconciled").is_some_and(|(status, reason, message)| {
                    status == "False"
                        && reason == "ConfigurationRefused"
                        && message.contains("tide")
                })
            })
            .await?;
        let server = prometheus.server(0);
        server.check_up(&job_of(ns.name(), &monitor), 1).await?;
        let jobs = server.jobs().await?;
        ensure!(jobs.contains("more"), "there are {jobs:?}");

        ns.apply(&additional("- job_name: better\n")).await?;
        prometheus.has_job("better").await?;
        prometheus.settled(1).await.map(drop)
    })
    .await
}

#[tokio::test]
async fn a_bad_group_is_left_out_alone_and_a_megabyte_of_rules_is_loaded() -> Result<()> {
    scenario(async |ns| {
        let spec = json!({"serviceMonitorSelector": {}, "ruleSelector": {}});
        let prometheus = Prometheus::running(ns, "main", &spec).await?;
        let groups = [
            group("good", "vector(1)"),
            group("bad", "sum by (up"),
            group("worse", "rate(up) > 0"),
        ];
        ns.apply(&rule("mixed", &groups).to_string()).await?;
        let server = prometheus.server(0);
        let loaded = async |wanted: &[&str]| {
            eventually(&format!("the groups {wanted:?} are loaded"), async || {
                let groups = server.groups().await?;
                let missing = wanted
                    .iter()
                    .filter(|name| !groups.contains(**name))
                    .count();
                ensure!(
                    groups.len() == wanted.len() && missing == 0,
                    "there are {groups:?}"
                );
                Ok(())
            })
            .await
        };
        loaded(&["good"]).await?;
        let event = told(ns, "mixed", "InvalidConfiguration").await?;
        for name in ["\"bad\"", "\"worse\""] {
            ensure!(event.contains(name), "the Event says {event:?}");
        }
        prometheus.tells_of("mixed", false, "\"bad\"").await?;

        // Together above what one ConfigMap can hold.
        let names = ["one", "two", "three"];
        for name in names {
            ns.apply(&rule(name, &[large(name)]).to_string()).await?;
        }
        loaded(&["good", "one", "two", "three"]).await?;
        server.check_with_promtool().await?;
        prometheus.settled(1).await.map(drop)
    })
    .await
}

/// A group of some 400 KB.
fn large(name: &str) -> Value {
    let alert = |number: usize| {
        json!({
            "alert": format!("Tide{number}"), "expr": "vector(1) > 2",
            "annotations": {"summary": "the tide is high ".repeat(60)},
        })
    };
    json!({"name": name, "interval": "1m", "rules": (0..400).map(alert).collect::<Vec<_>>()})
}
