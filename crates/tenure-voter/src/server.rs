//! Requests of others: read within bounds of size and time, authenticated, handed to the loop, and
//! answered.
//!
//! | bound | | why |
//! |---|---|---|
//! | connections | [`Room`] | further connections wait; one address has half of the room |
//! | a handshake, the bytes after a failed one, a body | [`SLOW_MAX`] | slow clients are cut off |
//! | an answer that is not taken | [`SLOW_MAX`] | the connection ends |
//! | head of a request | [`HEAD_BYTES_MAX`], [`HEADERS_MAX`], and a time | the connection ends |
//! | body | [`BODY_BYTES_MAX`] | |
//! | requests that the loop has not taken | [`WAITING_MAX`] | answered as busy |
//! | an answer | [`ANSWER_WITHIN`] | answered as a failure here |

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, ORIGIN};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Incoming as Received};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use tenure::clock;
use tenure::serving::{Room, WriteTimeout};
use tenure_core::voter::{Answer, Caller, Header, Refusal, VoterUrl};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio_rustls::TlsAcceptor;

use crate::auth::{Guard, Proof, SignedRequest};
use crate::counters::Tally;
use crate::incoming::{Incoming, IncomingRequest};
use crate::openapi::OPENAPI;
use crate::tls::Reread;
use crate::wire::{BODY_BYTES_MAX, Head, PROBLEM, Problem, Route, names, write_answer};

pub(crate) const HEAD_BYTES_MAX: usize = 16 * 1_024;
pub(crate) const HEADERS_MAX: usize = 64;
/// The longest time of a handshake, or of a body.
pub(crate) const SLOW_MAX: Duration = Duration::from_secs(5);
/// The maximum number of requests that wait for the loop.
pub(crate) const WAITING_MAX: usize = 1_024;
/// The longest wait for an answer of the loop.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// The pause when no connection can be accepted, for example without free descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

pub(crate) struct Server {
    pub(crate) header: Header,
    /// The path of this voter's URL. Requests may begin with this path, or leave it out.
    pub(crate) base: String,
    pub(crate) guard: Guard,
    pub(crate) tls: Option<Arc<Reread<ServerConfig>>>,
    /// The longest time for which a connection stays open without a request.
    pub(crate) idle: Duration,
    pub(crate) requests: mpsc::Sender<IncomingRequest>,
    pub(crate) to_loop: mpsc::UnboundedSender<Incoming>,
    pub(crate) refused: Arc<Tally>,
}

type Reply = Response<Full<Bytes>>;

impl Server {
    /// Serves connections until the task is aborted.
    pub(crate) async fn run(self, listener: TcpListener) {
        let this = Arc::new(self);
        let room = Room::of_this_process();
        loop {
            let Some(permit) = room.one().await else { return };
            match listener.accept().await {
                Ok((stream, from)) => {
                    let Some(place) = room.take(permit, from.ip()) else {
                        this.refused.count("crowded");
                        continue;
                    };
                    let this = this.clone();
                    tokio::spawn(async move {
                        this.connection(stream).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::debug!(%error, "no connection was accepted");
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                }
            }
        }
    }

    async fn connection(self: Arc<Self>, stream: TcpStream) {
        // Send small packets at once: otherwise an answer's body waits for the acknowledgement of
        // its head.
        let _ = stream.set_nodelay(true);
        let stream = WriteTimeout::new(stream, SLOW_MAX);
        let Some(tls) = &self.tls else { return self.clone().serve(stream).await };
        let accepted = TlsAcceptor::from(tls.get()).accept(stream).into_fallible();
        match tokio::time::timeout(SLOW_MAX, accepted).await {
            Ok(Ok(stream)) => self.serve(stream).await,
            Ok(Err((_, stream))) => hear_out(stream).await,
            Err(_) => {}
        }
    }

    async fn serve(self: Arc<Self>, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let idle = self.idle;
        let counts = self.clone();
        let handle = service_fn(move |request| {
            let this = self.clone();
            async move { Ok::<_, Infallible>(this.handle(request).await) }
        });
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(idle)
            .max_buf_size(HEAD_BYTES_MAX)
            .max_headers(HEADERS_MAX)
            .serve_connection(TokioIo::new(stream), handle);
        if let Err(error) = served.await {
            // Answer these errors here: no request reaches the service.
            if error.is_parse_too_large() {
                counts.refused.count("head-too-large");
            } else if error.is_parse() {
                counts.refused.count("malformed-head");
            }
            tracing::debug!(%error, "a connection ended");
        }
    }

    async fn handle(&self, request: Request<Received>) -> Reply {
        let mut proof = Proof::None;
        match self.exchange(request, &mut proof).await {
            Ok(reply) => reply,
            Err(problem) => {
                self.refused.count(word(&problem));
                self.failed(&problem, &proof)
            }
        }
    }

    /// Makes a refusal, authenticated like its request.
    fn failed(&self, problem: &Problem, proof: &Proof) -> Reply {
        let (mut reply, body) = failed(problem);
        Head::write(&self.header, reply.headers_mut());
        let status = reply.status().as_u16();
        self.guard.sign_answer(proof, status, reply.headers_mut(), &body);
        reply
    }

    /// Handles a request. Stores the sender's proof in `by` as soon as the proof is verified.
    async fn exchange(&self, request: Request<Received>, by: &mut Proof) -> Result<Reply, Problem> {
        let (parts, body) = request.into_parts();
        // Without authentication every client that reaches the server may take part, even a web
        // page that is open on this machine: refuse web pages.
        if self.guard.is_open() && self.tls.is_none() && parts.headers.contains_key(ORIGIN) {
            let detail = "a page in a browser has sent this request, and without a secret or \
                          certificates its author is unknown: ask without the header Origin";
            return Err(Problem::new(403, "origin", detail));
        }
        let path = parts.uri.path();
        let path = path.strip_prefix(&self.base).filter(|_| !self.base.is_empty()).unwrap_or(path);
        if path == "/openapi.json" && parts.method == Method::GET {
            return Ok(reply(StatusCode::OK, "application/json", OPENAPI.into()));
        }
        let route = route(path, &parts.method)?;
        let body = read_body(&parts.headers, body).await?;
        let query = parts.uri.query();
        let full = query.map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
        let method = parts.method.as_str();
        let headers = &parts.headers;
        let signed = SignedRequest { method, path: &full, headers, body: &body };
        let checked = self.guard.check(signed, clock::now(), clock::wall());
        *by = checked.as_ref().map_or_else(|refused| refused.proof.clone(), Proof::clone);
        let proof = checked.map_err(|refused| *refused.problem)?;
        if matches!(proof, Proof::Secret { .. }) && !route.is_of_anybody() {
            self.addressed(&parts.headers)?;
        }
        let caller = self.caller(&parts.headers, &proof)?;
        let is_known = !matches!(caller, Caller::Anybody);
        let unreadable = |error: crate::wire::Unread| {
            Problem::new(400, "unreadable", format!("{}: {error}", route.path()))
        };
        let ask = route.read(query, &body).map_err(unreadable)?;
        let (header, answer) = self.ask(caller, ask).await?;
        if answer == Answer::Refused(Refusal::NotAllowed) && !is_known {
            let detail = "only voters and operators may send this request: add a MAC by the \
                          shared secret";
            return Err(Problem::new(401, "unauthenticated", detail));
        }
        let (status, body) = write_answer(&answer);
        let kind = if status.is_success() { "application/json" } else { PROBLEM };
        let body = Bytes::from(body);
        let mut reply = reply(status, kind, body.clone());
        Head::write(&header, reply.headers_mut());
        self.guard.sign_answer(&proof, status.as_u16(), reply.headers_mut(), &body);
        Ok(reply)
    }

    /// Checks that the request names this voter: a captured request may name another voter.
    fn addressed(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let to = headers.get(names::TO).map(HeaderValue::as_bytes);
        if to == Some(self.header.url.as_str().as_bytes()) {
            return Ok(());
        }
        let of = to.map_or("no voter".into(), String::from_utf8_lossy);
        let detail = format!(
            "the header Tenure-To names {of}, and this voter is {}: write this voter's own \
             voter-url into the header",
            self.header.url
        );
        Err(Problem::new(421, "misdirected", detail))
    }

    /// The caller, as far as the headers and the proof show it.
    fn caller(&self, headers: &HeaderMap, proof: &Proof) -> Result<Caller, Problem> {
        let head = Head::read(headers);
        let head = head.map_err(|error| Problem::new(400, "unreadable", error.to_string()))?;
        match (head, proof) {
            (Head::Voter(_), Proof::None) => {
                let detail = "a voter's request must carry a MAC by the shared secret";
                Err(Problem::new(401, "unauthenticated", detail))
            }
            (Head::Voter(header), _) => Ok(Caller::Voter(header)),
            (Head::Other(Some(election)), _) if election != self.header.election => {
                Err(Problem::refused(&Refusal::OtherNetwork))
            }
            (Head::Other(_), Proof::None) => Ok(Caller::Anybody),
            (Head::Other(_), _) => Ok(Caller::Operator),
        }
    }

    async fn ask(
        &self,
        caller: Caller,
        ask: tenure_core::voter::Ask,
    ) -> Result<(Header, Answer), Problem> {
        let (reply, answer) = oneshot::channel();
        let busy = |_| {
            let detail = format!("{WAITING_MAX} requests wait already: ask later");
            Problem::new(503, "busy", detail)
        };
        self.requests.try_send(IncomingRequest { caller, ask, reply }).map_err(busy)?;
        match tokio::time::timeout(ANSWER_WITHIN, answer).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(Problem::new(
                503,
                "busy",
                "this voter is ending, or has no room for \
                                                         this request",
            )),
            Err(_) => {
                let detail = format!(
                    "no answer within {ANSWER_WITHIN:?}; the request may have been carried out"
                );
                Err(Problem::new(504, "no-answer", detail))
            }
        }
    }
}

/// Reads the rest of a connection whose handshake failed. Unread bytes would make the system reset
/// the connection, and the client would lose the alert with the reason.
async fn hear_out(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let rest = async {
        let _ = stream.shutdown().await;
        let mut unread = stream.take(HEAD_BYTES_MAX as u64);
        let _ = tokio::io::copy(&mut unread, &mut tokio::io::sink()).await;
    };
    // The connection ends in any case, so the result does not matter.
    let _ = tokio::time::timeout(SLOW_MAX, rest).await;
}

fn route(path: &str, method: &Method) -> Result<Route, Problem> {
    let at = || Route::ALL.into_iter().filter(|route| route.path() == path);
    if let Some(route) = at().find(|route| route.method() == *method) {
        return Ok(route);
    }
    let methods: Vec<_> = at().map(|route| route.method().to_string()).collect();
    if methods.is_empty() {
        let detail = "there is no such path; GET /openapi.json lists all paths";
        return Err(Problem::new(404, "unknown-path", detail));
    }
    let allow = methods.join(", ");
    let mut problem = Problem::new(405, "method", format!("{path} takes only {allow}"));
    problem.allow = Some(allow);
    Err(problem)
}

async fn read_body(
    headers: &HeaderMap,
    body: impl Body<Data = Bytes, Error: std::error::Error + Send + Sync + 'static>,
) -> Result<Bytes, Problem> {
    let too_large =
        || Problem::new(413, "too-large", format!("a body has at most {BODY_BYTES_MAX} bytes"));
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    // Read no body that is announced as too large.
    if length.and_then(|length| length.parse().ok()).is_some_and(|n: u64| n > BODY_BYTES_MAX as u64)
    {
        return Err(too_large());
    }
    let read = Limited::new(body, BODY_BYTES_MAX).collect();
    match tokio::time::timeout(SLOW_MAX, read).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(Problem::new(400, "unreadable", format!("the body: {error}"))),
        Err(_) => {
            let detail = format!("the body did not arrive within {SLOW_MAX:?}");
            Err(Problem::new(408, "too-slow", detail))
        }
    }
}

fn reply(status: StatusCode, kind: &'static str, body: Bytes) -> Reply {
    let has_body = !body.is_empty();
    let mut reply = Response::new(Full::new(body));
    *reply.status_mut() = status;
    if has_body {
        reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    reply
}

fn failed(problem: &Problem) -> (Reply, Bytes) {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::BAD_REQUEST);
    let body = Bytes::from(problem.body());
    let mut reply = reply(status, PROBLEM, body.clone());
    let allow = problem.allow.as_ref().and_then(|allow| HeaderValue::from_str(allow).ok());
    if let Some(allow) = allow {
        reply.headers_mut().insert(ALLOW, allow);
    }
    (reply, body)
}

/// The last word of the problem's type, one of a bounded set of words.
fn word(problem: &Problem) -> &'static str {
    const WORDS: [&str; 13] = [
        "unreadable",
        "method",
        "unknown-path",
        "too-large",
        "too-slow",
        "busy",
        "no-answer",
        "unauthenticated",
        "clock",
        "replayed",
        "other-network",
        "misdirected",
        "origin",
    ];
    let last = problem.kind.rsplit(':').next();
    WORDS.into_iter().find(|word| last == Some(word)).unwrap_or("other")
}

pub(crate) fn base(url: &VoterUrl) -> String {
    let rest = url.as_str().split_once("://").map_or("", |(_, rest)| rest);
    let path = rest.find('/').map_or("", |at| &rest[at..]);
    path.split(['?', '#']).next().unwrap_or("").trim_end_matches('/').to_owned()
}

/// Whether only this machine can reach the address.
pub(crate) fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}
