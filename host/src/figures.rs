//! The figures of plugins' objects, as gauges: `windlass_PLUGIN_NAME{namespace, name, …}`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::object::ObjectKey;
use crate::plan::Figure;

/// Labels and their values, in order.
type Labels = Vec<(String, String)>;
/// What one object shows: by the metric's name and labels.
type Shown = BTreeMap<(String, Labels), f64>;

/// What objects last measured. An object shows the figures of its last round and no older ones.
#[derive(Debug, Default)]
pub struct Figures(Mutex<BTreeMap<ObjectKey, Shown>>);

impl Figures {
    /// Takes over what a round of `plugin` measured of `object`; figures that are no numbers are left out.
    pub fn set(&self, plugin: &str, object: &ObjectKey, figures: &[Figure]) {
        let shown: Shown = figures
            .iter()
            .filter_map(|figure| shown(plugin, object, figure))
            .collect();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match shown.is_empty() {
            true => all.remove(object),
            false => all.insert(object.clone(), shown),
        };
    }

    /// Forgets an object that is gone.
    pub fn forget(&self, object: &ObjectKey) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(object);
    }

    /// By name, as the text format wants it: each name once with all its labels.
    fn by_name(&self) -> BTreeMap<String, Vec<(Labels, f64)>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut by_name: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for ((name, labels), value) in all.values().flatten() {
            by_name
                .entry(name.clone())
                .or_default()
                .push((labels.clone(), *value));
        }
        by_name
    }
}

fn shown(plugin: &str, object: &ObjectKey, figure: &Figure) -> Option<((String, Labels), f64)> {
    let metric = figure.metric.as_ref()?;
    let value = figure.value.as_f64()?;
    let name = format!("{}_{}", plugin.replace('-', "_"), metric.name);
    let namespace = object.namespace.clone().unwrap_or_default();
    let mut labels = vec![
        ("namespace".to_owned(), namespace),
        ("name".to_owned(), object.name.clone()),
    ];
    labels.extend(metric.labels.iter().cloned());
    Some(((name, labels), value))
}

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for (name, values) in self.by_name() {
            let mut family =
                encoder.encode_descriptor(&name, "A plugin's figure", None, MetricType::Gauge)?;
            for (labels, value) in values {
                ConstGauge::new(value).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use prometheus_client::encoding::text;
    use prometheus_client::registry::Registry;

    use super::*;
    use crate::object::Kind;
    use crate::plugin::bindings::Metric;

    fn object(name: &str) -> ObjectKey {
        let kind = Kind::new("redis.example.com/v1", "Redis");
        ObjectKey {
            kind,
            namespace: Some("default".into()),
            name: name.into(),
        }
    }

    fn lag(value: serde_json::Value) -> Figure {
        let labels = vec![("pod".to_owned(), "p-0".to_owned())];
        let name = "lag_seconds".to_owned();
        Figure {
            status: None,
            metric: Some(Metric { name, labels }),
            value,
        }
    }

    fn text(figures: &Arc<Figures>) -> String {
        let mut registry = Registry::with_prefix("windlass");
        registry.register_collector(Box::new(figures.clone()));
        let mut text = String::new();
        text::encode(&mut text, &registry).unwrap();
        text
    }

    #[test]
    fn an_object_shows_what_its_last_round_measured() {
        let figures = Arc::new(Figures::default());
        figures.set("my-redis", &object("a"), &[lag(1.into())]);
        figures.set("my-redis", &object("a"), &[lag(2.5.into())]);
        figures.set("my-redis", &object("b"), &[lag("text".into())]);
        let shown = text(&figures);
        let line = r#"windlass_my_redis_lag_seconds{namespace="default",name="a",pod="p-0"} 2.5"#;
        assert!(shown.lines().any(|shown| shown == line), "{shown}");
        assert!(!shown.contains("name=\"b\""), "{shown}");
        figures.forget(&object("a"));
        assert!(!text(&figures).contains("lag"));
    }
}
