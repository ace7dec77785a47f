//! HTTP: requests name their fence in a header, and the server refuses earlier leaders.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use tokio::sync::Mutex;

pub const HEADER: &str = "tenure-fence";

/// The largest fence of an admitted request. Store this fence as durably as the data: a server that
/// forgets the fence admits an earlier leader after a restart.
#[derive(Clone, Default)]
pub struct Gate(Arc<Mutex<u64>>);

/// A layer for `axum::middleware::from_fn_with_state`. Requests pass one after the other, so that
/// no earlier leader's request ends after a later leader's request began.
pub async fn admit(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let fence = request.headers().get(HEADER);
    let Some(fence) = fence.and_then(|fence| fence.to_str().ok()?.parse::<u64>().ok()) else {
        let why = format!("name your fence in the header {HEADER}\n");
        return (StatusCode::PRECONDITION_REQUIRED, why).into_response();
    };
    let mut newest = gate.0.lock().await;
    if *newest > fence {
        let why = format!("a leader with the fence {newest} has written; your fence is {fence}\n");
        return (StatusCode::PRECONDITION_FAILED, why).into_response();
    }
    *newest = fence;
    next.run(request).await
}
