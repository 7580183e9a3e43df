//! The Job that makes a backup: the database's image dumps, the host's image stores.

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, Container, EnvVar, KeyToPath, PersistentVolumeClaim,
    PersistentVolumeClaimSpec, PersistentVolumeClaimVolumeSource, PodSpec, PodTemplateSpec,
    SecretVolumeSource, Volume, VolumeMount, VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::Blueprint;
use super::pod::{container_security, image, mount, pod_security, scratch};
use super::stateful_set::storage;
use crate::names::BACKUP;
use crate::spec::Backup;
use crate::status::{BackupRecord, BackupState};

/// The component label of a backup's Pod.
pub const COMPONENT: &str = "backup";
/// The container whose termination message tells of the backup.
pub const STORE: &str = "store";
/// A backup gets so many seconds.
const DEADLINE: i64 = 12 * 3600;
/// Where a volume of backups is mounted.
const BACKUPS: &str = "/backups";

/// Where backups go.
pub enum Place {
    /// An S3-compatible bucket, by its address.
    S3(String),
    /// A volume claim, by its name.
    Claim(String),
}

impl Place {
    /// Where the spec says.
    pub fn of(of: &Blueprint<'_>, backup: &Backup) -> Self {
        match backup.storage_path.as_deref() {
            Some(path) if path.starts_with("s3://") => Self::S3(path.to_owned()),
            Some(path) => Self::Claim(path.trim_start_matches("pvc://").to_owned()),
            None => Self::Claim(of.names.backup_claim()),
        }
    }

    /// As `windlass backup store` takes it: a volume is shared, so each cluster has a folder.
    fn address(&self, of: &Blueprint<'_>) -> String {
        match self {
            Self::S3(address) => address.clone(),
            Self::Claim(_) => format!("{BACKUPS}/{}", of.names.set()),
        }
    }
}

/// The Job of the backup that is being made.
pub fn job(of: &Blueprint<'_>) -> Option<Job> {
    let backup = of.spec.backup.as_ref()?;
    let record = of
        .record
        .backups
        .first()
        .filter(|it| it.state == BackupState::Running)?;
    let place = Place::of(of, backup);
    Some(Job {
        metadata: of.names.metadata(of.names.backup_job(&record.id)),
        spec: Some(JobSpec {
            backoff_limit: Some(0),
            active_deadline_seconds: Some(DEADLINE),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(of.names.component_labels(COMPONENT)),
                    ..ObjectMeta::default()
                }),
                spec: Some(PodSpec {
                    restart_policy: Some("Never".to_owned()),
                    init_containers: Some(vec![dump(of, record, &place)]),
                    containers: vec![store(of, backup, record, &place)],
                    volumes: Some(volumes(of, backup, &place)),
                    automount_service_account_token: Some(false),
                    enable_service_links: Some(false),
                    security_context: Some(pod_security()),
                    ..PodSpec::default()
                }),
            },
            ..JobSpec::default()
        }),
        status: None,
    })
}

/// The claim of backups, where the spec names no place.
pub fn claim(of: &Blueprint<'_>) -> Option<PersistentVolumeClaim> {
    let backup = of.spec.backup.as_ref()?;
    if backup.storage_path.is_some() {
        return None;
    }
    let size = backup.size.as_ref().unwrap_or(&of.spec.storage_size);
    Some(PersistentVolumeClaim {
        metadata: of.names.metadata(of.names.backup_claim()),
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
            storage_class_name: of.spec.storage_class_name.clone(),
            resources: Some(VolumeResourceRequirements {
                requests: Some(storage(size)),
                limits: None,
            }),
            ..PersistentVolumeClaimSpec::default()
        }),
        status: None,
    })
}

fn dump(of: &Blueprint<'_>, record: &BackupRecord, place: &Place) -> Container {
    let folder = match place {
        Place::S3(_) => "/dump".to_owned(),
        Place::Claim(_) => place.address(of),
    };
    let mut mounts = vec![
        mount("dump", "/dump", false),
        mount("config", "/etc/windlass", true),
        mount("auth", "/etc/windlass-auth", true),
        mount("tmp", "/tmp", false),
    ];
    mounts.extend(backups_mount(place));
    Container {
        name: "dump".to_owned(),
        image: Some(image(of)),
        command: Some(["sh", "/etc/windlass/dump.sh"].map(str::to_owned).to_vec()),
        env: Some(vec![
            variable("SOURCE", of.names.host(&record.source)),
            variable("FOLDER", folder),
        ]),
        volume_mounts: Some(mounts),
        // Why a dump failed stands in what it printed last.
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        security_context: Some(container_security()),
        ..Container::default()
    }
}

fn store(of: &Blueprint<'_>, backup: &Backup, record: &BackupRecord, place: &Place) -> Container {
    let keep = backup.retention_days.to_string();
    let address = place.address(of);
    let mut arguments = vec![
        "backup",
        "store",
        "--from",
        "/dump/data",
        "--facts",
        "/dump/facts.json",
    ];
    arguments.extend(["--at", &address, "--name", &record.id, "--keep-days", &keep]);
    if let Some(endpoint) = &backup.endpoint {
        arguments.extend(["--endpoint", endpoint]);
    }
    if let Some(region) = &backup.region {
        arguments.extend(["--region", region]);
    }
    let mut mounts = vec![mount("dump", "/dump", true), mount("tmp", "/tmp", false)];
    mounts.extend(backups_mount(place));
    if backup.credentials_secret.is_some() {
        mounts.push(mount("storage", "/etc/windlass/storage", true));
    }
    Container {
        name: STORE.to_owned(),
        image: Some(of.host_image.to_owned()),
        args: Some(arguments.into_iter().map(str::to_owned).collect()),
        volume_mounts: Some(mounts),
        security_context: Some(container_security()),
        ..Container::default()
    }
}

fn variable(name: &str, value: String) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value: Some(value),
        value_from: None,
    }
}

fn backups_mount(place: &Place) -> Option<VolumeMount> {
    match place {
        Place::S3(_) => None,
        Place::Claim(_) => Some(mount("backups", BACKUPS, false)),
    }
}

fn volumes(of: &Blueprint<'_>, backup: &Backup, place: &Place) -> Vec<Volume> {
    let mut volumes = vec![
        scratch("dump"),
        scratch("tmp"),
        Volume {
            name: "config".to_owned(),
            config_map: Some(ConfigMapVolumeSource {
                name: of.names.config(),
                ..ConfigMapVolumeSource::default()
            }),
            ..Volume::default()
        },
        secret("auth", of.names.auth(), Some(BACKUP)),
    ];
    if let Some(name) = &backup.credentials_secret {
        volumes.push(secret("storage", name.clone(), None));
    }
    if let Place::Claim(name) = place {
        volumes.push(Volume {
            name: "backups".to_owned(),
            persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                claim_name: name.clone(),
                read_only: None,
            }),
            ..Volume::default()
        });
    }
    volumes
}

/// A Secret, or the one key of it that is needed.
fn secret(volume: &str, name: String, key: Option<&str>) -> Volume {
    let items = key.map(|key| {
        vec![KeyToPath {
            key: key.to_owned(),
            path: key.to_owned(),
            mode: None,
        }]
    });
    Volume {
        name: volume.to_owned(),
        secret: Some(SecretVolumeSource {
            secret_name: Some(name),
            items,
            ..SecretVolumeSource::default()
        }),
        ..Volume::default()
    }
}
