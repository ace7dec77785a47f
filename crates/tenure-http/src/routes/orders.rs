//! Orders to the leader of this process, from callers with the token.

use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use serde::{Deserialize, Serialize};
use tenure::NodeName;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot;
use utoipa::ToSchema;

use super::{OfMonitor, Shown, not_here};
use crate::problem::Problem;
use crate::watch::{Action, Order, Refusal};

/// The longest wait for a leader that steps down. The leader carries out the order even after this
/// wait.
const WAITS: Duration = Duration::from_millis(4_500);

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Successor {
    /// The waiting candidate that leads next.
    to: String,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct Done {
    election: String,
    done: bool,
}

/// Makes the leader of this process step down.
#[utoipa::path(
    post,
    path = "/v1/elections/{name}/resign",
    params(("name" = String, Path, description = "The election, with / as %2F")),
    security(("token" = [])),
    responses(
        (status = 200, body = Done),
        (status = 401, body = Problem),
        (status = 403, body = Problem),
        (status = 404, body = Problem),
        (status = 409, description = "this process does not lead", body = Problem),
        (status = 501, description = "no hand-over", body = Problem),
        (status = 503, description = "busy; may still be carried out", body = Problem),
    ),
)]
pub(crate) async fn resign(
    State(shown): OfMonitor,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Done>, Problem> {
    allow(&shown, &headers)?;
    order(&shown, name, Action::Resign).await
}

/// Makes the leader of this process hand over.
#[utoipa::path(
    post,
    path = "/v1/elections/{name}/transfer",
    params(("name" = String, Path, description = "The election, with / as %2F")),
    request_body = Successor,
    security(("token" = [])),
    responses(
        (status = 200, body = Done),
        (status = 401, body = Problem),
        (status = 403, body = Problem),
        (status = 404, body = Problem),
        (
            status = 409,
            description = "this process does not lead, or the successor does not wait",
            body = Problem,
        ),
        (status = 501, description = "no hand-over", body = Problem),
        (status = 503, description = "busy; may still be carried out", body = Problem),
    ),
)]
pub(crate) async fn transfer(
    State(shown): OfMonitor,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: String,
) -> Result<Json<Done>, Problem> {
    allow(&shown, &headers)?;
    let successor: Successor = serde_json::from_str(&body).map_err(|error| {
        let detail = format!("the body is not {{\"to\": NAME}}: {error}");
        Problem::new(StatusCode::BAD_REQUEST, "unreadable", detail)
    })?;
    let to = NodeName::new(&successor.to)
        .map_err(|error| Problem::new(StatusCode::BAD_REQUEST, "no name", error.to_string()))?;
    order(&shown, name, Action::Transfer { to }).await
}

fn allow(shown: &Shown, headers: &HeaderMap) -> Result<(), Problem> {
    let Some(token) = &shown.token else {
        let detail = "this process takes no orders over HTTP: start it with --http-token-file \
                      FILE";
        return Err(Problem::new(StatusCode::FORBIDDEN, "no orders", detail));
    };
    let given = headers.get(header::AUTHORIZATION).map(|value| value.as_bytes());
    let given = given.and_then(|value| value.strip_prefix(b"Bearer "));
    let detail = match given {
        Some(given) if token.is(given) => return Ok(()),
        Some(_) => "the header Authorization has another token than this process",
        None => "send the header Authorization: Bearer, with the token of this process",
    };
    shown.monitor.shared.counts.refuse("no-token");
    Err(Problem::new(StatusCode::UNAUTHORIZED, "no token", detail))
}

async fn order(shown: &Shown, name: String, action: Action) -> Result<Json<Done>, Problem> {
    let shared = &shown.monitor.shared;
    let watched = shared.election(&name).ok_or_else(|| not_here(StatusCode::NOT_FOUND, &name))?;
    let transfers = matches!(action, Action::Transfer { .. });
    let conflict = |why: &str| {
        let leads = watched.progress.borrow().leads();
        let title = if transfers && leads { "not handed over" } else { "not leading" };
        Problem::new(StatusCode::CONFLICT, title, why)
    };
    let busy = |why: &str| Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", why);
    let Some(orders) = watched.orders.get() else {
        let detail = "this process carries out no orders for this election";
        return Err(Problem::new(StatusCode::NOT_IMPLEMENTED, "no orders", detail));
    };
    let (reply, answer) = oneshot::channel();
    match orders.try_send(Order { action, reply }) {
        Ok(()) => {}
        Err(TrySendError::Full(_)) => return Err(busy("another order is being carried out")),
        Err(TrySendError::Closed(_)) => return Err(conflict("this process is ending")),
    }
    match tokio::time::timeout(WAITS, answer).await {
        Ok(Ok(Ok(()))) => Ok(Json(Done { election: name, done: true })),
        Ok(Ok(Err(Refusal::Conflict(why)))) => Err(conflict(&why)),
        Ok(Ok(Err(Refusal::Busy(why)))) => Err(busy(&why)),
        Ok(Ok(Err(Refusal::Unsupported(why)))) => {
            Err(Problem::new(StatusCode::NOT_IMPLEMENTED, "no hand-over", why))
        }
        Ok(Err(_)) => Err(busy("the process ended before it answered")),
        Err(_) => Err(busy(
            "the leader is still stepping down; read the state of the election \
                            later",
        )),
    }
}
