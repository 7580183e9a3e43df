//! Gathers facts: from the cache, from the API server for what the cache keeps only in part, from queries.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{join_all, try_join_all};
use tokio::sync::Semaphore;

use super::contents::Contents;
use super::facts::{BadNeed, Facts, ToGather};
use super::question::{Objects, Understood, Within, namespace_kind};
use crate::cache::{Cache, is_metadata_only, is_secret, metadata_text};
use crate::cluster::{Cluster, ClusterError};
use crate::object::{Object, ObjectKey};
use crate::plugin::bindings::{Answer, Detail, Question, Requirement};
use crate::plugin::{Grant, Grants};
use crate::query::Queries;
use crate::secrets::Secrets;
use crate::watch::{Index, Interest, States};

/// Answers the questions of one plugin.
pub(super) struct Gatherer {
    pub(super) cluster: Cluster,
    pub(super) cache: Cache,
    pub(super) index: Index,
    pub(super) states: States,
    pub(super) grants: Grants,
    /// The namespaces that the plugin serves; empty for all.
    pub(super) namespaces: BTreeSet<String>,
    pub(super) queries: Arc<Queries>,
    pub(super) secrets: Arc<Secrets>,
    pub(super) contents: Contents,
    /// No query is waited for longer, whatever the plugin asks for.
    pub(super) patience: Duration,
    /// As many as it may ask at once.
    pub(super) turns: Semaphore,
}

/// Why facts could not be gathered.
#[derive(Debug, thiserror::Error)]
pub(super) enum GatherError {
    /// The plugin asked for what cannot be.
    #[error(transparent)]
    Need(#[from] BadNeed),
    /// The API server had to be asked and did not answer.
    #[error("failed to gather \"{id}\": {source}")]
    Cluster {
        /// The requirement.
        id: String,
        /// Why.
        source: ClusterError,
    },
}

/// For whom facts are gathered.
pub(super) struct For<'a> {
    /// The object.
    pub(super) owner: &'a Object,
    /// Its key, as the index of interests shares it.
    pub(super) asker: &'a Arc<ObjectKey>,
    /// What it asked about so far.
    pub(super) interests: &'a mut Vec<Interest>,
}

/// A requirement that may be answered, or why not.
struct Prepared {
    requirement: Requirement,
    understood: Understood,
    missing: Option<String>,
}

impl Gatherer {
    /// Gathers stage by stage, all of a stage at once.
    pub(super) async fn gather(
        &self,
        mut whom: For<'_>,
        to_gather: ToGather,
        facts: &mut Facts,
    ) -> Result<(), GatherError> {
        for requirements in to_gather.into_values() {
            let prepare = |requirement| self.prepare(&mut whom, requirement);
            let prepared: Vec<_> = requirements
                .into_iter()
                .map(prepare)
                .collect::<Result<_, _>>()?;
            let answers = prepared
                .iter()
                .map(|prepared| self.answer(whom.owner, prepared));
            let answers = try_join_all(answers).await?;
            for (Prepared { requirement, .. }, answer) in prepared.into_iter().zip(answers) {
                facts.answered(requirement, answer);
            }
        }
        Ok(())
    }

    /// Notes what the answer will depend on, before it is read: a change from then on wakes the object.
    fn prepare(&self, whom: &mut For<'_>, requirement: Requirement) -> Result<Prepared, BadNeed> {
        let understood =
            Understood::read(&requirement.question, &whom.owner.key).map_err(|why| {
                BadNeed::Question {
                    id: requirement.id.clone(),
                    why,
                }
            })?;
        let missing = self.missing(&understood);
        if missing.is_none() {
            self.note(whom, self.interests(&understood));
        }
        Ok(Prepared {
            requirement,
            understood,
            missing,
        })
    }

    /// Notes what an object depends on.
    pub(super) fn note(&self, whom: &mut For<'_>, interests: Vec<Interest>) {
        for interest in interests {
            if !whom.interests.contains(&interest) {
                self.index.add(whom.asker, interest.clone());
                whom.interests.push(interest);
            }
        }
    }

    async fn answer(&self, owner: &Object, prepared: &Prepared) -> Result<Answer, GatherError> {
        let Prepared {
            requirement,
            understood,
            missing,
        } = prepared;
        if let Some(missing) = missing {
            return Ok(Answer::Refused(missing.clone()));
        }
        let answer = match understood {
            Understood::Object(key) => self.object(key).await.map(Answer::Object),
            Understood::Objects(objects) => self.objects(objects).await.map(Answer::Objects),
            Understood::Query(_) => return Ok(self.query(owner, &requirement.question).await),
        };
        answer.map_err(|source| GatherError::Cluster {
            id: requirement.id.clone(),
            source,
        })
    }

    /// The first grant that is missing or that this cluster cannot honour.
    fn missing(&self, understood: &Understood) -> Option<String> {
        let missing = |grant: &Grant| !self.grants.allows(grant) || !self.serves(grant);
        let grant = understood
            .grants()
            .into_iter()
            .find(missing)
            .map(|grant| grant.to_string());
        grant.or_else(|| self.foreign_namespace(understood))
    }

    /// Whether the cluster can honour a grant: its kind, if it names one, is served and, to be asked about, watched.
    pub(super) fn serves(&self, grant: &Grant) -> bool {
        match grant {
            Grant::Own(kind) | Grant::Read(kind) => self.states.is_synced(kind),
            Grant::Patch(kind) | Grant::Delete(kind) => !self.states.is_unavailable(kind),
            Grant::Query(..)
            | Grant::Act(..)
            | Grant::Evict
            | Grant::SlotsFrom(_)
            | Grant::Host(_) => true,
        }
    }

    /// A namespace outside those that the plugin serves.
    fn foreign_namespace(&self, understood: &Understood) -> Option<String> {
        let named: Vec<&String> = match understood {
            Understood::Object(key) => key.namespace.iter().collect(),
            Understood::Objects(Objects {
                within: Within::Named(names),
                ..
            }) => names.iter().collect(),
            Understood::Objects(_) | Understood::Query(_) => Vec::new(),
        };
        let foreign = |name: &&&String| {
            !self.namespaces.is_empty() && !self.namespaces.contains(name.as_str())
        };
        named
            .iter()
            .find(foreign)
            .map(|name| format!("the namespace {name}"))
    }

    /// What the answer depends on.
    fn interests(&self, understood: &Understood) -> Vec<Interest> {
        match understood {
            Understood::Object(key) => vec![Interest::Object(key.clone())],
            Understood::Query(_) => Vec::new(),
            Understood::Objects(Objects {
                kind,
                within,
                selector,
                ..
            }) => {
                let labels = match within {
                    Within::Labelled(labels) => Some(Interest::Objects {
                        kind: namespace_kind(),
                        namespaces: None,
                        selector: labels.clone(),
                    }),
                    Within::Every | Within::Named(_) => None,
                };
                let objects = Interest::Objects {
                    kind: kind.clone(),
                    namespaces: self.resolve(within),
                    selector: selector.clone(),
                };
                labels.into_iter().chain([objects]).collect()
            }
        }
    }

    /// The namespaces to look in; None for all.
    fn resolve(&self, within: &Within) -> Option<BTreeSet<String>> {
        match within {
            Within::Every => (!self.namespaces.is_empty()).then(|| self.namespaces.clone()),
            Within::Named(names) => Some(names.clone()),
            Within::Labelled(labels) => {
                let namespaces = self.cache.list(&namespace_kind(), None, labels);
                let names = namespaces
                    .iter()
                    .map(|namespace| namespace.key.name.clone());
                let granted =
                    |name: &String| self.namespaces.is_empty() || self.namespaces.contains(name);
                Some(names.filter(granted).collect())
            }
        }
    }

    async fn object(&self, key: &ObjectKey) -> Result<Option<String>, ClusterError> {
        match self.cache.get(key) {
            Some(object) => self.whole(&object).await,
            None => Ok(None),
        }
    }

    async fn objects(&self, asked: &Objects) -> Result<Vec<String>, ClusterError> {
        let list = |namespace| self.cache.list(&asked.kind, namespace, &asked.selector);
        let found: Vec<_> = match self.resolve(&asked.within) {
            None => list(None),
            Some(names) => names.iter().flat_map(|name| list(Some(name))).collect(),
        };
        match asked.detail {
            Detail::Metadata => Ok(found
                .iter()
                .map(|object| metadata_text(object).to_string())
                .collect()),
            Detail::Whole => {
                let whole = join_all(found.iter().map(|object| self.whole(object))).await;
                whole.into_iter().filter_map(Result::transpose).collect()
            }
        }
    }

    /// All that a plugin may know of an object; None where it went meanwhile.
    async fn whole(&self, object: &Object) -> Result<Option<String>, ClusterError> {
        if is_secret(&object.key.kind) {
            return self.secrets.redacted(object).await;
        }
        if is_metadata_only(&object.key.kind) {
            let content = self.contents.whole(object, &self.cluster).await?;
            return Ok(content.map(|content| content.to_string()));
        }
        Ok(Some(object.json.to_string()))
    }

    async fn query(&self, owner: &Object, question: &Question) -> Answer {
        // It is never closed. The time of a query begins with its turn.
        let _turn = self.turns.acquire().await;
        match &hurried(question, self.patience) {
            Question::Redis(query) => self.queries.redis(owner, query).await,
            Question::Sql(query) => self.queries.sql(owner, query).await,
            Question::Http(query) => self.queries.http(owner, query).await,
            Question::Object(_) | Question::Objects(_) => {
                unreachable!("objects are no queries: Understood::read tells them apart")
            }
        }
    }
}

/// The same question, which is given up after `patience` at the latest.
fn hurried(question: &Question, patience: Duration) -> Question {
    let patience = u64::try_from(patience.as_millis()).unwrap_or(u64::MAX);
    let mut question = question.clone();
    let timeout = match &mut question {
        Question::Redis(query) => &mut query.timeout,
        Question::Sql(query) => &mut query.timeout,
        Question::Http(query) => &mut query.timeout,
        Question::Object(_) | Question::Objects(_) => return question,
    };
    *timeout = patience.min(*timeout);
    question
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::bindings::{PodPort, RedisQuery};

    #[test]
    fn no_query_takes_longer_than_the_plugin_is_allowed() {
        let asked = |timeout| {
            let target = PodPort {
                pod: "a".into(),
                uid: "u".into(),
                port: 6379,
            };
            let query = RedisQuery {
                target,
                login: None,
                commands: Vec::new(),
                timeout,
            };
            match hurried(&Question::Redis(query), Duration::from_secs(2)) {
                Question::Redis(query) => query.timeout,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!((asked(500), asked(9_000)), (500, 2_000));
    }
}
