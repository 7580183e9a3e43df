//! The contents of objects that the cache keeps as metadata only, each fetched once a version.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::cluster::{Cluster, ClusterError};
use crate::object::{Object, ObjectKey};

/// So many are remembered; beyond that all are forgotten and fetched again as they are asked for.
const MOST: usize = 4096;

/// Contents that were fetched, with the version that they are of.
#[derive(Debug, Default)]
pub(super) struct Contents(Mutex<HashMap<ObjectKey, (String, Arc<str>)>>);

impl Contents {
    /// The whole of what the cache shows as `known`; None where it is gone.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub(super) async fn whole(
        &self,
        known: &Object,
        cluster: &Cluster,
    ) -> Result<Option<Arc<str>>, ClusterError> {
        if let Some(content) = self.remembered(known) {
            return Ok(Some(content));
        }
        let Some(live) = cluster.get(&known.key).await? else {
            return Ok(None);
        };
        let mut contents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if contents.len() >= MOST {
            contents.clear();
        }
        contents.insert(live.key, (live.resource_version, live.json.clone()));
        Ok(Some(live.json))
    }

    fn remembered(&self, known: &Object) -> Option<Arc<str>> {
        let contents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (version, content) = contents.get(&known.key)?;
        (*version == known.resource_version).then(|| content.clone())
    }
}
