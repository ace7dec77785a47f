//! Connections, within bounds.
//!
//! | bound | | what happens |
//! |---|---|---|
//! | connections | [`CONNECTIONS_MAX`] | further ones wait; one address has half of the room |
//! | a TLS handshake | [`SLOW_MAX`] | the connection ends |
//! | the head of a request, the pause before | [`HEAD_MAX`], [`IDLE_MAX`] | the connection ends |
//! | an answer that is not taken | [`SLOW_MAX`] | the connection ends |

use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tenure::serving::{Room, WriteTimeout};
use tokio::io::{AsyncRead, AsyncWrite};

use super::listen::Bound;
use crate::metrics::Counts;

/// The most connections at a time.
const CONNECTIONS_MAX: usize = 256;
/// The largest head of a request, in bytes.
const HEAD_MAX: usize = 16 * 1_024;
/// The longest time for which a connection stays open without a whole head of a request.
const IDLE_MAX: Duration = Duration::from_secs(10);
/// The longest time for a handshake, or without progress while an answer is written.
const SLOW_MAX: Duration = Duration::from_secs(5);
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
            Err(error) => return tracing::error!("the HTTP server answers no requests: {error}"),
        };
        #[cfg(feature = "tls")]
        let mut tls = self.tls;
        let room = Room::new(CONNECTIONS_MAX);
        loop {
            let Some(permit) = room.one().await else { return };
            let (stream, from) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::debug!(%error, "no connection was accepted");
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                    continue;
                }
            };
            let Some(place) = room.take(permit, from) else {
                counts.refuse("crowded");
                continue;
            };
            let connected = counts.connected();
            let stream = WriteTimeout::new(stream, SLOW_MAX);
            let router = router.clone();
            #[cfg(feature = "tls")]
            let acceptor = tls.as_mut().map(super::tls::Certificate::acceptor);
            tokio::spawn(async move {
                #[cfg(feature = "tls")]
                shake_hands(acceptor, stream, router).await;
                #[cfg(not(feature = "tls"))]
                serve(stream, router).await;
                drop((place, connected));
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
    let Some(acceptor) = acceptor else { return serve(stream, router).await };
    if let Ok(Ok(stream)) = tokio::time::timeout(SLOW_MAX, acceptor.accept(stream)).await {
        serve(stream, router).await;
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, router: Router) {
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_MAX)
        .max_buf_size(HEAD_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    if let Err(error) = served.await {
        tracing::debug!(%error, "a connection ended");
    }
}
