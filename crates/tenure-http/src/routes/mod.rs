//! The paths, and their answers.

mod elections;
mod openapi;
mod orders;
mod process;
mod stream;

pub(crate) use self::elections::facts;
pub(crate) use self::stream::SUBSCRIBERS_MAX;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use crate::monitor::Monitor;
use crate::problem::Problem;
use crate::server::Token;
use crate::{metrics, page};

/// The largest body of a request, in bytes.
const BODY_MAX: usize = 4_096;

/// The parts that all handlers share.
#[derive(Clone)]
pub(crate) struct Shown {
    pub(crate) monitor: Monitor,
    pub(crate) token: Option<Token>,
}

impl Monitor {
    /// The routes, for the router of a program. The program decides which clients reach the routes.
    /// The routes refuse all orders.
    pub fn router<S>(&self) -> Router<S> {
        self.routes(None)
    }

    pub(crate) fn routes<S>(&self, token: Option<Token>) -> Router<S> {
        let shown = Shown { monitor: self.clone(), token };
        let leading = get(elections::leading).options(elections::leading);
        Router::new()
            .merge(page::routes())
            .route("/v1/elections", get(elections::list))
            .route("/v1/elections/{name}", get(elections::one))
            .route("/v1/elections/{name}/leader", get(elections::leader))
            .route("/v1/elections/{name}/leading", leading)
            .route("/v1/elections/{name}/resign", post(orders::resign))
            .route("/v1/elections/{name}/transfer", post(orders::transfer))
            .route("/v1/events", get(stream::events))
            .route("/healthz", get(process::alive))
            .route("/readyz", get(process::ready))
            .route("/metrics", get(metrics::scrape))
            .route("/openapi.json", get(openapi::document))
            .fallback(unknown)
            .method_not_allowed_fallback(method)
            .layer(DefaultBodyLimit::max(BODY_MAX))
            .layer(middleware::map_response(explained))
            .layer(middleware::map_response(uncached))
            .with_state(shown)
    }
}

async fn unknown() -> Problem {
    let detail = "there is no such path: write / in an election's name as %2F; GET /openapi.json \
                  lists all paths";
    Problem::new(StatusCode::NOT_FOUND, "unknown path", detail)
}

async fn method() -> Problem {
    let detail = "this path takes another method: see the header Allow";
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", detail)
}

/// Turns the plain text with which an extractor refuses a request into a problem.
async fn explained(answer: Response) -> Response {
    let kind = answer.headers().get(header::CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/plain")) {
        return answer;
    }
    let detail = match answer.status() {
        StatusCode::BAD_REQUEST => {
            "the path or the query cannot be read; GET /openapi.json lists all parameters"
                .to_owned()
        }
        StatusCode::PAYLOAD_TOO_LARGE => format!("the body has more than {BODY_MAX} bytes"),
        _ => return answer,
    };
    Problem::new(answer.status(), "unreadable", detail).into_response()
}

async fn uncached(mut answer: Response) -> Response {
    let no_store = HeaderValue::from_static("no-store");
    answer.headers_mut().entry(header::CACHE_CONTROL).or_insert(no_store);
    answer
}

/// The answer for an election that this process does not have: unknown, and never vacant. The
/// process may learn of the election later, or may just have given it up.
pub(crate) fn not_here(status: StatusCode, name: &str) -> Problem {
    let detail = format!(
        "this process does not have the election {name:?} now; GET /v1/elections lists those that \
         it has"
    );
    Problem::new(status, "unknown election", detail)
}

pub(crate) type OfMonitor = State<Shown>;
