//! HTTP to Pods, by the `reqwest` crate: no proxy, no redirect, a bounded body.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;

use super::{LARGEST_REPLY, Unanswered};

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// A question.
    Get,
    /// A question about the headers alone.
    Head,
    /// Actions only.
    Post,
    /// Actions only.
    Put,
    /// Actions only.
    Delete,
}

/// One request.
pub struct HttpCall {
    /// The address that was verified; nothing else is connected to.
    pub at: SocketAddr,
    /// How.
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// Empty for questions.
    pub body: String,
}

/// The answer to it.
pub struct HttpReply {
    /// 200, 404, …
    pub status: u16,
    /// By lower-case name; the last of several with one name.
    pub headers: BTreeMap<String, String>,
    /// At most 1 MiB.
    pub body: String,
}

impl HttpReply {
    /// As a plugin reads it.
    pub fn to_json(&self) -> String {
        json!({"status": self.status, "headers": self.headers, "body": self.body}).to_string()
    }
}

/// The client, with its connections.
pub(super) struct HttpWire {
    client: Result<reqwest::Client, String>,
}

impl Default for HttpWire {
    fn default() -> Self {
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .pool_idle_timeout(Duration::from_secs(30))
            .build();
        Self {
            client: client.map_err(|error| error.to_string()),
        }
    }
}

impl HttpWire {
    pub(super) async fn send(
        &self,
        call: HttpCall,
        within: Duration,
    ) -> Result<HttpReply, Unanswered> {
        let at = call.at;
        let sent = tokio::time::timeout(within, self.exchange(call)).await;
        sent.unwrap_or(Err(Unanswered::TimedOut { at, after: within }))
    }

    async fn exchange(&self, call: HttpCall) -> Result<HttpReply, Unanswered> {
        let at = call.at;
        let client = self.client.as_ref();
        let client = client.map_err(|why| Unanswered::NotConnected {
            at,
            why: why.clone(),
        })?;
        let mut request = client.request(method(call.method), format!("http://{at}{}", call.path));
        for (name, value) in call.headers {
            request = request.header(name, value);
        }
        let reply = request.body(call.body).send().await;
        let reply = reply.map_err(|error| failed(at, &error))?;
        let status = reply.status().as_u16();
        let headers = reply.headers().iter().filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        });
        let headers = headers.collect();
        Ok(HttpReply {
            status,
            headers,
            body: bounded(at, reply).await?,
        })
    }
}

/// The body, which is not read further than its limit.
async fn bounded(at: SocketAddr, mut reply: reqwest::Response) -> Result<String, Unanswered> {
    let mut body = Vec::new();
    while let Some(chunk) = reply.chunk().await.map_err(|error| failed(at, &error))? {
        if body.len() + chunk.len() > LARGEST_REPLY {
            return Err(Unanswered::Broken {
                at,
                why: "the answer is over 1 MiB".into(),
            });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

fn method(method: Method) -> reqwest::Method {
    match method {
        Method::Get => reqwest::Method::GET,
        Method::Head => reqwest::Method::HEAD,
        Method::Post => reqwest::Method::POST,
        Method::Put => reqwest::Method::PUT,
        Method::Delete => reqwest::Method::DELETE,
    }
}

fn failed(at: SocketAddr, error: &reqwest::Error) -> Unanswered {
    let why = error.to_string();
    if error.is_connect() {
        Unanswered::NotConnected { at, why }
    } else {
        Unanswered::Broken { at, why }
    }
}
