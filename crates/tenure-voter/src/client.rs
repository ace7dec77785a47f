//! Requests to other voters, each on its own task, so that a voter that hangs delays no other
//! request.
//!
//! The client follows no redirects and sends no request twice (V10).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, HOST};
use http::uri::Scheme;
use http::{HeaderValue, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Connections;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use tenure::clock;
use tenure_core::voter::{Answer, Ask, Call, Header, VoterUrl};
use tenure_tls::{PemError, TlsCause};
use tokio::sync::mpsc;

use crate::auth::Secrets;
use crate::incoming::{Failure, Incoming, RequestResult};
use crate::options::CheckedOptions;
use crate::tls::Reread;
use crate::wire::{BODY_BYTES_MAX, Head, Outgoing, names, read_answer};

/// Connections to other voters.
pub(crate) struct Http {
    connections: Connections<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// Whether the client refuses `http://` URLs, because only a certificate identifies the voter.
    secure: bool,
}

/// The label of a failed authentication, of this voter or of the called voter.
pub(crate) const UNAUTHENTICATED: &str = "unauthenticated";
/// The label of an answer without authentication.
pub(crate) const FORGED: &str = "forged";

const IDLE_MAX: usize = 4;

/// The longest time of an exchange with a new connection, as a multiple of a request's time limit.
/// TCP, TLS and the request take a round trip each, and each round trip may take nearly the whole
/// limit.
const LATE: u32 = 3;

pub(crate) struct Client {
    http: Arc<Reread<Http>>,
    secrets: Option<Secrets>,
    /// Voters with an exchange that still runs although its caller has given up.
    late: Arc<Mutex<BTreeSet<VoterUrl>>>,
    to_loop: mpsc::UnboundedSender<Incoming>,
}

pub(crate) struct Question {
    pub(crate) to: VoterUrl,
    pub(crate) call: Call,
    pub(crate) within: Duration,
    pub(crate) head: Head,
    pub(crate) ask: Ask,
}

impl Client {
    /// Makes a client that closes idle connections after `idle`, sooner than the called voter does.
    pub(crate) fn new(
        options: &CheckedOptions,
        idle: Duration,
        to_loop: mpsc::UnboundedSender<Incoming>,
    ) -> Result<Self, Arc<str>> {
        let secrets = options.secrets.clone();
        let files = options.files();
        let options = options.clone();
        let make = move || connections(&options, idle).map_err(|error| error.to_string().into());
        let http = Arc::new(Reread::new(files, make)?);
        Ok(Self { http, secrets, late: Arc::default(), to_loop })
    }

    /// Reads changed certificates anew.
    pub(crate) fn watch(&self) -> impl Future<Output = ()> + use<> {
        self.http.clone().watch(self.to_loop.clone())
    }

    /// Sends a request. The result reaches the loop within `within`, or not at all.
    ///
    /// Without an answer in time the exchange goes on for a while, because the connection may be
    /// slow to open. The next request can then use that connection. For each voter at most one such
    /// exchange goes on.
    pub(crate) fn ask(&self, question: Question) {
        let http = self.http.get();
        let late = self.late.clone();
        let secrets = self.secrets.clone();
        let to_loop = self.to_loop.clone();
        tokio::spawn(async move {
            let Question { to, call, within, .. } = &question;
            let label = question.ask.label();
            let mut exchange = std::pin::pin!(ask(&http, secrets.as_ref(), &question));
            let in_time = tokio::time::timeout(*within, &mut exchange).await;
            let is_late = in_time.is_err();
            let result = in_time.unwrap_or_else(|_| Err(overdue(*within)));
            let request_result = RequestResult { to: to.clone(), call: *call, label, result };
            // The loop may have ended.
            let goes_on =
                to_loop.send(Incoming::RequestResult(request_result.into())).is_ok() && is_late;
            if goes_on && let Some(_late) = Exchange::begin(&late, to) {
                let _ = tokio::time::timeout((LATE - 1) * *within, exchange).await;
            }
        });
    }
}

/// An exchange that goes on without a caller, until this value is dropped.
struct Exchange<'a> {
    all: &'a Mutex<BTreeSet<VoterUrl>>,
    with: &'a VoterUrl,
}

impl<'a> Exchange<'a> {
    fn begin(all: &'a Mutex<BTreeSet<VoterUrl>>, with: &'a VoterUrl) -> Option<Self> {
        // Each change of the set is a single call, so a panic elsewhere leaves the set complete.
        let first = all.lock().unwrap_or_else(PoisonError::into_inner).insert(with.clone());
        first.then_some(Self { all, with })
    }
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(self.with);
    }
}

pub(crate) fn connections(options: &CheckedOptions, idle: Duration) -> Result<Http, PemError> {
    let secure = options.needs_tls();
    let connections = of_tls(options.client_tls()?, secure, idle);
    Ok(Http { connections, secure })
}

fn of_tls(
    tls: ClientConfig,
    secure: bool,
    idle: Duration,
) -> Connections<HttpsConnector<HttpConnector>, Full<Bytes>> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let https = HttpsConnectorBuilder::new().with_tls_config(tls);
    let https = if secure { https.https_only() } else { https.https_or_http() };
    Connections::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(idle)
        .pool_max_idle_per_host(IDLE_MAX)
        .retry_canceled_requests(false)
        .build(https.enable_http1().wrap_connector(tcp))
}

fn overdue(within: Duration) -> Failure {
    Failure::new("timeout", format!("no answer within {within:?}"))
}

/// Sends the request, and waits for the answer as long as the question says.
pub(crate) async fn exchange(
    http: &Http,
    secrets: Option<&Secrets>,
    question: &Question,
) -> Result<(Header, Answer), Failure> {
    let within = question.within;
    let answer = ask(http, secrets, question);
    tokio::time::timeout(within, answer).await.unwrap_or_else(|_| Err(overdue(within)))
}

async fn ask(
    http: &Http,
    secrets: Option<&Secrets>,
    question: &Question,
) -> Result<(Header, Answer), Failure> {
    let Question { to, head, ask, .. } = question;
    let Outgoing { route, path, body } = Outgoing::of(ask);
    let uri: Uri = format!("{}{path}", to.as_str().trim_end_matches('/'))
        .parse()
        .map_err(|error| Failure::new("url", format!("{to} is no URL: {error}")))?;
    if http.secure && uri.scheme() != Some(&Scheme::HTTPS) {
        let why = format!(
            "{to} has no TLS, and without a secret only a certificate identifies the voter: its \
             URL must begin with https://"
        );
        return Err(Failure::no_tls(TlsCause::other(why)));
    }
    let authority = uri.authority().map(|authority| authority.as_str().to_owned());
    let mut request = Request::new(Full::from(body.clone()));
    *request.method_mut() = route.method();
    *request.uri_mut() = uri;
    let headers = request.headers_mut();
    head.put(headers);
    if let Some(host) = authority.and_then(|host| HeaderValue::from_str(&host).ok()) {
        headers.insert(HOST, host);
    }
    if !body.is_empty() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    if matches!(ask, Ask::Register(_)) {
        // Several voters may share the address of a seed. A kept connection would lead to the same
        // voter each time.
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if secrets.is_some()
        && let Ok(to) = HeaderValue::from_str(to.as_str())
    {
        headers.insert(names::TO, to);
    }
    let nonce = sign(secrets, route.method().as_str(), &path, headers, &body)?;
    let answer = http.connections.request(request).await.map_err(|error| broken(&error))?;
    let (parts, body) = answer.into_parts();
    let body = Limited::new(body, BODY_BYTES_MAX).collect().await;
    let body = body.map_err(|error| Failure::new("broken", error.to_string()))?.to_bytes();
    let status = parts.status;
    let headers = &parts.headers;
    let is_forged = nonce
        .zip(secrets)
        .is_some_and(|(nonce, secrets)| !secrets.is_answer(nonce, status.as_u16(), headers, &body));
    let header = match Head::read(headers) {
        // Each answer of a voter has the headers of its sender.
        Ok(Head::Other(_)) => return Err(no_voter(status)),
        _ if is_forged => return Err(unauthenticated(status, &body)),
        Ok(Head::Voter(header)) => header,
        Err(error) => return Err(Failure::new("unreadable", error.to_string())),
    };
    let answer = read_answer(ask, status, &body).map_err(|error| {
        let is_unknown = status == StatusCode::UNAUTHORIZED;
        let label = if is_unknown { UNAUTHENTICATED } else { "unreadable" };
        Failure::new(label, error.to_string())
    })?;
    Ok((header, answer))
}

/// The failure of an answer from another web server, or from a proxy without a voter behind it.
fn no_voter(status: StatusCode) -> Failure {
    let why = format!("it answers HTTP with {status}, but is no voter of Tenure");
    Failure::new("not_a_voter", why)
}

fn sign(
    secrets: Option<&Secrets>,
    method: &str,
    path: &str,
    headers: &mut http::HeaderMap,
    body: &[u8],
) -> Result<Option<u128>, Failure> {
    let Some(secrets) = secrets else { return Ok(None) };
    let nonce = tenure::driver::random();
    let nonce = nonce.map_err(|error| Failure::new("random", error.to_string()))?;
    secrets.sign(method, path, clock::wall(), nonce, headers, body);
    Ok(Some(nonce))
}

/// A voter that refuses the MAC sends no MAC of its own, so its text is only for people.
fn unauthenticated(status: StatusCode, body: &[u8]) -> Failure {
    let said = serde_json::from_slice::<crate::wire::Problem>(body);
    let said = said.map_or_else(|_| String::new(), |problem| format!(": {}", problem.detail));
    Failure::new(FORGED, format!("its answer, {status}, carries no valid MAC{said}"))
}

/// The failure with all its causes in words.
fn broken(error: &hyper_util::client::legacy::Error) -> Failure {
    if let Some(reason) = tenure_tls::reason(error) {
        return Failure::no_tls(no_tls(reason));
    }
    let label = if error.is_connect() { "connect" } else { "broken" };
    let mut why = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        why = format!("{why}: {cause}");
        if cause.downcast_ref().is_some_and(hyper::Error::is_parse) {
            why += "; the server there does not speak HTTP: if it speaks TLS, write https:// in \
                    its URL";
        }
        source = cause.source();
    }
    Failure::new(label, why)
}

/// The cause of a TLS failure. For an alert of the called voter the library knows only the alert's
/// name.
fn no_tls(reason: &(dyn std::error::Error + 'static)) -> TlsCause {
    use rustls::AlertDescription as Alert;
    let alert = match reason.downcast_ref() {
        Some(rustls::Error::AlertReceived(alert)) if *alert != Alert::HandshakeFailure => *alert,
        _ if tenure_tls::is_no_tls(reason) => {
            return TlsCause::other("the server there does not speak TLS");
        }
        _ => return TlsCause::of(reason),
    };
    let what = match alert {
        Alert::CertificateRequired => {
            "the other voter wants a certificate, and this process shows none"
        }
        Alert::UnknownCA
        | Alert::DecryptError
        | Alert::BadCertificate
        | Alert::CertificateExpired
        | Alert::CertificateUnknown => {
            "the other voter does not trust the certificate of this process"
        }
        _ => "the other voter has ended the handshake",
    };
    TlsCause::other(format!("{what} ({alert:?})"))
}
