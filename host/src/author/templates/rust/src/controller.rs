//! A round of a Website: ask, judge, plan.

use k8s_openapi::api::core::v1::Pod;
use windlass_sdk::{Child, Conditions, Context, Controller, Error, Plan};

use crate::children::{config_map, deployment, selector, service};
use crate::readiness::{Readiness, readiness};
use crate::spec::{Website, WebsiteStatus};

/// Decides about objects of the kind `Website`.
pub struct WebsiteController;

impl Controller for WebsiteController {
    type Object = Website;

    /// Called whenever the object, one of its children or one of the Pods asked about has changed.
    fn reconcile(&self, website: &Website, cx: &Context<'_>) -> Result<Plan, Error> {
        // `?` ends the call while the answer is not there; the next call runs from the top with it.
        let pods: Vec<Pod> = cx.pods(&selector(cx.name())).get()?;
        let now = readiness(website.spec.replicas, &pods);

        let mut plan = Plan::new();
        plan.child(Child::of(&config_map(cx.name(), &website.spec))?);
        plan.child(Child::of(&deployment(cx.name(), &website.spec))?);
        plan.child(Child::of(&service(cx.name()))?);
        plan.status(&status(website, cx, &now))?;
        if now.status == "True" && !was_ready(website) {
            plan.event(cx.this(), "Published", format!("the page is served at {}", url(cx)));
        }
        Ok(plan)
    }
}

fn status(website: &Website, cx: &Context<'_>, now: &Readiness) -> WebsiteStatus {
    let received = website.status.clone().unwrap_or_default().conditions;
    let generation = website.metadata.generation;
    let mut conditions = Conditions::received(&received, generation, cx.time());
    conditions.set("Ready", now.status, now.reason, now.message.as_str());
    WebsiteStatus {
        ready_pods: Some(now.ready),
        url: Some(url(cx)),
        conditions: conditions.into_list(),
        ..WebsiteStatus::default()
    }
}

fn was_ready(website: &Website) -> bool {
    let conditions = website.status.iter().flat_map(|status| &status.conditions);
    conditions
        .into_iter()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

fn url(cx: &Context<'_>) -> String {
    format!("http://{}.{}.svc", cx.name(), cx.namespace())
}
