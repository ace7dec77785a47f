//! The guard before every answer: limits the time of the answer, and refuses requests that a page
//! of another site makes a browser send.

use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};

use crate::metrics::Counts;
use crate::problem::Problem;
use crate::words;

/// The longest time until an answer begins.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// The most bytes of a header that an answer shows.
const SHOWN_MAX: usize = 100;

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
    if guard.checks_host
        && let Err((title, detail)) = check_site(request.headers())
    {
        guard.counts.refuse("foreign-site");
        return Problem::new(StatusCode::FORBIDDEN, title, detail).into_response();
    }
    let orders = request.method() == Method::POST;
    match tokio::time::timeout(ANSWER_MAX, next.run(request)).await {
        Ok(answer) => answer,
        Err(_) => {
            guard.counts.refuse("too-slow");
            let also =
                if orders { "; the process may still carry out the order" } else { ": ask again" };
            let detail = format!("no answer within {ANSWER_MAX:?}{also}");
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail).into_response()
        }
    }
}

/// Checks that the request comes from a page of this server, or from a client that is no browser.
/// Such a client may leave out the header Host (HTTP/1.0). The error is a title and a description.
fn check_site(headers: &HeaderMap) -> Result<(), (&'static str, String)> {
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
    if let Some(host) = host.filter(|_| !is_local) {
        let host = words::beginning(host, SHOWN_MAX);
        let detail = format!(
            "the header Host names {host:?}. A server without TLS on loopback answers only to \
             localhost and to loopback addresses. Ask for http://localhost, or let the proxy in \
             front send the header Host: localhost. A server with a certificate, or on another \
             address, answers to every name"
        );
        return Err(("other host", detail));
    }
    let origin = text(header::ORIGIN).map(|origin| (origin, origin.strip_prefix("http://")));
    match origin {
        Some((origin, of)) if of.is_none() || of != host => {
            let origin = words::beginning(origin, SHOWN_MAX);
            let detail = format!(
                "the header Origin names {origin:?}, so a page of another site has sent this \
                 request. This server answers only to its own page, and to requests without this \
                 header: leave the header out, or open the page of this server"
            );
            Err(("foreign site", detail))
        }
        _ => Ok(()),
    }
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
            check_site(&headers).is_ok()
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
