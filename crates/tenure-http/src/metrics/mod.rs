//! The metrics as Prometheus' text, from the same states as all other answers. Scrapes that follow
//! each other within a moment share one text.

mod counts;
mod scrape;
mod table;

use axum::extract::State;
use axum::response::Response;
use prometheus_client::encoding::prometheus_text;
use prometheus_client::registry::Registry;

pub(crate) use self::counts::Counts;
use self::scrape::Scrape;
pub use self::table::{Kind, Metric, TABLE};
use crate::routes::OfMonitor;
use crate::shared_answers::Made;
use crate::watch::FRESH;

/// The table as a page of documents.
#[must_use]
pub fn table_page() -> String {
    let mut page =
        "| metric | kind | labels | protocols | meaning |\n|---|---|---|---|---|\n".to_owned();
    for metric in TABLE {
        let Metric { name, kind, labels, help, only } = metric;
        let kind = format!("{kind:?}").to_lowercase();
        let only = if only.is_empty() { "all" } else { only };
        page += &format!("| `{name}` | {kind} | {} | {only} | {help} |\n", labels.join(", "));
    }
    page
}

/// Metrics in Prometheus' text format.
#[utoipa::path(
    get,
    path = "/metrics",
    responses((status = 200, body = String, content_type = "text/plain")),
)]
pub(crate) async fn scrape(State(shown): OfMonitor) -> Response {
    let shared = &shown.monitor.shared;
    let make = async {
        let mut registry = Registry::default();
        let (states, until) = Scrape::take(shared, FRESH).await;
        registry.register_collector(Box::new(states));
        let mut text = String::new();
        prometheus_text::encode(&mut text, &registry).ok()?;
        Some(Made { until, bytes: text.into() })
    };
    let answers = &shared.answers;
    answers.answer(&answers.metrics, (), "text/plain; version=0.0.4", make).await
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn table_follows_conventions() {
        let names: BTreeSet<_> = TABLE.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), TABLE.len());
        for Metric { name, kind, help, .. } in TABLE {
            assert_eq!(*kind == Kind::Counter, name.ends_with("_total"), "{name}");
            assert!(help.ends_with('.') && !help.contains('|'), "{name}");
        }
    }

    #[test]
    fn page_has_each_metric() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/metrics.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (head, _) = page.split_once("| metric |").unwrap();
        let made = format!("{head}{}", table_page());
        if std::env::var_os("TENURE_BLESS").is_some() {
            std::fs::write(path, made).unwrap();
        } else {
            assert!(page == made, "TENURE_BLESS=1 writes docs/reference/metrics.md anew");
        }
    }
}
