//! What a controller is given: the facts of the round, and the way to ask for more.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;
use kube::Resource;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::ask::{Ask, Together};
use crate::error::Error;
use crate::http::HttpAsk;
use crate::objects::{Query, read_object, read_objects};
use crate::redis::RedisAsk;
use crate::requirement::requirement;
use crate::secret::SecretView;
use crate::sql::SqlAsk;
use crate::wire::{self, Answer, Ended, ObjectRef, Question, Request, Requirement};

/// Everything that is known at the time of a call, and the way to ask for more.
///
/// Nothing is remembered from one call to the next: a call runs from the top, and each question that is already
/// answered returns at once.
pub struct Context<'r> {
    request: &'r Request,
    this: This,
    asked: RefCell<Vec<Requirement>>,
}

/// The object's identity.
struct This {
    api_version: String,
    kind: String,
    metadata: ObjectMeta,
}

impl<'r> Context<'r> {
    /// Reads the request's envelope; the object's own type is read by the controller's runner.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the object has no metadata that can be read.
    pub(crate) fn new(request: &'r Request) -> Result<Self, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Header {
            api_version: String,
            kind: String,
            metadata: ObjectMeta,
        }
        let header: Header = serde_json::from_str(&request.object).map_err(|why| {
            Error::Invalid(format!("failed to read the object's metadata: {why}"))
        })?;
        Ok(Self {
            request,
            this: This {
                api_version: header.api_version,
                kind: header.kind,
                metadata: header.metadata,
            },
            asked: RefCell::default(),
        })
    }

    /// The custom resource itself, to be named in an Event.
    #[must_use]
    pub fn this(&self) -> ObjectRef {
        ObjectRef {
            api_version: self.this.api_version.clone(),
            kind: self.this.kind.clone(),
            namespace: self.this.metadata.namespace.clone(),
            name: self.name().to_owned(),
        }
    }

    /// The custom resource's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.this.metadata.name.as_deref().unwrap_or_default()
    }

    /// The custom resource's namespace; empty for a cluster-scoped kind.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.this.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// The custom resource's metadata.
    #[must_use]
    pub fn metadata(&self) -> &ObjectMeta {
        &self.this.metadata
    }

    /// The round's time in milliseconds since the Unix epoch. It does not move during a round.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.request.now
    }

    /// The round's time as Kubernetes writes it, in whole seconds.
    #[must_use]
    pub fn time(&self) -> Time {
        let seconds = i64::try_from(self.request.now / 1000).unwrap_or(i64::MAX);
        Time(Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX))
    }

    /// True when the grant (`own:policy/v1/PodDisruptionBudget`) is given and the cluster serves it.
    #[must_use]
    pub fn available(&self, grant: &str) -> bool {
        self.request.available.iter().any(|given| given == grant)
    }

    /// While the object is being deleted.
    #[must_use]
    pub fn deletion(&self) -> Option<wire::Deletion> {
        self.request.deletion
    }

    /// The plugin's configuration.
    ///
    /// # Errors
    /// [`Error::Transient`] when it is not what `C` describes.
    pub fn config<C: DeserializeOwned>(&self) -> Result<C, Error> {
        serde_json::from_str(&self.request.config)
            .map_err(|why| Error::unreadable("the plugin's configuration", why))
    }

    /// How the action with this id ended, if it was part of an earlier plan.
    #[must_use]
    pub fn outcome(&self, id: &str) -> Option<&'r Ended> {
        let outcomes = self.request.outcomes.iter();
        outcomes
            .rev()
            .find(|outcome| outcome.id == id)
            .map(|outcome| &outcome.ended)
    }

    /// How the actions of earlier plans ended, by id.
    pub fn outcomes(&self) -> impl Iterator<Item = (&'r str, &'r Ended)> {
        let outcomes = self.request.outcomes.iter();
        outcomes.map(|outcome| (outcome.id.as_str(), &outcome.ended))
    }

    /// Since when the object's long action of this key runs, in milliseconds since the epoch; `None` when none
    /// does.
    #[must_use]
    pub fn running(&self, key: &str) -> Option<u64> {
        let mut running = self.request.running.iter();
        running
            .find(|running| running.key == key)
            .map(|running| running.since)
    }

    /// The live child of this kind and name that this plugin applied, if there is one.
    ///
    /// # Errors
    /// [`Error::Transient`] when the live object is not what `K` describes.
    pub fn child<K>(&self, name: &str) -> Result<Option<K>, Error>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Header<'a> {
            api_version: &'a str,
            kind: &'a str,
            #[serde(default)]
            metadata: ObjectMeta,
        }
        let found = self.request.children.iter().find(|json| {
            serde_json::from_str::<Header<'_>>(json).is_ok_and(|header| {
                header.api_version == K::api_version(&())
                    && header.kind == K::kind(&())
                    && header.metadata.name.as_deref() == Some(name)
            })
        });
        found.map(|json| read_object(json)).transpose()
    }

    /// Asks for Pods of the object's namespace by label selector.
    pub fn pods(&self, selector: &str) -> Ask<'_, Vec<Pod>> {
        self.objects(Query::selector(selector))
    }

    /// Asks for objects of a kind.
    pub fn objects<K>(&self, query: Query) -> Ask<'_, Vec<K>>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        let question = Question::Objects(query.wire::<K>());
        Ask::one(self, question, |answer| match answer {
            Answer::Objects(list) => read_objects(list),
            other => Err(unexpected(other)),
        })
    }

    /// Asks for one object of the object's namespace by name; `None` is the answer where there is none.
    pub fn object<K>(&self, name: &str) -> Ask<'_, Option<K>>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        let reference = ObjectRef {
            api_version: K::api_version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            namespace: self.this.metadata.namespace.clone(),
            name: name.to_owned(),
        };
        Ask::one(self, Question::Object(reference), |answer| match answer {
            Answer::Object(found) => found.as_deref().map(read_object).transpose(),
            other => Err(unexpected(other)),
        })
    }

    /// Asks for one object of another namespace by name; `None` is the answer where there is none.
    pub fn object_in<K>(&self, namespace: &str, name: &str) -> Ask<'_, Option<K>>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        let reference = ObjectRef {
            api_version: K::api_version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
        };
        Ask::one(self, Question::Object(reference), |answer| match answer {
            Answer::Object(found) => found.as_deref().map(read_object).transpose(),
            other => Err(unexpected(other)),
        })
    }

    /// Asks what is known about a Secret of the object's namespace: its keys, never its values.
    pub fn secret(&self, name: &str) -> Ask<'_, Option<SecretView>> {
        self.secret_in(self.namespace(), name)
    }

    /// Asks what is known about a Secret of another namespace. To use its values takes `slots-from:NAMESPACE`.
    pub fn secret_in(&self, namespace: &str, name: &str) -> Ask<'_, Option<SecretView>> {
        let reference = ObjectRef {
            api_version: "v1".to_owned(),
            kind: "Secret".to_owned(),
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
        };
        Ask::one(self, Question::Object(reference), |answer| match answer {
            Answer::Object(found) => found.as_deref().map(read_object).transpose(),
            other => Err(unexpected(other)),
        })
    }

    /// Starts a query on the Redis server of each of these Pods, asked all at once.
    pub fn redis<'p, P>(
        &self,
        pods: impl IntoIterator<Item = &'p P>,
        login: &wire::Login,
    ) -> RedisAsk<'_>
    where
        P: Resource<DynamicType = ()> + 'p,
    {
        RedisAsk::new(self, pods, Some(login.clone()))
    }

    /// Starts a query on the MySQL server of each of these Pods, asked all at once.
    pub fn sql<'p, P>(
        &self,
        pods: impl IntoIterator<Item = &'p P>,
        login: &wire::Login,
    ) -> SqlAsk<'_>
    where
        P: Resource<DynamicType = ()> + 'p,
    {
        SqlAsk::new(self, pods, login.clone())
    }

    /// Starts an HTTP GET on a Pod or on a granted server outside.
    pub fn http(&self, target: wire::HttpTarget, path: &str) -> HttpAsk<'_> {
        HttpAsk::new(self, target, path)
    }

    /// Asks several questions together, so that one round trip answers all of them.
    ///
    /// # Errors
    /// [`Error::NotYet`] while an answer is missing, else the first error of an answer.
    pub fn all<T: Together>(&self, asks: T) -> Result<T::Answers, Error> {
        asks.together()
    }

    /// The answer to a question, or `None` after noting that it is required.
    pub(crate) fn ask(&self, stage: u32, question: Question) -> Option<&'r Answer> {
        let wanted = requirement(stage, question);
        let answer = self.request.facts.iter().find(|fact| fact.id == wanted.id);
        let mut asked = self.asked.borrow_mut();
        if !asked.iter().any(|known| known.id == wanted.id) {
            asked.push(wanted);
        }
        answer.map(|fact| &fact.answer)
    }

    /// Everything that this call asked, answered or not, by stage and then in the order of asking.
    pub(crate) fn requirements(&self) -> Vec<Requirement> {
        let mut asked = self.asked.borrow().clone();
        asked.sort_by_key(|requirement| requirement.stage);
        asked
    }

    /// The names of what this call asked, for the harness.
    #[must_use]
    pub fn asked(&self) -> BTreeSet<String> {
        self.asked
            .borrow()
            .iter()
            .map(|requirement| requirement.id.clone())
            .collect()
    }
}

/// An answer of another kind than its question: refused, or a fault of the host.
pub(crate) fn unexpected(answer: &Answer) -> Error {
    match answer {
        Answer::Refused(grant) => Error::Refused {
            grant: grant.clone(),
        },
        other => Error::Transient(format!("the host answered with {other:?}")),
    }
}

/// Milliseconds of a duration, as the contract counts them.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
