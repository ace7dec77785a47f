//! Whether the server at an endpoint is an `etcd grpc-proxy`.
//!
//! Such a proxy renews a lease by itself. The proxy answers a keep-alive with its own latest
//! renewal, which may be older than the keep-alive: our deadline would be too late (ruling 3 of
//! [`tenure_core::etcd`]). Members of etcd from 3.4 on serve gRPC's health checks to all clients;
//! the proxy up to 3.7.3 never does.

use etcd_client::{Channel, Error};
use http::header::{CONTENT_TYPE, TE};
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use tonic::body::Body;
use tonic::{Code, Status};
use tower::util::ServiceExt;

const CHECK: &str = "/grpc.health.v1.Health/Check";
/// An empty message, in gRPC's frame: not compressed, no bytes.
const NOTHING: &str = "\0\0\0\0\0";
/// The text of Go's gRPC, with which the proxy is built. A filter on the way that knows only etcd's
/// own services uses another text.
const NOT_THERE: &str = "unknown service grpc.health.v1.Health";

/// Asks the server. Only the proxy's refusal proves a proxy. A missing answer is an error, because
/// a proxy that hangs does not answer, either.
pub(super) async fn is_there(channel: Channel) -> Result<bool, Error> {
    let mut request = Request::new(Body::new(NOTHING.to_owned()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from_static(CHECK);
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(TE, HeaderValue::from_static("trailers"));
    let answer = channel.oneshot(request).await.map_err(Status::from_error)?;
    Ok(lacks_health_checks(answer.headers()))
}

fn lacks_health_checks(headers: &HeaderMap) -> bool {
    let said = Status::from_header_map(headers);
    said.is_some_and(|said| said.code() == Code::Unimplemented && said.message() == NOT_THERE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lacks(said: &[(&'static str, &'static str)]) -> bool {
        let header = |(name, value): &(&'static str, &'static str)| {
            (name.parse().unwrap(), HeaderValue::from_static(value))
        };
        lacks_health_checks(&said.iter().map(header).collect())
    }

    #[test]
    fn only_go_grpc_words_count() {
        let unimplemented = ("grpc-status", "12");
        assert!(lacks(&[unimplemented, ("grpc-message", NOT_THERE)]));
        assert!(!lacks(&[("content-type", "application/grpc")]), "the answer is yet to come");
        assert!(!lacks(&[("content-type", "text/html")]), "of a filter: no gRPC");
        assert!(!lacks(&[unimplemented]), "of a filter");
        assert!(!lacks(&[unimplemented, ("grpc-message", "unknown route")]), "of a filter");
        assert!(!lacks(&[("grpc-status", "14"), ("grpc-message", "etcdserver: no leader")]));
        assert!(!lacks(&[("grpc-status", "7"), ("grpc-message", NOT_THERE)]));
    }
}
