//! How targets are found in the cluster.

use super::Setting;
use super::http::{Header, Trust};
use crate::api::{LabelSelector, NamespaceSelector};
use crate::yaml::{Map, Yaml};

/// What is looked for.
pub(super) struct Discovery<'a> {
    /// endpoints, endpointslice, pod or ingress.
    pub(super) role: &'static str,
    /// The namespace of the object that asks.
    pub(super) namespace: &'a str,
    /// In which namespaces.
    pub(super) within: &'a NamespaceSelector,
    /// What else is learnt.
    pub(super) attach: Option<Map>,
    /// The selector that the API server applies, and the roles that it applies to.
    pub(super) selector: Option<(&'a LabelSelector, Vec<&'static str>)>,
}

impl Setting<'_> {
    /// What Services' targets are found by.
    pub(super) fn endpoints_role(&self) -> &'static str {
        let wanted = self.spec.service_discovery_role.as_deref() == Some("EndpointSlice");
        match wanted && self.endpoint_slices && self.since(2, 21) {
            true => "endpointslice",
            false => "endpoints",
        }
    }

    pub(super) fn discovery(&self, of: &Discovery<'_>) -> Yaml {
        let namespaces = self.namespaces(of.namespace, of.within);
        let names =
            (!namespaces.is_empty()).then(|| Map::new().with("names", namespaces.as_slice()));
        let map = Map::new()
            .with("role", of.role)
            .maybe("namespaces", names)
            .and(self.api_server())
            .maybe("attach_metadata", of.attach.clone())
            .maybe("selectors", of.selector.as_ref().map(selectors));
        vec![map].into()
    }

    /// The namespaces by name; empty for all.
    fn namespaces(&self, own: &str, within: &NamespaceSelector) -> Vec<String> {
        let only_own = vec![own.to_owned()];
        match within {
            _ if self.spec.ignore_namespace_selectors => only_own,
            NamespaceSelector { any: true, .. } => Vec::new(),
            NamespaceSelector { match_names, .. } if match_names.is_empty() => only_own,
            NamespaceSelector { match_names, .. } => match_names.clone(),
        }
    }

    /// How the Kubernetes API is reached. Its Secrets are those of the Prometheus' namespace.
    fn api_server(&self) -> Map {
        let Some(server) = &self.spec.apiserver_config else {
            return Map::new();
        };
        let namespace = self.namespace;
        let header = server
            .authorization
            .clone()
            .map(|of| Header { namespace, of });
        let trust = server.tls_config.clone().map(|of| Trust { namespace, of });
        Map::new()
            .with("api_server", &server.host)
            .maybe(
                "basic_auth",
                server
                    .basic_auth
                    .as_ref()
                    .map(|auth| self.basic_auth(namespace, auth)),
            )
            .filled("bearer_token", &server.bearer_token)
            .filled("bearer_token_file", &server.bearer_token_file)
            .maybe(
                "authorization",
                header.and_then(|header| self.authorization(&header)),
            )
            .maybe("tls_config", trust.map(|trust| self.tls(&trust)))
            .and(self.proxy(namespace, server))
    }
}

fn selectors((selector, roles): &(&LabelSelector, Vec<&'static str>)) -> Vec<Map> {
    let label = selector.text().unwrap_or_default();
    let selector = |role: &&'static str| Map::new().with("role", *role).with("label", &label);
    roles.iter().map(selector).collect()
}
