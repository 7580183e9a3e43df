//! How clients find the primary and the replicas.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::Blueprint;
use crate::names::Role;

/// The Services of a cluster.
pub fn all(of: &Blueprint<'_>) -> [Service; 3] {
    let names = of.names;
    let (primary, replica) = (Role::Primary, Role::Replica);
    [
        service(of, names.primary_service(), names.role_labels(primary)),
        service(of, names.replicas_service(), names.role_labels(replica)),
        headless(service(of, names.headless_service(), names.pod_labels())),
    ]
}

fn service(of: &Blueprint<'_>, name: String, selector: BTreeMap<String, String>) -> Service {
    Service {
        metadata: of.names.metadata(name),
        spec: Some(ServiceSpec {
            selector: Some(selector),
            ports: Some(vec![ServicePort {
                name: Some("mysql".to_owned()),
                port: 3306,
                protocol: Some("TCP".to_owned()),
                target_port: Some(IntOrString::String("mysql".to_owned())),
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

/// Names resolve before Pods are ready: a replica that recovers is still to be reached by name.
fn headless(mut service: Service) -> Service {
    if let Some(spec) = &mut service.spec {
        spec.cluster_ip = Some("None".to_owned());
        spec.publish_not_ready_addresses = Some(true);
    }
    service
}
