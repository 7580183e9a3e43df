//! Why a child could not be brought in step.

use crate::cluster::ClusterError;
use crate::object::ObjectKey;
use crate::plugin::bindings::SecretKey;
use crate::secrets::SecretError;

/// What stands in the way of one child. The others go on.
#[derive(Debug, thiserror::Error)]
pub enum ChildTrouble {
    /// Something that is not ours goes by its name.
    #[error(
        "another object has this name: rename or delete it, or hand it over by the label {label_key}={label}",
        label_key = crate::object::OWNER_LABEL
    )]
    NameTaken {
        /// The value of the owner label that it would need.
        label: String,
    },
    /// Values that were made once are gone, and making others would lock out whoever has the first.
    #[error(
        "generated values are lost and not made again: put Secret {secret} back with the label \
         {label_key}={label}, or, if nothing depends on the old values, remove from status.windlass.generated \
         (kubectl edit --subresource=status): {lost}. What runs keeps the old ones until its Pods are deleted",
        label_key = crate::object::OWNER_LABEL
    )]
    SecretLost {
        /// The Secret's name.
        secret: String,
        /// Their entries in the record.
        lost: String,
        /// The value of the owner label.
        label: String,
    },
    /// A slot takes a value that is not there.
    #[error("{0}")]
    SlotMissing(#[source] SecretError),
    /// A slot takes a value that does not fit where it should stand.
    #[error("{key} of the Secret {secret} {why}")]
    SlotUnfit {
        /// The Secret, with its namespace.
        secret: String,
        /// The key.
        key: String,
        /// What is wrong, and what to write.
        why: &'static str,
    },
    /// The API server does not let one of its fields be changed.
    #[error("{0}; a change of this field needs the object to be deleted and made again")]
    Immutable(ClusterError),
    /// The API server took it, but did not keep all of it.
    #[error(
        "the API server does not keep {0}: something between changes the object, such as a webhook"
    )]
    NotKept(String),
    /// Its kind is cluster-scoped.
    #[error("{} is cluster-scoped; an object in a namespace cannot own it", .0.kind)]
    ClusterScoped(ObjectKey),
    /// The API server refused or did not answer.
    #[error("{0}")]
    Cluster(#[source] ClusterError),
}

impl From<ClusterError> for ChildTrouble {
    fn from(error: ClusterError) -> Self {
        Self::Cluster(error)
    }
}

impl From<SecretError> for ChildTrouble {
    fn from(error: SecretError) -> Self {
        match error {
            SecretError::Cluster(error) => Self::Cluster(error),
            missing => Self::SlotMissing(missing),
        }
    }
}

impl ChildTrouble {
    /// A value that cannot stand within a YAML document.
    pub(super) fn not_yaml(key: &SecretKey, why: &'static str) -> Self {
        Self::SlotUnfit {
            secret: format!("{}/{}", key.namespace, key.name),
            key: key.key.clone(),
            why,
        }
    }

    /// One word for the condition `Synced`.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NameTaken { .. } => "NameTaken",
            Self::SecretLost { .. } => "SecretLost",
            Self::SlotMissing(_) => "SecretMissing",
            Self::SlotUnfit { .. } => "SecretUnfit",
            Self::Immutable(_) => "FieldImmutable",
            Self::NotKept(_) | Self::ClusterScoped(_) | Self::Cluster(_) => "ApplyFailed",
        }
    }
}
