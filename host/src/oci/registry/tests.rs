//! What a registry may answer, from servers that answer just so.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::serve::Listener;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::*;
use crate::oci::credentials::Login;

const BLOB: &[u8] = b"what was pushed";

/// Short, for servers that never answer.
const PATIENCE: Patience = Patience {
    silence: Duration::from_millis(300),
    deadline: Duration::from_secs(3),
};

/// A server that answers every request in one way, after the question whether it is a registry.
async fn server<A, R>(answer: A) -> String
where
    A: Fn(HeaderMap) -> R + Clone + Send + Sync + 'static,
    R: IntoResponse,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app(answer)).await });
    address.to_string()
}

fn app<A, R>(answer: A) -> Router
where
    A: Fn(HeaderMap) -> R + Clone + Send + Sync + 'static,
    R: IntoResponse,
{
    Router::new().fallback(move |request: Request| {
        let answered = match request.uri().path() {
            "/v2/" => StatusCode::OK.into_response(),
            _ => answer(request.headers().clone()).into_response(),
        };
        async { answered }
    })
}

fn access() -> Access {
    Access {
        insecure: true,
        ..Access::default()
    }
}

fn registry(host: &str, access: &Access) -> Registry {
    Registry::patient(host, "plugins/redis", access, PATIENCE).unwrap()
}

async fn manifest(host: &str) -> Result<Vec<u8>, RepositoryError> {
    let registry = registry(host, &access());
    registry.manifest(&Name::Tag("1".into())).await
}

async fn blob(host: &str) -> Result<Vec<u8>, RepositoryError> {
    let registry = registry(host, &access());
    registry.blob(&Digest::of(BLOB), BLOB.len()).await
}

/// A refusal in the registry's own form.
fn refusal(status: u16, code: &str) -> Response {
    let body = format!(r#"{{"errors":[{{"code":"{code}","message":"so it is"}}]}}"#);
    answer(status, "application/json", body)
}

fn answer(status: u16, kind: &str, body: impl Into<Body>) -> Response {
    let response = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, kind);
    response.body(body.into()).unwrap()
}

#[tokio::test]
async fn a_refusal_is_told_apart_with_and_without_the_registrys_own_words() {
    for (status, code, reason) in [
        (401, "UNAUTHORIZED", "Unauthorized"),
        (403, "DENIED", "Unauthorized"),
        (404, "MANIFEST_UNKNOWN", "NotFound"),
        (404, "NAME_UNKNOWN", "NotFound"),
        (429, "TOOMANYREQUESTS", "Throttled"),
        (500, "UNKNOWN", "Unreachable"),
        (503, "UNAVAILABLE", "Unreachable"),
    ] {
        let in_words = server(move |_| refusal(status, code)).await;
        let bare = server(move |_| answer(status, "text/html", "<h1>no</h1>")).await;
        for host in [in_words, bare] {
            for error in [
                manifest(&host).await.unwrap_err(),
                blob(&host).await.unwrap_err(),
            ] {
                assert_eq!(error.reason(), reason, "{status} {code}: {error}");
                assert!(error.to_string().contains("plugins/redis"), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn one_that_never_answers_or_nobody_at_all_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = listener.local_addr().unwrap().to_string();
    let nobody = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap().to_string()
    };
    for host in [silent, nobody] {
        for error in [
            manifest(&host).await.unwrap_err(),
            blob(&host).await.unwrap_err(),
        ] {
            assert_eq!(error.reason(), "Unreachable", "{error}");
        }
    }
}

/// Each piece comes soon enough, the whole never.
#[tokio::test]
async fn one_that_drips_is_given_up() {
    let host = server(|_| {
        let pieces = futures::stream::unfold((), async |()| {
            tokio::time::sleep(PATIENCE.silence / 3).await;
            Some((Ok::<_, std::io::Error>(Bytes::from_static(b" ")), ()))
        });
        answer(
            200,
            manifest::OCI_IMAGE_MEDIA_TYPE,
            Body::from_stream(pieces),
        )
    })
    .await;
    let error = manifest(&host).await.unwrap_err();
    assert_eq!(error.reason(), "Unreachable", "{error}");
}

#[tokio::test]
async fn a_blob_of_other_bytes_or_more_or_fewer_of_them_is_refused() {
    type Served = fn() -> Response;
    let other: Served = || answer(200, "application/wasm", "what was pushee");
    let more: Served = || answer(200, "application/wasm", vec![0; BLOB.len() + 1]);
    let fewer: Served = || answer(200, "application/wasm", &BLOB[..4]);
    for (served, reason) in [(other, "Tampered"), (more, "TooLarge"), (fewer, "Tampered")] {
        let host = server(move |_| served()).await;
        let error = blob(&host).await.unwrap_err();
        assert_eq!(error.reason(), reason, "{error}");
    }
}

#[tokio::test]
async fn a_manifest_that_is_too_large_or_of_another_digest_is_refused() {
    let large = server(|_| {
        let body = vec![b' '; LARGEST_MANIFEST + 1];
        answer(200, manifest::OCI_IMAGE_MEDIA_TYPE, body)
    })
    .await;
    let error = manifest(&large).await.unwrap_err();
    assert_eq!(error.reason(), "TooLarge", "{error}");

    let other = server(|_| answer(200, manifest::OCI_IMAGE_MEDIA_TYPE, "{}")).await;
    let named = Name::Digest(Digest::of(BLOB));
    let asked = registry(&other, &access());
    let error = asked.manifest(&named).await.unwrap_err();
    assert_eq!(error.reason(), "Tampered", "{error}");
}

/// Registries send blobs from elsewhere; a login is for the registry alone.
#[tokio::test]
async fn a_redirect_is_followed_without_the_login() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let elsewhere = {
        let seen = seen.clone();
        server(move |headers| {
            seen.lock().unwrap().push(headers);
            BLOB
        })
        .await
    };
    let host = server(move |_| {
        let to = format!("http://{elsewhere}/there");
        (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, to)])
    })
    .await;
    let login = Login {
        user: "somebody".into(),
        password: "sesame".to_owned().into(),
    };
    let known = Access {
        login: Some(login),
        ..access()
    };
    let registry = registry(&host, &known);
    let read = registry.blob(&Digest::of(BLOB), BLOB.len()).await;
    assert_eq!(read.unwrap(), BLOB);
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 1);
    assert!(!seen[0].contains_key(header::AUTHORIZATION));
}

#[tokio::test]
async fn one_that_redirects_for_ever_is_given_up() {
    let host = server(|_| {
        let again = [(header::LOCATION, "/v2/again")];
        (StatusCode::TEMPORARY_REDIRECT, again)
    })
    .await;
    for error in [
        manifest(&host).await.unwrap_err(),
        blob(&host).await.unwrap_err(),
    ] {
        assert_eq!(error.reason(), "Unreachable", "{error}");
    }
}

#[tokio::test]
async fn a_certificate_is_trusted_by_its_authority_alone() {
    let (host, authority) = secure_server().await;
    let trusting = |authority: Option<String>| Access {
        authority,
        insecure: false,
        ..access()
    };
    let stranger = registry(&host, &trusting(None));
    let error = stranger.blob(&Digest::of(BLOB), BLOB.len()).await;
    let error = error.unwrap_err();
    assert_eq!(error.reason(), "CertificateNotTrusted", "{error}");
    assert!(error.to_string().contains("registry.ca"), "{error}");

    let friend = registry(&host, &trusting(Some(authority)));
    let read = friend.blob(&Digest::of(BLOB), BLOB.len()).await;
    assert_eq!(read.unwrap(), BLOB);
}

/// A server with a certificate that signs itself, and that certificate.
async fn secure_server() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    tls::choose_cryptography();
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let secured = Secured {
        listener,
        acceptor: TlsAcceptor::from(Arc::new(config)),
    };
    tokio::spawn(async move { axum::serve(secured, app(|_| BLOB)).await });
    (format!("localhost:{port}"), made.cert.pem())
}

struct Secured {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for Secured {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((stream, address)) = self.listener.accept().await else {
                continue;
            };
            // One who does not trust the certificate goes away.
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}
