//! Answers about the process itself.

use axum::extract::State;
use axum::http::StatusCode;

use super::OfMonitor;

/// Whether the loop of the driver answers.
pub(crate) async fn alive(State(shown): OfMonitor) -> (StatusCode, &'static str) {
    if shown.monitor.shared.health().await.alive {
        (StatusCode::OK, "ok\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "the node does not answer\n")
    }
}

/// Whether the process can do its part.
pub(crate) async fn ready(State(shown): OfMonitor) -> (StatusCode, String) {
    let health = shown.monitor.shared.health().await;
    match health.unready {
        None if health.alive => (StatusCode::OK, "ok\n".to_owned()),
        None => (StatusCode::SERVICE_UNAVAILABLE, "the node does not answer\n".to_owned()),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
    }
}
