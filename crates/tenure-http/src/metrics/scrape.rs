//! The states at one scrape, and their text.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;
use tenure::{Time, clock};

use super::table::*;
use super::{Kind, Metric};
use crate::here::Progress;
use crate::monitor::{About, Health, Shared};
use crate::routes::facts;
use crate::words::{HereState, State};

/// The most elections with series of their own.
const LISTED_MAX: usize = 1_000;

/// The kinds of reasons for which a candidate waits.
const REASONS: [&str; 12] = [
    "behind",
    "connecting",
    "drawing",
    "fences",
    "foreign-key",
    "giving-up",
    "listening",
    "name-in-use",
    "no-quorum",
    "old-leases",
    "promised",
    "refused",
];

#[derive(Debug)]
pub(super) struct Scrape {
    rows: Vec<Row>,
    unlisted: usize,
    about: About,
    health: Health,
    connections: usize,
    subscribers: usize,
    refused: BTreeMap<&'static str, u64>,
}

struct Row {
    name: String,
    state: State,
    fence: u64,
    age: f64,
    progress: Progress,
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Scrape {
    /// The states, which are valid for `holds` from now, and the end of this time.
    pub(super) async fn take(shared: &Arc<Shared>, holds: Duration) -> (Self, Time) {
        // A new list may also bring the members.
        shared.refresh().await;
        let (page, _) = shared.page(None, LISTED_MAX);
        let unlisted = shared.count().saturating_sub(page.len());
        let told = facts(page).await;
        // Read the clock after all questions, because they may take seconds.
        let health = shared.health().await;
        let now = clock::now().after(holds);
        let rows = told.into_iter().map(|(watched, fact)| {
            let words = watched.words(&fact, now);
            let leader = words.view.leader.as_ref();
            Row {
                state: words.view.state,
                fence: leader.and_then(|leader| leader.fence).unwrap_or(0),
                age: now.since(watched.known(now).at).as_secs_f64(),
                progress: watched.progress.borrow().clone(),
                name: words.election,
            }
        });
        let states = Self {
            rows: rows.collect(),
            unlisted,
            about: shared.about.clone(),
            health,
            connections: shared.counts.connections.held(),
            subscribers: shared.counts.subscribed(),
            refused: shared.counts.refused(),
        };
        (states, now)
    }

    fn candidates(&self, text: &mut Text<'_>) -> fmt::Result {
        let rows = &self.rows;
        text.each(&MASTER, rows, |row| row.progress.leads())?;
        text.each(&SLOWPATH, rows, |row| row.progress.slow)?;
        text.each(&LEADING, rows, |row| row.progress.leads())?;
        text.each(&TERMS, rows, |row| row.progress.terms)?;
        text.each(&FENCE, rows, |row| row.fence)?;
        text.each(&REMAINING, rows, |row| {
            let leader = row.progress.leader.as_ref().filter(|leader| leader.is_current());
            leader.and_then(|leader| leader.remaining()).unwrap_or_default().as_secs_f64()
        })?;
        text.each(&RENEWALS, rows, |row| row.progress.renewals)?;
        text.each(&KILLED, rows, |row| row.progress.killed)?;
        text.each(&VIEW_AGE, rows, |row| row.age)?;
        let mut family = text.describe(&RENEWAL)?;
        for row in rows {
            let labels = [("election", row.name.as_str())];
            row.progress.durations.0.encode(family.encode_family(&labels)?)?;
        }
        let mut family = text.describe(&WAITING)?;
        for row in rows {
            let campaigns = row.progress.state() == HereState::Campaigning;
            let waits = row.progress.waits.as_ref().filter(|_| campaigns);
            let waits = waits.map(|(waiting, _)| waiting.label());
            for reason in REASONS {
                put(&mut family, &WAITING, &[&row.name, reason], waits == Some(reason))?;
            }
        }
        let mut family = text.describe(&STATE)?;
        for row in rows {
            for state in State::ALL {
                put(&mut family, &STATE, &[&row.name, state.word()], row.state == state)?;
            }
        }
        Ok(())
    }

    fn process(&self, text: &mut Text<'_>) -> fmt::Result {
        let mut family = text.describe(&ELECTIONS)?;
        for state in State::ALL {
            let count = self.rows.iter().filter(|row| row.state == state).count();
            put(&mut family, &ELECTIONS, &[state.word()], count)?;
        }
        let Health { alive, unready, members, quorum, disk_errors, dropped } = &self.health;
        let Self { about, .. } = self;
        text.only(&UNLISTED, self.unlisted)?;
        if !members.is_empty() {
            let mut family = text.describe(&PEER_UP)?;
            for member in members {
                if let Some(up) = member.up {
                    put(&mut family, &PEER_UP, &[&member.name], up)?;
                }
            }
        }
        if let Some(quorum) = quorum {
            text.only(&QUORUM, *quorum)?;
        }
        if let Some(errors) = disk_errors {
            text.only(&DISK_ERRORS, *errors)?;
        }
        if !dropped.is_empty() {
            let mut family = text.describe(&DROPPED)?;
            for (cause, count) in dropped {
                put(&mut family, &DROPPED, &[cause], *count)?;
            }
        }
        text.only(&CONNECTIONS, self.connections)?;
        text.only(&SUBSCRIBERS, self.subscribers)?;
        let mut family = text.describe(&REFUSED)?;
        for (cause, count) in &self.refused {
            put(&mut family, &REFUSED, &[cause], *count)?;
        }
        let mut family = text.describe(&BUILD)?;
        put(&mut family, &BUILD, &[&about.version, &about.protocol], true)?;
        text.only(&READY, *alive && unready.is_none())
    }
}

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut text = Text(encoder);
        self.candidates(&mut text)?;
        self.process(&mut text)
    }
}

struct Text<'a>(DescriptorEncoder<'a>);

impl Text<'_> {
    /// Writes the head of a metric. The exporter itself adds `_total` to the name of a counter.
    fn describe(&mut self, metric: &'static Metric) -> Result<MetricEncoder<'_>, fmt::Error> {
        let counter = metric.name.strip_suffix("_total").filter(|_| metric.kind == Kind::Counter);
        let kind = match metric.kind {
            Kind::Gauge => MetricType::Gauge,
            Kind::Counter => MetricType::Counter,
            Kind::Histogram => MetricType::Histogram,
        };
        let unit: Option<&Unit> = None;
        self.0.encode_descriptor(counter.unwrap_or(metric.name), metric.help, unit, kind)
    }

    fn each<N: Into<Number>>(
        &mut self,
        metric: &'static Metric,
        rows: &[Row],
        value: impl Fn(&Row) -> N,
    ) -> fmt::Result {
        let mut family = self.describe(metric)?;
        rows.iter().try_for_each(|row| put(&mut family, metric, &[&row.name], value(row)))
    }

    fn only(&mut self, metric: &'static Metric, value: impl Into<Number>) -> fmt::Result {
        put(&mut self.describe(metric)?, metric, &[], value)
    }
}

fn put(
    family: &mut MetricEncoder<'_>,
    metric: &Metric,
    values: &[&str],
    value: impl Into<Number>,
) -> fmt::Result {
    let labels: Vec<_> = metric.labels.iter().copied().zip(values.iter().copied()).collect();
    let mut one = family.encode_family(&labels)?;
    match (metric.kind, value.into()) {
        (Kind::Counter, Number::Whole(value)) => {
            one.encode_counter::<NoLabelSet, _, u64>(&value, None)
        }
        (_, Number::Whole(value)) => one.encode_gauge(&i64::try_from(value).unwrap_or(i64::MAX)),
        (_, Number::Real(value)) => one.encode_gauge(&value),
    }
}

/// The value of a series.
enum Number {
    Whole(u64),
    Real(f64),
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<usize> for Number {
    fn from(value: usize) -> Self {
        Self::Whole(value as u64)
    }
}

impl From<bool> for Number {
    fn from(value: bool) -> Self {
        Self::Whole(value.into())
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}
