//! The description of all paths, made from their handlers.

use axum::Json;
use utoipa::openapi::OpenApi as Document;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use super::{elections, orders, process, stream};
use crate::metrics;

#[derive(OpenApi)]
#[openapi(
    info(title = "Tenure", description = "Who leads: elections of one process."),
    modifiers(&Token),
    paths(
        elections::list,
        elections::one,
        elections::leader,
        elections::leading,
        orders::resign,
        orders::transfer,
        stream::events,
        process::alive,
        process::ready,
        metrics::scrape,
    )
)]
struct Api;

struct Token;

impl Modify for Token {
    fn modify(&self, document: &mut Document) {
        let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(bearer));
    }
}

pub(crate) async fn document() -> Json<Document> {
    Json(Api::openapi())
}
