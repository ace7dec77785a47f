//! The answer as an object for programs.

use std::time::Duration;

use serde_json::{Value, json};
use tenure_sim::forecast::{Availability, Cause, Needless, Spread, Trial};

use super::{Report, advice};

/// Times are in milliseconds, shares from 0 to 1, rates for 30 days.
pub(super) fn object(report: &Report) -> Value {
    let answer = &report.answer;
    let question = &answer.question;
    let config = &answer.question.config;
    let figures = &answer.figures;
    let caused = Cause::ALL.map(|cause| {
        let found = figures.spread(cause);
        json!({"cause": super::words::cause(cause), "lasted_ms": spread(&found)})
    });
    json!({
        "question": {
            "nodes": question.nodes(),
            "lease_ms": millis(config.lease),
            "refresh_ms": millis(config.refresh),
            "grace_ms": millis(config.grace),
            "drift": config.drift.to_string(),
            "round_trip_ms": {
                "p50": millis(question.trips.quantile(0.5)),
                "p99": millis(question.trips.quantile(0.99)),
                "max": millis(question.trips.quantile(1.0)),
            },
            "loss": question.loss,
            "hours": question.hours,
            "target_needless": question.target,
            "seed": question.seed,
        },
        "failover_ms": {"crash": spread(&answer.crash), "resignation": spread(&answer.handover)},
        "availability": availability(&answer.availability),
        "needless": needless(&answer.needless),
        "traffic": {
            "messages_per_second": figures.messages_per_second(),
            "bytes_per_second": figures.bytes_per_second(),
            "by_leader": figures.traffic.by_leader,
            "by_others": figures.traffic.by_others,
            "counted_ms": millis(figures.traffic.counted),
        },
        "vacancies": caused,
        "renewals": {"completed": figures.renewals, "attempts": figures.attempts},
        "trials": answer.advice.trials.iter().map(trial).collect::<Vec<_>>(),
        "best": answer.advice.best,
        "advice": advice::sentences(answer),
        "again": report.again,
        "run": {"events": answer.effort.events, "took_ms": millis(report.took)},
    })
}

fn trial(trial: &Trial) -> Value {
    json!({
        "asked": trial.asked,
        "nodes": trial.nodes(),
        "lease_ms": millis(trial.config.lease),
        "refresh_ms": millis(trial.config.refresh),
        "hours": trial.time.as_secs_f64() / 3_600.0,
        "crash_ms": spread(&trial.crash),
        "availability": availability(&trial.availability),
        "needless": needless(&trial.needless),
        "messages_per_second": trial.messages_per_second,
    })
}

fn availability(availability: &Availability) -> Value {
    json!({
        "expected": availability.expected,
        "seen": availability.seen,
        "down_ms": millis(availability.down_in_month()),
    })
}

fn needless(needless: &Needless) -> Value {
    json!({
        "seen": needless.seen,
        "lapsed": needless.lapsed,
        "rate": needless.in_month,
        "rate_at_most": needless.in_month_at_most,
        "rate_by_chance": needless.by_chance,
        "rate_estimate": needless.estimate(),
        "probability": needless.probability(),
    })
}

fn spread(spread: &Spread) -> Value {
    if spread.count() == 0 {
        return json!({"count": 0});
    }
    json!({
        "count": spread.count(),
        "mean": millis(spread.mean()),
        "p50": millis(spread.quantile(0.5)),
        "p99": millis(spread.quantile(0.99)),
        "max": millis(spread.max()),
    })
}

fn millis(span: Duration) -> f64 {
    (span.as_secs_f64() * 1e6).round() / 1e3
}
