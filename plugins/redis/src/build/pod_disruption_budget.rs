//! How many Pods a drain may take at once.

use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::Blueprint;

/// One Pod at a time.
pub fn budget(of: &Blueprint<'_>) -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: of.names.metadata(of.names.budget()),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(of.names.label_selector()),
            ..PodDisruptionBudgetSpec::default()
        }),
        ..PodDisruptionBudget::default()
    }
}
