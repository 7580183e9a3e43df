//! HTTP to Pods, by the `reqwest` crate: what a request may hold, no proxy, no redirect, a bounded body.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use reqwest::Url;
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

/// Refuses a request, a query's or an action's, that could leave the Pod that it is for or speak for somebody else.
///
/// # Errors
/// In words: the rule that it breaks.
pub fn check_request(path: &str, headers: &[(String, String)]) -> Result<(), String> {
    if !path.starts_with('/') {
        return Err("its path does not begin with /".into());
    }
    if path.contains(|letter: char| letter.is_control() || letter == '#') {
        return Err("its path holds a control character or #".into());
    }
    headers
        .iter()
        .try_for_each(|(name, value)| check_header(name, value))
}

fn check_header(name: &str, value: &str) -> Result<(), String> {
    let name =
        HeaderName::try_from(name).map_err(|_| format!("{name:?} is not the name of a header"))?;
    if matches!(name.as_str(), "authorization" | "cookie" | "host") {
        return Err(format!("the header {name} is not the plugin's to set"));
    }
    match HeaderValue::try_from(value) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("its header {name} holds a control character")),
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
        let url = url(at, &call.path).ok_or_else(|| Unanswered::NotConnected {
            at,
            why: "the path leads elsewhere".into(),
        })?;
        let mut request = client.request(method(call.method), url);
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

/// The URL of `path` at this very address; None where the two together name another.
fn url(at: SocketAddr, path: &str) -> Option<Url> {
    let place = Url::parse(&format!("http://{at}")).ok()?;
    let url = Url::parse(&format!("http://{at}{path}")).ok()?;
    (url.authority() == place.authority()).then_some(url)
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

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::StatusCode;
    use axum::http::header::LOCATION;
    use tokio::net::TcpListener;

    use super::*;

    fn refused(path: &str, headers: &[(&str, &str)]) -> Option<String> {
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        check_request(path, &headers).err()
    }

    #[test]
    fn a_path_and_headers_of_a_plugins_own_pass() {
        let headers = [("Accept", "application/json"), ("X-Cookie", "a\tb")];
        for path in ["/", "/api/v1/query?query=up{a=\"b\"} == 1", "//a/../b@c:1"] {
            assert_eq!(refused(path, &headers), None, "{path}");
        }
    }

    #[test]
    fn what_could_leave_the_pod_or_speak_for_somebody_else_is_refused() {
        for path in [
            "",
            "a",
            "@other.example.com/",
            ":1/",
            ".example.com/",
            "#/",
            "?a",
        ] {
            assert_eq!(
                refused(path, &[]).as_deref(),
                Some("its path does not begin with /"),
                "{path}"
            );
        }
        for path in ["/#", "/a\r\nHost: b", "/\t", "/\u{7f}", "/\u{85}"] {
            let why = refused(path, &[]).unwrap_or_default();
            assert!(why.contains("control character or #"), "{path:?}: {why}");
        }
        for (name, value, hint) in [
            ("Authorization", "x", "not the plugin's"),
            ("cookie", "x", "not the plugin's"),
            ("HOST", "x", "not the plugin's"),
            ("Host ", "x", "not the name"),
            ("", "x", "not the name"),
            ("a\r\nHost", "x", "not the name"),
            ("A", "x\r\nHost: b", "control character"),
        ] {
            let why = refused("/", &[("B", "y"), (name, value)]).unwrap_or_default();
            assert!(why.contains(hint), "{name:?}: {why}");
        }
    }

    #[test]
    fn a_url_stays_at_its_address_even_for_a_path_that_was_not_checked() {
        for at in ["10.0.0.1:9090", "10.0.0.1:80", "[fd00::1]:9090"] {
            let at: SocketAddr = at.parse().unwrap();
            for path in ["/", "/a?b=c", "//other.example.com/", "/@other", "/\\other"] {
                let url = url(at, path).unwrap();
                let host = url.host_str().unwrap().trim_matches(['[', ']']).to_owned();
                assert_eq!(host, at.ip().to_string(), "{path}");
                assert_eq!(url.port_or_known_default(), Some(at.port()), "{path}");
            }
            for path in [
                "@other.example.com/",
                ":a@other/",
                "80/",
                ".example.com/",
                "\t@other/",
            ] {
                assert_eq!(url(at, path), None, "{at}{path}");
            }
        }
    }

    #[tokio::test]
    async fn a_redirect_is_an_answer_and_nobody_else_is_asked() {
        crate::tls::choose_cryptography();
        let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let elsewhere = format!("http://{}/", other.local_addr().unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let answer = (StatusCode::FOUND, [(LOCATION, elsewhere.clone())]);
        let router = Router::new().fallback(move || std::future::ready(answer.clone()));
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        let call = HttpCall {
            at,
            method: Method::Get,
            path: "/".into(),
            headers: Vec::new(),
            body: String::new(),
        };
        // The other accepts nobody: who follows gets no answer.
        let wire = HttpWire::default();
        let reply = wire.send(call, Duration::from_secs(10)).await.unwrap();
        assert_eq!(
            (reply.status, &reply.headers["location"]),
            (302, &elsewhere)
        );
        server.abort();
    }
}
