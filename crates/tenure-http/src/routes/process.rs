//! Answers about the process itself.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::OfMonitor;

/// Whether the loop of the driver answers.
#[utoipa::path(
    get,
    path = "/healthz",
    responses((status = 200, body = String), (status = 503, body = String)),
)]
pub(crate) async fn alive(State(shown): OfMonitor) -> (StatusCode, &'static str) {
    if shown.monitor.shared.health().await.alive {
        (StatusCode::OK, "ok\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "this process does not answer\n")
    }
}

/// Whether the process can do its part, on one line; as JSON for callers that accept it.
#[utoipa::path(
    get,
    path = "/readyz",
    responses((status = 200, body = Readiness), (status = 503, body = Readiness)),
)]
pub(crate) async fn ready(State(shown): OfMonitor, headers: HeaderMap) -> Response {
    let health = shown.monitor.shared.health().await;
    let why = match health.unready {
        None if health.alive => None,
        None => Some("this process does not answer".to_owned()),
        Some(why) => Some(why),
    };
    let status = if why.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let accepts = headers.get(header::ACCEPT).and_then(|accepts| accepts.to_str().ok());
    if accepts.is_some_and(|accepts| accepts.contains("application/json")) {
        return (status, Json(Readiness { ready: why.is_none(), why })).into_response();
    }
    (status, why.unwrap_or_else(|| "ok".to_owned()) + "\n").into_response()
}

#[derive(Serialize, ToSchema)]
pub(crate) struct Readiness {
    ready: bool,
    why: Option<String>,
}
