//! One instance: a container with MySQL, its volume, and what is mounted into it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, ConfigMapVolumeSource, Container, ContainerPort, EmptyDirVolumeSource,
    ExecAction, PodAffinityTerm, PodAntiAffinity, PodSecurityContext, PodSpec, Probe,
    ResourceRequirements, SeccompProfile, SecretVolumeSource, SecurityContext,
    TopologySpreadConstraint, Volume, VolumeMount, WeightedPodAffinityTerm,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::Blueprint;
use crate::names::DATA;
use crate::spec;

/// The user and group of MySQL in the official images.
const USER: i64 = 999;
/// Seconds that MySQL gets to end: a large buffer pool is written out.
const GRACE: i64 = 60;

/// What runs in a Pod.
pub fn pod(of: &Blueprint<'_>) -> PodSpec {
    let spec = of.spec;
    PodSpec {
        containers: vec![container(of)],
        volumes: Some(volumes(of)),
        termination_grace_period_seconds: Some(GRACE),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        security_context: Some(pod_security()),
        affinity: Some(apart(of)),
        topology_spread_constraints: Some(vec![spread(of)]),
        node_selector: (!spec.node_selector.is_empty()).then(|| spec.node_selector.clone()),
        tolerations: (!spec.tolerations.is_empty()).then(|| spec.tolerations.clone()),
        ..PodSpec::default()
    }
}

/// Nothing in a Pod runs as root.
pub fn pod_security() -> PodSecurityContext {
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: Some(USER),
        run_as_group: Some(USER),
        fs_group: Some(USER),
        fs_group_change_policy: Some("OnRootMismatch".to_owned()),
        seccomp_profile: Some(SeccompProfile {
            type_: "RuntimeDefault".to_owned(),
            localhost_profile: None,
        }),
        ..PodSecurityContext::default()
    }
}

/// Nor can it become root, or write anywhere but in its volumes.
pub fn container_security() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        read_only_root_filesystem: Some(true),
        capabilities: Some(Capabilities {
            drop: Some(vec!["ALL".to_owned()]),
            add: None,
        }),
        ..SecurityContext::default()
    }
}

fn container(of: &Blueprint<'_>) -> Container {
    Container {
        name: "mysql".to_owned(),
        image: Some(image(of)),
        command: Some(["sh", "/etc/windlass/boot.sh"].map(str::to_owned).to_vec()),
        ports: Some(vec![ContainerPort {
            name: Some("mysql".to_owned()),
            container_port: 3306,
            protocol: Some("TCP".to_owned()),
            ..ContainerPort::default()
        }]),
        resources: Some(resources(&of.spec.resources)),
        readiness_probe: Some(readiness_probe()),
        volume_mounts: Some(vec![
            mount(DATA, "/var/lib/mysql", false),
            mount("config", "/etc/windlass", true),
            mount("access", "/etc/windlass-access", true),
            mount("run", "/run/mysqld", false),
            mount("tmp", "/tmp", false),
        ]),
        security_context: Some(container_security()),
        ..Container::default()
    }
}

/// The image that instances run. A version stays until it is upgraded.
pub fn image(of: &Blueprint<'_>) -> String {
    let version = of.record.version.as_ref().unwrap_or(&of.spec.version);
    let named = of.spec.image.clone();
    named.unwrap_or_else(|| format!("docker.io/library/mysql:{version}"))
}

fn resources(asked: &spec::Resources) -> ResourceRequirements {
    let list = |of: &BTreeMap<String, spec::Quantity>| {
        let amounts = of
            .iter()
            .map(|(name, amount)| (name.clone(), Quantity(amount.text())));
        let list: BTreeMap<_, _> = amounts.collect();
        (!list.is_empty()).then_some(list)
    };
    ResourceRequirements {
        requests: list(&asked.requests),
        limits: list(&asked.limits),
        claims: None,
    }
}

/// Ready means that MySQL answers, if only to refuse; never that it is the primary. There is no liveness probe:
/// one that kills an instance while it recovers makes everything worse.
fn readiness_probe() -> Probe {
    let ping = [
        "mysqladmin",
        "--no-defaults",
        "--socket=/run/mysqld/mysqld.sock",
        "ping",
    ];
    Probe {
        exec: Some(ExecAction {
            command: Some(ping.map(str::to_owned).to_vec()),
        }),
        period_seconds: Some(5),
        timeout_seconds: Some(5),
        failure_threshold: Some(3),
        ..Probe::default()
    }
}

/// Mounts a volume of the Pod.
pub fn mount(name: &str, path: &str, read_only: bool) -> VolumeMount {
    VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only: read_only.then_some(true),
        ..VolumeMount::default()
    }
}

/// A volume that lasts as long as its Pod.
pub fn scratch(name: &str) -> Volume {
    Volume {
        name: name.to_owned(),
        empty_dir: Some(EmptyDirVolumeSource::default()),
        ..Volume::default()
    }
}

fn volumes(of: &Blueprint<'_>) -> Vec<Volume> {
    vec![
        Volume {
            name: "config".to_owned(),
            config_map: Some(ConfigMapVolumeSource {
                name: of.names.config(),
                ..ConfigMapVolumeSource::default()
            }),
            ..Volume::default()
        },
        Volume {
            name: "access".to_owned(),
            secret: Some(SecretVolumeSource {
                secret_name: Some(of.names.access()),
                ..SecretVolumeSource::default()
            }),
            ..Volume::default()
        },
        scratch("run"),
        scratch("tmp"),
    ]
}

/// Instances go to different nodes where there are enough.
fn apart(of: &Blueprint<'_>) -> Affinity {
    Affinity {
        pod_anti_affinity: Some(PodAntiAffinity {
            preferred_during_scheduling_ignored_during_execution: Some(vec![
                WeightedPodAffinityTerm {
                    weight: 100,
                    pod_affinity_term: PodAffinityTerm {
                        label_selector: Some(of.names.label_selector()),
                        topology_key: "kubernetes.io/hostname".to_owned(),
                        ..PodAffinityTerm::default()
                    },
                },
            ]),
            ..PodAntiAffinity::default()
        }),
        ..Affinity::default()
    }
}

/// And to different zones.
fn spread(of: &Blueprint<'_>) -> TopologySpreadConstraint {
    TopologySpreadConstraint {
        max_skew: 1,
        topology_key: "topology.kubernetes.io/zone".to_owned(),
        when_unsatisfiable: "ScheduleAnyway".to_owned(),
        label_selector: Some(of.names.label_selector()),
        ..TopologySpreadConstraint::default()
    }
}
