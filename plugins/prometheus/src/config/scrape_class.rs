//! What monitors take from their scrape class.
//!
//! Secrets that a class names are those of the Prometheus' namespace, whatever the monitor's.

use super::Setting;
use super::http::{Header, Trust};
use crate::api::{
    AttachMetadata, Authorization, SafeAuthorization, ScrapeClass, SecretOrConfigMap, Tls,
};
use crate::yaml::Map;

impl<'a> Setting<'a> {
    /// The class that a monitor names, else the default one, if there is any.
    pub(super) fn class(&self, name: Option<&String>) -> Option<&'a ScrapeClass> {
        let named = name.and_then(|name| self.classes.get(name.as_str()));
        let default = || {
            self.classes
                .values()
                .find(|class| class.default == Some(true))
        };
        named.or_else(default).copied()
    }

    /// A monitor's TLS; the class's where it has none, its files where the monitor leaves them open.
    pub(super) fn trust<'n>(
        &self,
        namespace: &'n str,
        own: Option<Tls>,
        class: Option<&ScrapeClass>,
    ) -> Option<Trust<'n>>
    where
        'a: 'n,
    {
        let theirs = class.and_then(|class| class.tls_config.as_ref());
        let Some(mut of) = own else {
            let of = theirs?.clone();
            return Some(Trust {
                namespace: self.namespace,
                of,
            });
        };
        if let Some(theirs) = theirs {
            let open = |file: &str, from: &SecretOrConfigMap| file.is_empty() && from.is_empty();
            if open(&of.ca_file, &of.ca) {
                of.ca_file.clone_from(&theirs.ca_file);
            }
            if open(&of.cert_file, &of.cert) {
                of.cert_file.clone_from(&theirs.cert_file);
            }
            if of.key_file.is_empty() && of.key_secret.is_none() {
                of.key_file.clone_from(&theirs.key_file);
            }
        }
        Some(Trust { namespace, of })
    }

    /// A monitor's Authorization header; the class's where it has none, its credentials where the monitor has none.
    pub(super) fn header<'n>(
        &self,
        namespace: &'n str,
        own: Option<&SafeAuthorization>,
        class: Option<&ScrapeClass>,
    ) -> Option<Header<'n>>
    where
        'a: 'n,
    {
        let theirs = class.and_then(|class| class.authorization.as_ref());
        let own = own.filter(|own| **own != SafeAuthorization::default());
        let Some(own) = own else {
            let of = theirs?.clone();
            return Some(Header {
                namespace: self.namespace,
                of,
            });
        };
        let of = Authorization::from(own);
        match theirs {
            Some(theirs) if of.credentials.is_none() => Some(Header {
                namespace: self.namespace,
                of: Authorization {
                    scheme: of.scheme,
                    credentials: theirs.credentials.clone(),
                    credentials_file: match theirs.credentials {
                        Some(_) => String::new(),
                        None => theirs.credentials_file.clone(),
                    },
                },
            }),
            _ => Some(Header { namespace, of }),
        }
    }

    /// What else is learnt about a monitor's targets.
    pub(super) fn attached(
        &self,
        own: Option<&AttachMetadata>,
        class: Option<&ScrapeClass>,
    ) -> Option<Map> {
        let attach = own.or_else(|| class?.attach_metadata.as_ref())?;
        Some(Map::new().with("node", attach.node.unwrap_or(false)))
    }

    /// The protocol where a target names none.
    pub(super) fn fallback<'s>(
        &self,
        own: Option<&'s String>,
        class: Option<&'s ScrapeClass>,
    ) -> Option<&'s String> {
        let protocol = own.or_else(|| class?.fallback_scrape_protocol.as_ref());
        protocol.filter(|_| self.since(3, 0))
    }
}
