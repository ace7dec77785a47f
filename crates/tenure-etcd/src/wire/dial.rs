//! The channel to one endpoint, which connects when it is used.
//!
//! When a call finds the connection closed, the client library reconnects to the server that has
//! the address at that moment. This server may be a proxy in the place of the member that the
//! driver has checked. So the driver seals a channel after the check; a sealed channel ends with
//! its connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use etcd_client::{Error, TlsOptions};
use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use tonic::transport::Channel;
use tower::BoxError;
use tower::util::{ServiceExt, service_fn};

/// The longest silence of a connection before a ping; etcd closes connections on which pings come
/// more often than every 5 s.
const PING_AFTER: Duration = Duration::from_secs(6);
/// The longest wait for the answer to a ping.
const PING_WITHIN: Duration = Duration::from_secs(3);

/// Whether a channel must not connect any more. Clones share the flag.
#[derive(Clone, Default)]
pub(super) struct Seal(Arc<AtomicBool>);

impl Seal {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Makes a channel to `url`; `tls` is given for `https`.
pub(super) fn channel(
    url: &str,
    tls: Option<TlsOptions>,
    within: Duration,
    seal: Seal,
) -> Result<Channel, Error> {
    let mut tcp = HttpConnector::new();
    // The client library adds the TLS layer around this connector.
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(within));
    let connector = service_fn(move |uri: Uri| {
        let is_sealed = seal.is_set();
        let tcp = tcp.clone();
        async move {
            if is_sealed {
                return Err(BoxError::from("the connection has ended"));
            }
            tcp.oneshot(uri).await.map_err(BoxError::from)
        }
    });
    let mut endpoint = Channel::builder(url.parse()?)
        .http2_keep_alive_interval(PING_AFTER)
        .keep_alive_timeout(PING_WITHIN)
        // etcd forbids pings on idle connections.
        .keep_alive_while_idle(false);
    if let Some(tls) = tls {
        endpoint = endpoint.tls_config(tls)?;
    }
    Ok(endpoint.connect_with_connector_lazy(connector))
}
