//! Connections, within bounds.
//!
//! | bound | | what happens |
//! |---|---|---|
//! | connections | [`CONNECTIONS_MAX`] | further ones wait |
//! | connections of an address | an eighth of these | a further one ends at once |
//! | a connection | [`LIFE_MAX`] | ends with its present answer |
//! | a TLS handshake | [`SLOW_MAX`] | the connection ends |
//! | the head of a request, the pause before | [`HEAD_MAX`], [`IDLE_MAX`] | the connection ends |
//! | an answer that is not taken | [`SLOW_MAX`] | the connection ends |
//! | a whole answer, but for events | [`ANSWER_MAX`] | the connection ends |

use std::future::pending;
use std::time::Duration;

use axum::Router;
use axum::http::{Request, header};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tenure::serving::WriteTimeout;
use tenure::{Time, clock};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::sleep;

use super::listen::Bound;
use crate::metrics::Counts;

/// The most connections at a time.
pub(crate) const CONNECTIONS_MAX: u64 = 256;
/// The largest head of a request, in bytes.
const HEAD_MAX: usize = 16 * 1_024;
/// The longest time for which a connection stays open without a whole head of a request.
const IDLE_MAX: Duration = Duration::from_secs(10);
/// The longest time for a handshake, or without progress while an answer is written.
const SLOW_MAX: Duration = Duration::from_secs(5);
/// The longest time from a request to the end of its answer.
const ANSWER_MAX: Duration = Duration::from_secs(20);
/// The time after which a connection ends with its present answer, because other connections may
/// wait for its place.
const LIFE_MAX: Duration = Duration::from_secs(60);
/// The pause when no connection can be accepted, for example without free descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

pub(super) struct Acceptor {
    pub(super) bound: Bound,
    #[cfg(feature = "tls")]
    pub(super) tls: Option<super::tls::Certificate>,
}

impl Acceptor {
    /// Serves connections until the task is aborted.
    pub(super) async fn run(self, router: Router, counts: Counts) {
        let Self { bound, .. } = self;
        let listener = match bound.begin() {
            Ok(listener) => listener,
            Err(error) => {
                return tracing::error!(
                    "the HTTP server cannot answer requests: \
                                                  {error}"
                );
            }
        };
        #[cfg(feature = "tls")]
        let mut tls = self.tls;
        let room = &counts.connections;
        loop {
            let Some(permit) = room.one().await else { return };
            let (stream, from) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::debug!(%error, "no connection was accepted");
                    sleep(ACCEPT_AGAIN).await;
                    continue;
                }
            };
            let Some(place) = room.take(permit, from) else {
                counts.refuse("crowded");
                continue;
            };
            let stream = WriteTimeout::new(stream, SLOW_MAX);
            let router = router.clone();
            #[cfg(feature = "tls")]
            let acceptor = tls.as_mut().map(super::tls::Certificate::acceptor);
            tokio::spawn(async move {
                #[cfg(feature = "tls")]
                shake_hands(acceptor, stream, router).await;
                #[cfg(not(feature = "tls"))]
                serve(stream, router, LIFE_MAX, ANSWER_MAX).await;
                drop(place);
            });
        }
    }
}

#[cfg(feature = "tls")]
async fn shake_hands(
    acceptor: Option<tokio_rustls::TlsAcceptor>,
    stream: impl AsyncRead + AsyncWrite + Send + Unpin,
    router: Router,
) {
    let Some(acceptor) = acceptor else {
        return serve(stream, router, LIFE_MAX, ANSWER_MAX).await;
    };
    if let Ok(Ok(stream)) = tokio::time::timeout(SLOW_MAX, acceptor.accept(stream)).await {
        serve(stream, router, LIFE_MAX, ANSWER_MAX).await;
    }
}

/// Serves a connection. The connection ends after `life`, with its present answer, or at once when
/// a whole answer takes longer than `most`. A stream of events goes on.
async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    router: Router,
    life: Duration,
    most: Duration,
) {
    // The time of the last request; `None` while its answer is a stream of events.
    let (asked, news) = watch::channel(Some(clock::now()));
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |request: Request<Incoming>| {
        asked.send_replace(Some(clock::now()));
        let (answer, asked) = (router.call(request), asked.clone());
        async move {
            let answer = answer.await;
            if answer.as_ref().is_ok_and(is_stream) {
                asked.send_replace(None);
            }
            answer
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_MAX)
        .max_buf_size(HEAD_MAX)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let served = async {
        tokio::select! {
            served = connection.as_mut() => return served,
            () = sleep(life) => connection.as_mut().graceful_shutdown(),
        }
        connection.await
    };
    tokio::select! {
        served = served => {
            if let Err(error) = served {
                tracing::debug!(%error, "a connection ended");
            }
        }
        () = lasts(news, most) => tracing::debug!("a client has not read its answer in {most:?}"),
    }
}

fn is_stream(answer: &Response) -> bool {
    let kind = answer.headers().get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// Ends once `most` has passed since the last request. A connection without a request has ended by
/// then, because `most` is longer than [`IDLE_MAX`]: so an answer is still being written.
async fn lasts(mut asked: watch::Receiver<Option<Time>>, most: Duration) {
    loop {
        let last = *asked.borrow_and_update();
        let over = async {
            match last {
                Some(last) => sleep(last.after(most).since(clock::now())).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = over => return,
            changed = asked.changed() => if changed.is_err() {
                return pending().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use axum::body::{Body, Bytes};
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::sync::mpsc;
    use tokio_stream::wrappers::ReceiverStream;

    use super::*;

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(3_600);

    async fn read_to(stream: &mut (impl AsyncRead + Unpin), what: &str) -> String {
        let mut read = Vec::new();
        while !String::from_utf8_lossy(&read).contains(what) {
            let mut some = [0; 1_024];
            let length = stream.read(&mut some).await.unwrap();
            assert!(length > 0, "no {what}: {}", String::from_utf8_lossy(&read));
            read.extend_from_slice(&some[..length]);
        }
        String::from_utf8(read).unwrap()
    }

    /// An idle connection ends when its life is over. A begun answer is written to its end, and a
    /// stream of events goes on.
    #[tokio::test]
    async fn connections_end_in_time() {
        let (events, sent) = mpsc::channel(1);
        let sent = ReceiverStream::new(sent);
        let kind = [(header::CONTENT_TYPE, "text/event-stream")];
        let sent = Arc::new(Mutex::new(Some(sent)));
        let stream = move || {
            let sent = sent.lock().unwrap().take().unwrap();
            async move { (kind, Body::from_stream(sent)) }
        };
        let router =
            Router::new().route("/events", get(stream)).route("/", get(|| async { "all" }));
        for (life, most) in [(SHORT, LONG), (LONG, SHORT)] {
            let (mut far, near) = duplex(4_096);
            far.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
            let serves = tokio::spawn(serve(near, router.clone(), life, most));
            read_to(&mut far, "all").await;
            serves.await.unwrap();
            assert_eq!(far.read(&mut [0]).await.unwrap(), 0);
        }
        let (mut far, near) = duplex(4_096);
        far.write_all(b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let serves = tokio::spawn(serve(near, router, SHORT, SHORT));
        read_to(&mut far, "\r\n\r\n").await;
        sleep(4 * SHORT).await;
        events.send(Ok::<_, std::convert::Infallible>(Bytes::from_static(b"news"))).await.unwrap();
        read_to(&mut far, "news").await;
        drop(events);
        serves.await.unwrap();
    }

    /// A client that reads a little at a time is cut off.
    #[tokio::test]
    async fn long_answer_is_cut_off() {
        let router = Router::new().route("/", get(|| async { "x".repeat(100_000) }));
        let (mut far, near) = duplex(64);
        let serves = tokio::spawn(serve(near, router, LONG, SHORT));
        far.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let mut read = 0;
        while let Ok(1) = far.read(&mut [0]).await {
            read += 1;
            sleep(Duration::from_millis(1)).await;
        }
        assert!(read < 100_000, "{read}");
        serves.await.unwrap();
    }
}
