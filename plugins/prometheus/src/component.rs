//! The component: what the plugin is and asks for.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{
    ConfigMap, Namespace, PersistentVolumeClaim, Pod, Secret, Service,
};
use windlass_sdk::Description;

use crate::api::{PodMonitor, Probe, PrometheusRule, ServiceMonitor};
use crate::names::NAME;
use crate::reconcile::PrometheusController;
use crate::settings;
use crate::workload::STATUS_PORT;

/// Generated natively: a schema inside the guest would triple its size.
const PROMETHEUS: &str = include_str!("../../../crds/monitoring.coreos.com_prometheuses.yaml");

/// Those of the kinds that a Prometheus follows.
const FOLLOWED: [&str; 4] = [
    include_str!("../../../crds/monitoring.coreos.com_podmonitors.yaml"),
    include_str!("../../../crds/monitoring.coreos.com_probes.yaml"),
    include_str!("../../../crds/monitoring.coreos.com_prometheusrules.yaml"),
    include_str!("../../../crds/monitoring.coreos.com_servicemonitors.yaml"),
];

/// What the plugin is and asks for.
#[must_use]
pub fn describe() -> Description {
    let described = Description::new(
        "prometheus",
        env!("CARGO_PKG_VERSION"),
        "Prometheus, and what it scrapes and evaluates",
    );
    let described = FOLLOWED.into_iter().fold(described, Description::carries);
    described
        .serves::<PrometheusController>(PROMETHEUS)
        .owns::<StatefulSet>()
        .owns::<Service>()
        .owns::<ConfigMap>()
        .owns::<Secret>()
        .reads::<ServiceMonitor>("")
        .reads::<PodMonitor>("")
        .reads::<Probe>("")
        .reads::<PrometheusRule>("")
        .reads::<Namespace>("")
        .reads::<Secret>("")
        .reads::<ConfigMap>("")
        .reads::<Pod>(NAME)
        .reads::<PersistentVolumeClaim>(NAME)
        .queries_http(STATUS_PORT)
        .patches::<Pod>()
        .patches::<PersistentVolumeClaim>()
        .config_schema(settings::schema())
}

windlass_sdk::export! {
    describe: describe,
    controllers: [PrometheusController],
}
