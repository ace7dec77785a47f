//! Answers about elections.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tenure::{ElectionName, clock};
use tokio::task::JoinSet;
use utoipa::{IntoParams, ToSchema};

use super::{OfMonitor, Shown, not_watched};
use crate::monitor::MemberState;
use crate::problem::Problem;
use crate::watch::{FRESH, Watched};
use crate::words::{self, Election};

/// The most elections in one answer.
const PAGE_MAX: usize = 1_000;

#[derive(Deserialize, IntoParams)]
pub(crate) struct Page {
    /// The most elections in the answer: 1 to 1,000.
    limit: Option<usize>,
    /// Only elections with a later name, for the next page.
    after: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub(crate) struct Elections {
    node: NodeWords,
    elections: Vec<Election>,
    /// The value of `after` for the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

/// The process that answers.
#[derive(Serialize, ToSchema)]
pub(crate) struct NodeWords {
    name: String,
    protocol: String,
    version: String,
    ready: bool,
    /// Why the process is not ready.
    why: Option<String>,
    members: Vec<MemberState>,
}

pub(crate) async fn list(State(shown): OfMonitor, Query(page): Query<Page>) -> Response {
    let shared = &shown.monitor.shared;
    let limit = page.limit.unwrap_or(PAGE_MAX).clamp(1, PAGE_MAX);
    let after = match page.after.as_deref().map(ElectionName::new).transpose() {
        Ok(after) => after,
        Err(error) => {
            let detail = format!("after: {error}");
            return Problem::new(StatusCode::BAD_REQUEST, "no name", detail).into_response();
        }
    };
    let (watched, more) = shared.page(after.as_ref(), limit);
    let after = watched.last().filter(|_| more).map(|last| last.name.to_string());
    let health = shared.health().await;
    let node = NodeWords {
        name: shared.about.name.clone(),
        protocol: shared.about.protocol.clone(),
        version: shared.about.version.clone(),
        ready: health.alive && health.unready.is_none(),
        why: health.unready,
        members: health.members,
    };
    Json(Elections { node, elections: all(watched).await, after }).into_response()
}

/// The words for each of these elections, in their order. The participants are asked at once.
pub(crate) async fn all(watched: Vec<Arc<Watched>>) -> Vec<Election> {
    let mut asks = JoinSet::new();
    for (index, watched) in watched.into_iter().enumerate() {
        asks.spawn(async move {
            let fact = watched.fact(4 * FRESH).await;
            (index, watched.words(&fact, clock::now()))
        });
    }
    let mut told = asks.join_all().await;
    told.sort_by_key(|(index, _)| *index);
    told.into_iter().map(|(_, words)| words).collect()
}

fn named(shown: &Shown, name: &str) -> Result<Arc<Watched>, Problem> {
    shown.monitor.shared.election(name).ok_or_else(|| not_watched(name))
}

pub(crate) async fn one(
    State(shown): OfMonitor,
    Path(name): Path<String>,
) -> Result<Json<Election>, Problem> {
    let watched = named(&shown, &name)?;
    let fact = watched.fact(FRESH).await;
    let now = clock::now();
    let mut words = watched.words(&fact, now);
    words.history = Some(watched.history(now));
    Ok(Json(words))
}

pub(crate) async fn leader(
    State(shown): OfMonitor,
    Path(name): Path<String>,
) -> Result<(StatusCode, Json<Election>), Problem> {
    let watched = named(&shown, &name)?;
    let fact = watched.fact(FRESH).await;
    let words = watched.words(&fact, clock::now());
    let status = match words.view.state {
        words::State::Leader => StatusCode::OK,
        words::State::Vacant => StatusCode::NOT_FOUND,
        words::State::Unknown => StatusCode::SERVICE_UNAVAILABLE,
    };
    Ok((status, Json(words)))
}

/// Answers from the handle of the leader, at the moment of the question.
pub(crate) async fn leading(
    State(shown): OfMonitor,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let watched = named(&shown, &name)?;
    let progress = watched.progress.borrow().clone();
    let here = progress.words(clock::now());
    // Ask last: nothing that follows waits.
    let status = if progress.leads() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    Ok((status, Json(here)).into_response())
}
