//! The guard before every answer: limits the time of the answer, and refuses requests that a page
//! of another site makes a browser send.

use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};

use crate::metrics::Counts;
use crate::problem::Problem;

/// The longest time for the begin of an answer.
const ANSWER_MAX: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub(super) struct Guard {
    /// Whether to check the headers Host and Origin, on loopback without TLS. A page of another
    /// site can reach this server there, by a name that resolves to the server's address.
    pub(super) checks_host: bool,
    pub(super) counts: Counts,
}

impl Guard {
    pub(super) fn before(self, router: Router) -> Router {
        router.layer(middleware::from_fn_with_state(self, answer))
    }
}

async fn answer(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    if guard.checks_host && !is_of_this_site(request.headers()) {
        guard.counts.refuse("foreign-site");
        let detail = "a page of another site has sent this request: address this server as \
                      localhost or by its IP address, and send no header Origin";
        return Problem::new(StatusCode::FORBIDDEN, "foreign site", detail).into_response();
    }
    match tokio::time::timeout(ANSWER_MAX, next.run(request)).await {
        Ok(answer) => answer,
        Err(_) => {
            guard.counts.refuse("too-slow");
            let detail = format!(
                "no answer within {ANSWER_MAX:?}; the process may still carry out an order"
            );
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail).into_response()
        }
    }
}

/// Whether the request comes from a page of this server, or from a client that is no browser. Such
/// a client may leave out the header Host (HTTP/1.0).
fn is_of_this_site(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let host = text(header::HOST);
    let is_local = host.is_none_or(|host| {
        let name = host.rsplit_once(':').map_or(host, |(name, port)| {
            if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { host }
        });
        let name = name.trim_start_matches('[').trim_end_matches(']');
        let is_loopback = |address: std::net::IpAddr| address.to_canonical().is_loopback();
        name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_loopback)
    });
    let origin = text(header::ORIGIN).map(|origin| origin.strip_prefix("http://"));
    is_local && origin.is_none_or(|origin| origin.is_some() && origin == host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_sites_are_refused() {
        let is = |host: Option<&str>, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            for (name, value) in [(header::HOST, host), (header::ORIGIN, origin)] {
                if let Some(value) = value {
                    headers.insert(name, value.parse().unwrap());
                }
            }
            is_of_this_site(&headers)
        };
        for host in ["localhost:7080", "127.0.0.1:7080", "[::1]:7080", "127.9.9.9", "LOCALHOST"] {
            assert!(is(Some(host), None), "{host}");
            assert!(is(Some(host), Some(&format!("http://{host}"))), "{host}");
            assert!(!is(Some(host), Some("http://evil.example")), "{host}");
            assert!(!is(Some(host), Some("null")), "{host}");
        }
        assert!(is(None, None));
        assert!(!is(None, Some("http://localhost")));
        for host in ["evil.example", "evil.example:7080", "127.0.0.1.evil.example", "10.0.0.1", ""]
        {
            assert!(!is(Some(host), None), "{host}");
        }
    }
}
