//! Refusals, as `application/problem+json` of RFC 9457.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

/// The media type of a problem.
const TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");

/// A refusal: what happened, and what to do.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    pub(crate) status: u16,
    pub(crate) title: &'static str,
    pub(crate) detail: String,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, title: &'static str, detail: impl Into<String>) -> Self {
        Self { status: status.as_u16(), title, detail: detail.into() }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_REQUEST);
        let mut answer = (status, Json(self)).into_response();
        answer.headers_mut().insert(header::CONTENT_TYPE, TYPE);
        if status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        answer
    }
}
