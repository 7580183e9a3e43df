//! Where traces of Prometheus itself are sent.

use super::http::Trust;
use super::remote_read::texts;
use super::{Setting, limits};
use crate::yaml::Map;

pub(super) fn section(of: &Setting<'_>) -> Option<Map> {
    let tracing = of.spec.tracing_config.as_ref()?;
    let namespace = of.namespace;
    let trust = tracing.tls_config.clone().map(|of| Trust { namespace, of });
    let map = Map::new()
        .with("endpoint", &tracing.endpoint)
        .maybe("client_type", tracing.client_type.as_ref())
        .maybe(
            "sampling_fraction",
            tracing.sampling_fraction.as_ref().and_then(limits::float),
        )
        .maybe("insecure", tracing.insecure)
        .maybe("headers", texts(&tracing.headers))
        .maybe("compression", tracing.compression.as_ref())
        .maybe("timeout", tracing.timeout.as_ref())
        .maybe("tls_config", trust.map(|trust| of.tls(&trust)));
    Some(map)
}
