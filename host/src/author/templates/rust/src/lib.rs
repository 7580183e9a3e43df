//! An operator for the kind `Website`: a page from a ConfigMap, served by a Deployment behind a Service.
//!
//! Start reading at `controller.rs`. A round is a pure function, facts in and plan out: it makes no call, reads
//! no clock and keeps nothing. The host gathers what it asks, and carries out what it plans.

pub mod children;
pub mod controller;
pub mod page;
pub mod readiness;
pub mod spec;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use windlass_sdk::Description;

use controller::WebsiteController;

/// What the plugin is and asks for. `plugin.yaml` grants exactly this; a test compares the two.
#[must_use]
pub fn describe() -> Description {
    Description::new(
        "website-operator",
        env!("CARGO_PKG_VERSION"),
        "Pages on the web, from a custom resource",
    )
    .serves::<WebsiteController>(include_str!("../crd.yaml"))
    .owns::<ConfigMap>()
    .owns::<Deployment>()
    .owns::<Service>()
    .reads::<Pod>(children::MANAGED)
}

windlass_sdk::export! {
    describe: describe,
    controllers: [WebsiteController],
}
