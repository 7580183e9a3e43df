//! How many Pods a drain may take at once.

use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::Blueprint;

/// As many as can be missing while every commit still finds the acknowledgements that it waits for.
pub fn budget(of: &Blueprint<'_>) -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: of.names.metadata(of.names.budget()),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int((of.spec.replicas / 2).max(1))),
            selector: Some(of.names.label_selector()),
            ..PodDisruptionBudgetSpec::default()
        }),
        ..PodDisruptionBudget::default()
    }
}
