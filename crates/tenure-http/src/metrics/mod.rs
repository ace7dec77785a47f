//! Prometheus' text, made at each scrape from the same states as the other answers.

mod table;

use std::fmt;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, prometheus_text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use tokio::sync::Semaphore;

use self::table::{BUILD, ELECTIONS, LEADING, MASTER, READY, RENEWALS, SLOWPATH, TERMS};
pub use self::table::{Kind, Metric, TABLE};
use crate::here::Progress;
use crate::monitor::Monitor;
use crate::routes::OfMonitor;
use crate::routes::SUBSCRIBERS_MAX;
use crate::words;

/// The most elections with series of their own.
const LISTED_MAX: usize = 1_000;

/// Totals of the server itself.
#[derive(Debug)]
pub(crate) struct Counts {
    pub(crate) subscribers: Arc<Semaphore>,
}

impl Default for Counts {
    fn default() -> Self {
        Self { subscribers: Arc::new(Semaphore::new(SUBSCRIBERS_MAX)) }
    }
}

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

pub(crate) async fn scrape(State(shown): OfMonitor) -> Response {
    let monitor = &shown.monitor;
    let scrape = Scrape::take(monitor).await;
    let mut registry = Registry::default();
    registry.register_collector(Box::new(scrape));
    let mut text = String::new();
    match prometheus_text::encode(&mut text, &registry) {
        Ok(()) => ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// The states at one scrape.
#[derive(Debug)]
struct Scrape {
    elections: Vec<Row>,
    version: String,
    protocol: String,
    ready: bool,
}

struct Row {
    name: String,
    state: words::State,
    progress: Progress,
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Scrape {
    async fn take(monitor: &Monitor) -> Self {
        let shared = &monitor.shared;
        let (page, _) = shared.page(None, LISTED_MAX);
        let now = tenure::clock::now();
        let elections = page.iter().map(|watched| {
            let words = watched.words(&watched.known(now), now);
            let progress = watched.progress.borrow().clone();
            Row { name: words.election, state: words.view.state, progress }
        });
        let elections = elections.collect();
        let health = shared.health().await;
        Self {
            elections,
            version: shared.about.version.clone(),
            protocol: shared.about.protocol.clone(),
            ready: health.alive && health.unready.is_none(),
        }
    }

    fn each(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        metric: &Metric,
        value: impl Fn(&Row) -> u64,
    ) -> fmt::Result {
        let mut family = describe(encoder, metric)?;
        for row in &self.elections {
            put(&mut family, metric, &[&row.name], value(row))?;
        }
        Ok(())
    }
}

/// Writes the head of a metric. The exporter adds the suffix of counters.
fn describe<'a>(
    encoder: &'a mut DescriptorEncoder<'_>,
    metric: &'a Metric,
) -> Result<MetricEncoder<'a>, fmt::Error> {
    let name = metric.name.strip_suffix("_total").filter(|_| metric.kind == Kind::Counter);
    let kind = match metric.kind {
        Kind::Gauge => MetricType::Gauge,
        Kind::Counter => MetricType::Counter,
        Kind::Histogram => MetricType::Histogram,
    };
    encoder.encode_descriptor(name.unwrap_or(metric.name), metric.help, None, kind)
}

fn put(
    family: &mut MetricEncoder<'_>,
    metric: &Metric,
    values: &[&str],
    value: u64,
) -> fmt::Result {
    let labels: Vec<_> = metric.labels.iter().copied().zip(values.iter().copied()).collect();
    let mut one = family.encode_family(&labels)?;
    match metric.kind {
        Kind::Counter => one.encode_counter::<NoLabelSet, _, u64>(&value, None),
        _ => one.encode_gauge(&i64::try_from(value).unwrap_or(i64::MAX)),
    }
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let encoder = &mut encoder;
        self.each(encoder, &MASTER, |row| row.progress.leads().into())?;
        self.each(encoder, &SLOWPATH, |row| row.progress.slow)?;
        self.each(encoder, &LEADING, |row| row.progress.leads().into())?;
        self.each(encoder, &TERMS, |row| row.progress.terms)?;
        self.each(encoder, &RENEWALS, |row| row.progress.renewals)?;
        let mut family = describe(encoder, &ELECTIONS)?;
        for state in words::State::ALL {
            let count = self.elections.iter().filter(|row| row.state == state).count();
            put(&mut family, &ELECTIONS, &[state.word()], count as u64)?;
        }
        let mut family = describe(encoder, &BUILD)?;
        put(&mut family, &BUILD, &[&self.version, &self.protocol], 1)?;
        let mut family = describe(encoder, &READY)?;
        put(&mut family, &READY, &[], self.ready.into())
    }
}
