//! What is asked.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Resource;
use serde::de::DeserializeOwned;
use windlass_sdk::wire::Namespaces;
use windlass_sdk::{Context, Error, Partial, Query};

use crate::api::{
    ConfigMapKey, LabelSelector, PodMonitor, Probe, PrometheusRule, PrometheusSpec, SecretKey,
    ServiceMonitor,
};
use crate::known::{Known, Value};

/// The objects of one kind that a Prometheus may follow.
pub struct Reach<K> {
    /// Those that its label selector chooses.
    pub chosen: Vec<K>,
    /// Namespace and name of the others in the same namespaces.
    pub others: Vec<(String, String)>,
    /// Why the selectors cannot be followed.
    pub wrong: Option<String>,
}

impl<K> Default for Reach<K> {
    fn default() -> Self {
        Self {
            chosen: Vec::new(),
            others: Vec::new(),
            wrong: None,
        }
    }
}

/// Everything that a Prometheus may follow.
pub struct Objects {
    /// ServiceMonitors.
    pub service_monitors: Reach<ServiceMonitor>,
    /// PodMonitors.
    pub pod_monitors: Reach<PodMonitor>,
    /// Probes.
    pub probes: Reach<Probe>,
    /// PrometheusRules.
    pub rules: Reach<PrometheusRule>,
}

impl Objects {
    /// Asks for them, all at once.
    ///
    /// # Errors
    /// While an answer is missing.
    pub fn ask(cx: &Context<'_>, spec: &PrometheusSpec) -> Result<Self, Error> {
        let service_monitors = reach(
            cx,
            spec.service_monitor_selector.as_ref(),
            spec.service_monitor_namespace_selector.as_ref(),
        );
        let pod_monitors = reach(
            cx,
            spec.pod_monitor_selector.as_ref(),
            spec.pod_monitor_namespace_selector.as_ref(),
        );
        let probes = reach(
            cx,
            spec.probe_selector.as_ref(),
            spec.probe_namespace_selector.as_ref(),
        );
        let rules = reach(
            cx,
            spec.rule_selector.as_ref(),
            spec.rule_namespace_selector.as_ref(),
        );
        Ok(Self {
            service_monitors: service_monitors?,
            pod_monitors: pod_monitors?,
            probes: probes?,
            rules: rules?,
        })
    }
}

fn reach<K>(
    cx: &Context<'_>,
    selector: Option<&LabelSelector>,
    namespaces: Option<&LabelSelector>,
) -> Result<Reach<K>, Error>
where
    K: Resource<DynamicType = ()> + DeserializeOwned,
{
    let Some(selector) = selector else {
        return Ok(Reach::default());
    };
    let (selector, within) = match selector
        .text()
        .and_then(|text| Ok((text, within(namespaces)?)))
    {
        Ok(asked) => asked,
        Err(why) => {
            return Ok(Reach {
                wrong: Some(why),
                ..Reach::default()
            });
        }
    };
    let chosen = cx
        .objects::<K>(Query::selector(&selector).namespaces(within.clone()))
        .get();
    if selector.is_empty() {
        return Ok(Reach {
            chosen: chosen?,
            ..Reach::default()
        });
    }
    let all = cx
        .objects::<Partial<K, ()>>(Query::selector("").namespaces(within).metadata())
        .get();
    let chosen = chosen?;
    let place = |meta: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta| {
        (
            meta.namespace.clone().unwrap_or_default(),
            meta.name.clone().unwrap_or_default(),
        )
    };
    let mut others: Vec<_> = all?.iter().map(|object| place(&object.metadata)).collect();
    others.retain(|other| !chosen.iter().any(|object| place(object.meta()) == *other));
    Ok(Reach {
        chosen,
        others,
        wrong: None,
    })
}

fn within(namespaces: Option<&LabelSelector>) -> Result<Namespaces, String> {
    let Some(selector) = namespaces else {
        return Ok(Namespaces::Same);
    };
    let text = selector.text()?;
    Ok(match text.is_empty() {
        true => Namespaces::Every,
        false => Namespaces::Labelled(text),
    })
}

/// Secrets and ConfigMaps, asked for as they are needed.
pub struct Asking<'c> {
    cx: &'c Context<'c>,
    pending: Cell<bool>,
    digests: RefCell<BTreeMap<String, String>>,
}

impl<'c> Asking<'c> {
    /// Nothing was asked yet.
    #[must_use]
    pub fn new(cx: &'c Context<'c>) -> Self {
        Self {
            cx,
            pending: Cell::new(false),
            digests: RefCell::default(),
        }
    }

    /// Goes on once everything that was asked is answered.
    ///
    /// # Errors
    /// While an answer is missing.
    pub fn complete(&self) -> Result<(), Error> {
        match self.pending.get() {
            true => Err(Error::NotYet),
            false => Ok(()),
        }
    }

    /// The digests of the secret values that were asked about: they change when a value does.
    #[must_use]
    pub fn digests(&self) -> BTreeMap<String, String> {
        self.digests.borrow().clone()
    }

    fn allowed(&self, namespace: &str) -> Result<(), String> {
        let granted = [format!("slots-from:{namespace}"), "slots-from:*".to_owned()];
        match namespace == self.cx.namespace()
            || granted.iter().any(|grant| self.cx.available(grant))
        {
            true => Ok(()),
            false => Err(format!(
                "it names a Secret of namespace {namespace}, and the Plugin lacks the grant slots-from:{namespace}"
            )),
        }
    }

    /// An answer, or what is missing; None while it is not there yet.
    fn answered<T>(
        &self,
        what: &str,
        answer: Result<Option<T>, Error>,
    ) -> Result<Option<T>, String> {
        match answer {
            Ok(Some(object)) => Ok(Some(object)),
            Ok(None) => Err(format!("{what} does not exist")),
            Err(Error::NotYet) => {
                self.pending.set(true);
                Ok(None)
            }
            Err(other) => Err(other.to_string()),
        }
    }
}

impl Known for Asking<'_> {
    fn secret(&self, namespace: &str, key: &SecretKey) -> Result<Value, String> {
        let what = format!("Secret {namespace}/{}", key.name);
        if key.name.is_empty() {
            return Err("no Secret is named".to_owned());
        }
        self.allowed(namespace)?;
        let answer = self.cx.secret_in(namespace, &key.name).get();
        let Some(view) = self.answered(&what, answer)? else {
            return Ok(Value::of(""));
        };
        let value = view
            .data
            .get(&key.key)
            .ok_or_else(|| format!("{what} has no key \"{}\"", key.key))?;
        let place = format!("{namespace}/{}/{}", key.name, key.key);
        self.digests
            .borrow_mut()
            .insert(place, value.digest.clone());
        Ok(Value {
            empty: value.length == 0,
            pem: value.pem.clone(),
        })
    }

    fn config_map(&self, namespace: &str, key: &ConfigMapKey) -> Result<String, String> {
        let what = format!("ConfigMap {namespace}/{}", key.name);
        if key.name.is_empty() {
            return Err("no ConfigMap is named".to_owned());
        }
        let answer = self.cx.object_in::<ConfigMap>(namespace, &key.name).get();
        let Some(object) = self.answered(&what, answer)? else {
            return Ok(String::new());
        };
        let mut data = object.data.unwrap_or_default();
        data.remove(&key.key)
            .ok_or_else(|| format!("{what} has no key \"{}\"", key.key))
    }
}
