//! The page for people, at `/`. A browser asks nobody else for a part of it.

use axum::http::header;
use axum::response::{Html, IntoResponse};

const PAGE: &str = include_str!("index.html");

/// Nothing but this process is asked, and nothing else may frame the page.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

pub(crate) async fn page() -> impl IntoResponse {
    ([(header::CONTENT_SECURITY_POLICY, POLICY)], Html(PAGE))
}
