//! The objects that a Website consists of. Only fields that this operator decides about are filled in: the rest
//! is the API server's to fill, and other people's to set.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{
    ConfigMap, ConfigMapVolumeSource, Container, ContainerPort, HTTPGetAction, PodSecurityContext,
    PodSpec, PodTemplateSpec, Probe, Service, ServicePort, ServiceSpec, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use windlass_sdk::{digest, name};

use crate::page::page;
use crate::spec::WebsiteSpec;

/// What all Pods of this operator carry: the host watches no others for it.
pub const MANAGED: &str = "app.kubernetes.io/managed-by=website-operator";

/// The port that Pods listen on. Below 1024 they would need to be root.
const PORT: i32 = 8080;

/// Nobody.
const USER: i64 = 65_534;

/// The page, as a file to be mounted.
#[must_use]
pub fn config_map(owner: &str, spec: &WebsiteSpec) -> ConfigMap {
    ConfigMap {
        metadata: metadata(name::suffixed(owner, "page", name::NAME_LIMIT), owner),
        data: Some([("index.html".to_owned(), page(spec))].into()),
        ..ConfigMap::default()
    }
}

/// The Pods that serve it. The page's digest stands on them, so that a changed page rolls them.
#[must_use]
pub fn deployment(owner: &str, spec: &WebsiteSpec) -> Deployment {
    let pods = PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(labels(owner)),
            annotations: Some([("web.example.com/page".to_owned(), digest(&page(spec)))].into()),
            ..ObjectMeta::default()
        }),
        spec: Some(pod(owner, spec)),
    };
    Deployment {
        metadata: metadata(owner.to_owned(), owner),
        spec: Some(DeploymentSpec {
            replicas: Some(spec.replicas),
            selector: LabelSelector {
                match_labels: Some(labels(owner)),
                ..LabelSelector::default()
            },
            template: pods,
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    }
}

/// How it is found.
#[must_use]
pub fn service(owner: &str) -> Service {
    Service {
        metadata: metadata(owner.to_owned(), owner),
        spec: Some(ServiceSpec {
            selector: Some(labels(owner)),
            ports: Some(vec![ServicePort {
                name: Some("http".to_owned()),
                port: 80,
                target_port: Some(IntOrString::String("http".to_owned())),
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

/// The selector of one Website's Pods.
#[must_use]
pub fn selector(owner: &str) -> String {
    let terms: Vec<_> = labels(owner)
        .into_iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    terms.join(",")
}

fn pod(owner: &str, spec: &WebsiteSpec) -> PodSpec {
    let command = ["busybox", "httpd", "-f", "-p", "8080", "-h", "/page"];
    PodSpec {
        containers: vec![Container {
            name: "web".to_owned(),
            image: Some(spec.image.clone()),
            command: Some(command.map(str::to_owned).into()),
            ports: Some(vec![ContainerPort {
                name: Some("http".to_owned()),
                container_port: PORT,
                ..ContainerPort::default()
            }]),
            readiness_probe: Some(Probe {
                http_get: Some(HTTPGetAction {
                    path: Some("/".to_owned()),
                    port: IntOrString::String("http".to_owned()),
                    ..HTTPGetAction::default()
                }),
                period_seconds: Some(2),
                ..Probe::default()
            }),
            volume_mounts: Some(vec![VolumeMount {
                name: "page".to_owned(),
                mount_path: "/page".to_owned(),
                ..VolumeMount::default()
            }]),
            ..Container::default()
        }],
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: Some(USER),
            ..PodSecurityContext::default()
        }),
        volumes: Some(vec![Volume {
            name: "page".to_owned(),
            config_map: Some(ConfigMapVolumeSource {
                name: name::suffixed(owner, "page", name::NAME_LIMIT),
                ..ConfigMapVolumeSource::default()
            }),
            ..Volume::default()
        }]),
        // BusyBox as process 1 ignores being asked to end.
        termination_grace_period_seconds: Some(1),
        ..PodSpec::default()
    }
}

fn metadata(name: String, owner: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        labels: Some(labels(owner)),
        ..ObjectMeta::default()
    }
}

fn labels(owner: &str) -> BTreeMap<String, String> {
    [
        ("app.kubernetes.io/name", "website"),
        ("app.kubernetes.io/instance", owner),
        ("app.kubernetes.io/managed-by", "website-operator"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into()
}
