//! Requests to other voters: each on a task of its own, so that one that hangs delays nobody.
//!
//! Redirects are not followed and nothing is sent twice (V10): this client does neither.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderValue, Request, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Connections;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use tenure::clock;
use tenure_core::voter::{Answer, Ask, Call, Header, VoterUrl};
use tokio::sync::mpsc;

use crate::auth::Secrets;
use crate::incoming::{Answered, Failure, Incoming};
use crate::notice::Notice;
use crate::tls::Reread;
use crate::wire::{BODY_BYTES_MAX, Head, Outgoing, read_answer};

type Http = Connections<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// The most connections to one voter that wait for their next request.
const IDLE_MAX: usize = 4;

/// Makes requests, and hands their answers to the loop.
pub(crate) struct Client {
    http: Reread<Http>,
    shared: Arc<Shared>,
}

struct Shared {
    secrets: Option<Secrets>,
    to_loop: mpsc::UnboundedSender<Incoming>,
}

/// What is asked of whom.
pub(crate) struct Question {
    pub(crate) to: VoterUrl,
    pub(crate) call: Call,
    pub(crate) within: Duration,
    pub(crate) header: Header,
    pub(crate) ask: Ask,
}

impl Client {
    /// One that closes connections that were idle for so long: sooner than the other side does.
    /// `tls` is asked again now and then.
    pub(crate) fn new(
        tls: impl Fn() -> Result<ClientConfig, Arc<str>> + Send + Sync + 'static,
        secrets: Option<Secrets>,
        idle: Duration,
        to_loop: mpsc::UnboundedSender<Incoming>,
    ) -> Result<Self, Arc<str>> {
        let http = Reread::new(clock::now(), move || tls().map(|tls| connections(tls, idle)))?;
        Ok(Self { http, shared: Arc::new(Shared { secrets, to_loop }) })
    }

    /// Asks. What becomes of it reaches the loop within `within`, or not at all.
    pub(crate) fn ask(&self, question: Question) {
        let (http, wrong) = self.http.get(clock::now());
        let shared = self.shared.clone();
        if let Some(why) = wrong {
            let _ = shared.to_loop.send(Incoming::Notice(Notice::Certificates { why }));
        }
        tokio::spawn(async move {
            let label = question.ask.label();
            let exchange = shared.exchange(&http, &question);
            let result = match tokio::time::timeout(question.within, exchange).await {
                Ok(result) => result,
                Err(_) => {
                    let why = format!("no answer within {:?}", question.within);
                    Err(Failure::new("timeout", why))
                }
            };
            let Question { to, call, .. } = question;
            let answered = Answered { to, call, label, result };
            // The loop may have ended.
            let _ = shared.to_loop.send(Incoming::Answered(answered));
        });
    }
}

fn connections(tls: ClientConfig, idle: Duration) -> Http {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let https = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1();
    Connections::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(idle)
        .pool_max_idle_per_host(IDLE_MAX)
        .retry_canceled_requests(false)
        .build(https.wrap_connector(tcp))
}

impl Shared {
    async fn exchange(
        &self,
        http: &Http,
        question: &Question,
    ) -> Result<(Header, Answer), Failure> {
        let Question { to, header, ask, .. } = question;
        let Outgoing { route, path, body } = Outgoing::of(ask);
        let uri: Uri = format!("{}{path}", to.as_str().trim_end_matches('/'))
            .parse()
            .map_err(|error| Failure::new("url", format!("{to} is no URL: {error}")))?;
        let authority = uri.authority().map(|authority| authority.as_str().to_owned());
        let mut request = Request::new(Full::from(body.clone()));
        *request.method_mut() = route.method();
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        Head::write(header, headers);
        if let Some(host) = authority.and_then(|host| HeaderValue::from_str(&host).ok()) {
            headers.insert(HOST, host);
        }
        if !body.is_empty() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let nonce = self.sign(route.method().as_str(), &path, headers, &body)?;
        let answer = http.request(request).await.map_err(|error| broken(&error))?;
        let (parts, body) = answer.into_parts();
        let body = Limited::new(body, BODY_BYTES_MAX).collect().await;
        let body = body.map_err(|error| Failure::new("broken", error.to_string()))?.to_bytes();
        if let (Some(nonce), Some(secrets)) = (nonce, &self.secrets)
            && !secrets.is_answer(nonce, parts.status.as_u16(), &parts.headers, &body)
        {
            return Err(unauthenticated(parts.status, &body));
        }
        let unread = |error: crate::wire::Unread| Failure::new("unreadable", error.to_string());
        match Head::read(&parts.headers).map_err(unread)? {
            Head::Voter(header) => {
                let answer = read_answer(ask, parts.status, &body).map_err(unread)?;
                Ok((header, answer))
            }
            Head::Other(_) => {
                let why = match read_answer(ask, parts.status, &body) {
                    Err(error) => error.to_string(),
                    Ok(_) => "the answer does not say which voter it is of".to_owned(),
                };
                Err(Failure::new("not_a_voter", why))
            }
        }
    }

    fn sign(
        &self,
        method: &str,
        path: &str,
        headers: &mut http::HeaderMap,
        body: &[u8],
    ) -> Result<Option<u128>, Failure> {
        let Some(secrets) = &self.secrets else { return Ok(None) };
        let nonce = tenure::driver::random();
        let nonce = nonce.map_err(|error| Failure::new("random", error.to_string()))?;
        secrets.sign((method, path), (clock::wall(), nonce), headers, body);
        Ok(Some(nonce))
    }
}

/// One whose MAC was refused, too, cannot answer with one: what it says is for people only.
fn unauthenticated(status: http::StatusCode, body: &[u8]) -> Failure {
    let said = serde_json::from_slice::<crate::wire::Problem>(body);
    let said = said.map_or_else(|_| String::new(), |problem| format!(": {}", problem.detail));
    Failure::new("forged", format!("its answer, {status}, has no right MAC{said}"))
}

/// With all that caused it.
fn broken(error: &hyper_util::client::legacy::Error) -> Failure {
    let label = if error.is_connect() { "connect" } else { "broken" };
    let mut why = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        why = format!("{why}: {cause}");
        source = cause.source();
    }
    Failure::new(label, why)
}
