//! Answers about elections.

#![expect(unused_qualifications, reason = "the macro of paths qualifies names")]

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tenure::{ElectionName, clock};
use tokio::task::JoinSet;
use utoipa::{IntoParams, ToSchema};

use super::{OfMonitor, Shown, not_here};
use crate::monitor::{MemberState, Shared};
use crate::problem::Problem;
use crate::shared_answers::Made;
use crate::watch::{FRESH, Fact, Watched};
use crate::words::{self, Election, Here, ViewWords};

/// The most elections in one answer.
const PAGE_MAX: usize = 1_000;

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
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

/// The elections that this process watches, by name.
#[utoipa::path(
    get,
    path = "/v1/elections",
    params(Page),
    responses((status = 200, body = Elections)),
)]
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
    let make = elections(shared, after.as_ref(), limit);
    let asked = (after.clone(), limit);
    let answers = &shared.answers;
    answers.answer(&answers.list, asked, "application/json", make).await
}

async fn elections(
    shared: &Arc<Shared>,
    after: Option<&ElectionName>,
    limit: usize,
) -> Option<Made> {
    shared.refresh().await;
    let (watched, more) = shared.page(after, limit);
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
    let told = facts(watched).await;
    // The answer holds until this time, so a lease that ends earlier counts as over.
    let until = clock::now().after(FRESH);
    let elections = told.iter().map(|(watched, fact)| watched.words(fact, until)).collect();
    let bytes = serde_json::to_vec(&Elections { node, elections, after }).ok()?;
    Some(Made { until, bytes })
}

/// Asks the participants about all these elections side by side. Returns a fact about each
/// election, in the order of their names.
pub(crate) async fn facts(watched: Vec<Arc<Watched>>) -> Vec<(Arc<Watched>, Fact)> {
    let asks: JoinSet<_> = watched
        .into_iter()
        .map(|watched| async move {
            let fact = watched.fact(4 * FRESH).await;
            (watched, fact)
        })
        .collect();
    let mut told = asks.join_all().await;
    told.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
    told
}

pub(super) async fn named(shown: &Shown, name: &str) -> Option<Arc<Watched>> {
    shown.monitor.shared.refresh().await;
    shown.monitor.shared.election(name)
}

fn unknown(shown: &Shown, name: String) -> Election {
    Election {
        protocol: shown.monitor.shared.about.protocol.clone(),
        view: ViewWords {
            why: Some(not_here(StatusCode::NOT_FOUND, &name).detail),
            ..ViewWords::default()
        },
        age_ms: None,
        since_ms: 0,
        here: None,
        history: None,
        election: name,
    }
}

/// An election, with its latest changes.
#[utoipa::path(
    get,
    path = "/v1/elections/{name}",
    params(("name" = String, Path, description = "The election, with / as %2F")),
    responses((status = 200, body = Election), (status = 404, body = Problem)),
)]
pub(crate) async fn one(
    State(shown): OfMonitor,
    Path(name): Path<String>,
) -> Result<Json<Election>, Problem> {
    let watched =
        named(&shown, &name).await.ok_or_else(|| not_here(StatusCode::NOT_FOUND, &name))?;
    let fact = watched.fact(FRESH).await;
    let now = clock::now();
    let mut words = watched.words(&fact, now);
    words.history = Some(watched.history(now));
    Ok(Json(words))
}

/// The leader of an election.
#[utoipa::path(
    get,
    path = "/v1/elections/{name}/leader",
    params(("name" = String, Path, description = "The election, with / as %2F")),
    responses(
        (status = 200, description = "a leader", body = Election),
        (status = 404, description = "vacant", body = Election),
        (
            status = 503,
            description = "unknown; also where this process does not have the election",
            body = Election,
        ),
    ),
)]
pub(crate) async fn leader(
    State(shown): OfMonitor,
    Path(name): Path<String>,
) -> (StatusCode, Json<Election>) {
    let words = match named(&shown, &name).await {
        Some(watched) => {
            let fact = watched.fact(FRESH).await;
            watched.words(&fact, clock::now())
        }
        None => unknown(&shown, name),
    };
    let status = match words.view.state {
        words::State::Leader => StatusCode::OK,
        words::State::Vacant => StatusCode::NOT_FOUND,
        words::State::Unknown => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, Json(words))
}

/// Whether this process leads now. The handle of its leadership answers at the moment of the
/// question.
#[utoipa::path(
    get,
    path = "/v1/elections/{name}/leading",
    params(("name" = String, Path, description = "The election, with / as %2F")),
    responses(
        (status = 200, description = "this process leads", body = Here),
        (
            status = 503,
            description = "this process does not lead, or stops its work, or lacks the election",
            body = Here,
        ),
    ),
)]
pub(crate) async fn leading(
    State(shown): OfMonitor,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    let watched = shown.monitor.shared.election(&name);
    let watched = watched.ok_or_else(|| not_here(StatusCode::SERVICE_UNAVAILABLE, &name))?;
    let progress = watched.progress.borrow().clone();
    let here = progress.words(clock::now());
    // Ask the handle last: no wait comes between its answer and the response.
    let leads = !progress.stops && progress.leads();
    let status = if leads { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    Ok((status, Json(here)).into_response())
}
