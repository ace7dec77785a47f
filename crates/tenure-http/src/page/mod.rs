//! The page for people, at `/`. A browser asks no other host for a part of the page.

use axum::Router;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use axum::response::IntoResponse;
use axum::routing::get;

/// The policy makes the browser ask this process alone, run no script inside a text, and put the
/// page into no frame.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The routes of the page's three files, which name each other without a folder.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/", get(|| file("text/html; charset=utf-8", include_str!("index.html"))))
        .route("/page.css", get(|| file("text/css; charset=utf-8", include_str!("page.css"))))
        .route("/page.js", get(|| file("text/javascript; charset=utf-8", include_str!("page.js"))))
}

async fn file(kind: &'static str, text: &'static str) -> impl IntoResponse {
    let head = [(CONTENT_TYPE, kind), (CONTENT_SECURITY_POLICY, POLICY)];
    (head, [(X_CONTENT_TYPE_OPTIONS, "nosniff")], text)
}
