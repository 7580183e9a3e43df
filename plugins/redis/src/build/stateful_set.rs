//! The Pods: one StatefulSet for the first primary, one for the others. Roles are labels, not sets.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy};
use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, ConfigMapVolumeSource, Container, ContainerPort, EmptyDirVolumeSource,
    EnvVar, EnvVarSource, ExecAction, PersistentVolumeClaim, PersistentVolumeClaimSpec,
    PodAffinityTerm, PodAntiAffinity, PodSecurityContext, PodSpec, PodTemplateSpec, Probe,
    ResourceRequirements, SeccompProfile, SecretKeySelector, SecretVolumeSource, SecurityContext,
    TCPSocketAction, TopologySpreadConstraint, Volume, VolumeMount, VolumeResourceRequirements,
    WeightedPodAffinityTerm,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::Blueprint;
use crate::names::{DATA, PROBE};
use crate::spec;

/// The user and group of Redis in the official images.
const USER: i64 = 999;
/// Seconds that Redis gets to end. The operator shortens it where a dead primary is in the way.
const GRACE: i64 = 15;

/// The StatefulSets of a Redis.
pub fn all(of: &Blueprint<'_>) -> [StatefulSet; 2] {
    let names = of.names;
    [
        set(of, "master", names.master_set(), 1),
        set(of, "replica", names.replica_set(), replica_count(of)),
    ]
}

/// How many Pods the replica set has: as asked, but never without the recorded primary, which moves first.
#[must_use]
pub fn replica_count(of: &Blueprint<'_>) -> i32 {
    let primary = of.record.primary.as_ref();
    let ordinal = primary.and_then(|primary| of.names.ordinal(&primary.pod));
    of.spec
        .replicas
        .max(ordinal.map_or(0, |ordinal| ordinal + 1))
}

/// Pods come up in any order and are replaced by the operator alone: it knows which one is the primary.
fn set(of: &Blueprint<'_>, which: &str, name: String, replicas: i32) -> StatefulSet {
    let labels = of.names.set_labels(which);
    StatefulSet {
        metadata: of.names.metadata(name),
        spec: Some(StatefulSetSpec {
            replicas: Some(replicas),
            service_name: Some(of.names.headless_service()),
            pod_management_policy: Some("Parallel".to_owned()),
            update_strategy: Some(StatefulSetUpdateStrategy {
                type_: Some("OnDelete".to_owned()),
                rolling_update: None,
            }),
            revision_history_limit: Some(3),
            selector: LabelSelector {
                match_labels: Some(labels.clone()),
                match_expressions: None,
            },
            template: template(of, labels.clone()),
            volume_claim_templates: claim(of, labels).map(|claim| vec![claim]),
            ..StatefulSetSpec::default()
        }),
        ..StatefulSet::default()
    }
}

fn template(of: &Blueprint<'_>, labels: BTreeMap<String, String>) -> PodTemplateSpec {
    PodTemplateSpec {
        metadata: Some(ObjectMeta {
            labels: Some(labels),
            annotations: Some(annotations(of)),
            ..ObjectMeta::default()
        }),
        spec: Some(pod(of)),
    }
}

/// What must replace Pods when it changes, though it does not stand in the template.
fn annotations(of: &Blueprint<'_>) -> BTreeMap<String, String> {
    let fixed = of.settings.fixed.iter();
    let settings: String = fixed
        .map(|(name, value)| format!("{name} {value}\n"))
        .collect();
    let settings = windlass_sdk::digest(settings);
    let mut annotations = BTreeMap::from([("redis.example.com/settings".to_owned(), settings)]);
    if let Some(digest) = of.password_digest {
        annotations.insert("redis.example.com/password".to_owned(), digest.to_owned());
    }
    annotations
}

fn pod(of: &Blueprint<'_>) -> PodSpec {
    let spec = of.spec;
    PodSpec {
        containers: vec![container(of)],
        volumes: Some(volumes(of)),
        termination_grace_period_seconds: Some(GRACE),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: Some(USER),
            run_as_group: Some(USER),
            fs_group: Some(USER),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                localhost_profile: None,
            }),
            ..PodSecurityContext::default()
        }),
        affinity: Some(apart(of)),
        topology_spread_constraints: Some(vec![spread(of)]),
        node_selector: (!spec.node_selector.is_empty()).then(|| spec.node_selector.clone()),
        tolerations: (!spec.tolerations.is_empty()).then(|| spec.tolerations.clone()),
        ..PodSpec::default()
    }
}

fn container(of: &Blueprint<'_>) -> Container {
    Container {
        name: "redis".to_owned(),
        image: Some(image(of)),
        command: Some(["sh", "/etc/windlass/boot.sh"].map(str::to_owned).to_vec()),
        ports: Some(vec![ContainerPort {
            name: Some("redis".to_owned()),
            container_port: 6379,
            protocol: Some("TCP".to_owned()),
            ..ContainerPort::default()
        }]),
        env: Some(vec![probe_password(of)]),
        resources: Some(resources(&of.spec.resources)),
        startup_probe: Some(tcp_probe(1, 600)),
        readiness_probe: Some(readiness_probe()),
        // A frozen Redis still accepts connections; the operator deletes its Pod. This is for a hung container.
        liveness_probe: Some(tcp_probe(10, 6)),
        volume_mounts: Some(vec![
            mount(DATA, "/data", false),
            mount("config", "/etc/windlass", true),
            mount("access", "/etc/windlass-access", true),
        ]),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true),
            capabilities: Some(Capabilities {
                drop: Some(vec!["ALL".to_owned()]),
                add: None,
            }),
            ..SecurityContext::default()
        }),
        ..Container::default()
    }
}

fn image(of: &Blueprint<'_>) -> String {
    let named = of.spec.image.clone();
    named.unwrap_or_else(|| format!("docker.io/library/redis:{}", of.spec.version))
}

/// redis-cli reads its password from this variable.
fn probe_password(of: &Blueprint<'_>) -> EnvVar {
    EnvVar {
        name: "REDISCLI_AUTH".to_owned(),
        value: None,
        value_from: Some(EnvVarSource {
            secret_key_ref: Some(SecretKeySelector {
                name: of.names.auth(),
                key: PROBE.to_owned(),
                optional: None,
            }),
            ..EnvVarSource::default()
        }),
    }
}

fn resources(asked: &spec::Resources) -> ResourceRequirements {
    let list = |of: &BTreeMap<String, spec::Quantity>| {
        let list: BTreeMap<_, _> = of
            .iter()
            .map(|(name, amount)| (name.clone(), Quantity(amount.text())))
            .collect();
        (!list.is_empty()).then_some(list)
    };
    ResourceRequirements {
        requests: list(&asked.requests),
        limits: list(&asked.limits),
        claims: None,
    }
}

fn tcp_probe(period_seconds: i32, failures: i32) -> Probe {
    Probe {
        tcp_socket: Some(TCPSocketAction {
            port: IntOrString::String("redis".to_owned()),
            host: None,
        }),
        period_seconds: Some(period_seconds),
        failure_threshold: Some(failures),
        ..Probe::default()
    }
}

fn readiness_probe() -> Probe {
    Probe {
        exec: Some(ExecAction {
            command: Some(["sh", "/etc/windlass/ready.sh"].map(str::to_owned).to_vec()),
        }),
        period_seconds: Some(10),
        timeout_seconds: Some(3),
        failure_threshold: Some(2),
        ..Probe::default()
    }
}

fn mount(name: &str, path: &str, read_only: bool) -> VolumeMount {
    VolumeMount {
        name: name.to_owned(),
        mount_path: path.to_owned(),
        read_only: read_only.then_some(true),
        ..VolumeMount::default()
    }
}

fn volumes(of: &Blueprint<'_>) -> Vec<Volume> {
    let mut volumes = vec![
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
    ];
    if !of.spec.persistence.enabled {
        volumes.push(Volume {
            name: DATA.to_owned(),
            empty_dir: Some(EmptyDirVolumeSource::default()),
            ..Volume::default()
        });
    }
    volumes
}

fn claim(of: &Blueprint<'_>, labels: BTreeMap<String, String>) -> Option<PersistentVolumeClaim> {
    let persistence = &of.spec.persistence;
    persistence.enabled.then(|| PersistentVolumeClaim {
        metadata: ObjectMeta {
            name: Some(DATA.to_owned()),
            labels: Some(labels),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
            storage_class_name: persistence.storage_class_name.clone(),
            resources: Some(VolumeResourceRequirements {
                requests: Some(BTreeMap::from([(
                    "storage".to_owned(),
                    Quantity(persistence.size.text()),
                )])),
                limits: None,
            }),
            ..PersistentVolumeClaimSpec::default()
        }),
        status: None,
    })
}

/// Pods of one Redis go to different nodes where there are enough.
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
