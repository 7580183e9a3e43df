//! Servers that old samples are read from.

use std::collections::BTreeMap;

use super::Setting;
use super::http::{Header, Trust};
use crate::api::RemoteRead;
use crate::yaml::{Map, Yaml};

pub(super) fn section(of: &Setting<'_>) -> Option<Vec<Map>> {
    let servers = of.spec.remote_read.iter();
    let servers: Vec<Map> = servers.map(|server| self::server(of, server)).collect();
    (!servers.is_empty()).then_some(servers)
}

fn server(of: &Setting<'_>, server: &RemoteRead) -> Map {
    let namespace = of.namespace;
    let header = server
        .authorization
        .clone()
        .map(|of| Header { namespace, of });
    let trust = server.tls_config.clone().map(|of| Trust { namespace, of });
    Map::new()
        .with("url", &server.url)
        .maybe("remote_timeout", server.remote_timeout.as_ref())
        .maybe(
            "headers",
            texts(&server.headers).filter(|_| of.since(2, 26)),
        )
        .maybe(
            "name",
            Some(&server.name).filter(|name| !name.is_empty() && of.since(2, 15)),
        )
        .maybe("required_matchers", texts(&server.required_matchers))
        .maybe("read_recent", server.read_recent.then_some(true))
        .maybe(
            "basic_auth",
            server
                .basic_auth
                .as_ref()
                .map(|auth| of.basic_auth(namespace, auth)),
        )
        .filled("bearer_token", &server.bearer_token)
        .filled("bearer_token_file", &server.bearer_token_file)
        .maybe(
            "oauth2",
            server
                .oauth2
                .as_ref()
                .and_then(|oauth2| of.oauth2(namespace, oauth2)),
        )
        .maybe("tls_config", trust.map(|trust| of.tls(&trust)))
        .maybe(
            "authorization",
            header.and_then(|header| of.authorization(&header)),
        )
        .and(of.proxy(namespace, server))
        .maybe(
            "follow_redirects",
            server.follow_redirects.filter(|_| of.since(2, 26)),
        )
        .maybe(
            "filter_external_labels",
            server.filter_external_labels.filter(|_| of.since(2, 34)),
        )
}

/// Names and values, where there are any.
pub(super) fn texts(entries: &BTreeMap<String, String>) -> Option<Map> {
    let map = entries
        .iter()
        .map(|(name, value)| (name.clone(), Yaml::from(value)));
    (!entries.is_empty()).then(|| map.collect())
}
