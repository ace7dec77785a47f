//! Advice for better settings, in sentences with reasons.

use std::time::Duration;

use tenure_sim::forecast::{Answer, Trial};

use super::words::{counted, digits, percent, rate, span};

/// The choice and its reasons, one sentence each.
pub(super) fn sentences(answer: &Answer) -> Vec<String> {
    let advice = &answer.advice;
    let mut all = match (advice.better(), advice.best) {
        (Some(better), _) => better_than_asked(answer, better),
        (None, Some(_)) => vec![format!(
            "of the {} settings that were tried, yours are recommended: each shorter lease is \
             refused, or has more than {} needless changes in 30 days",
            advice.trials.len(),
            digits(answer.question.target)
        )],
        (None, None) => vec![format!(
            "all settings that were tried have more than {} needless changes in 30 days: you need \
             a better network, shorter pauses, or a lease longer than {}",
            digits(answer.question.target),
            advice.trials.iter().map(|t| t.config.lease).max().map(lease).unwrap_or_default()
        )],
    };
    all.extend(advice.notes.iter().map(ToString::to_string));
    all
}

fn better_than_asked(answer: &Answer, better: &Trial) -> Vec<String> {
    let asked = &answer.question.config;
    let mut flags = Vec::new();
    if better.nodes() != answer.question.nodes() {
        flags.push(counted(better.nodes(), "node", "nodes"));
    }
    if better.config.lease != asked.lease {
        flags.push(format!("--lease {}", lease(better.config.lease)));
    }
    if better.config.refresh != asked.refresh {
        flags.push(format!("--refresh {}", lease(better.config.refresh)));
    }
    let why = if better.config.lease < asked.lease {
        format!(
            "the shortest lease with at most {} needless changes in 30 days ({} expected)",
            digits(answer.question.target),
            rate(&better.needless)
        )
    } else if better.nodes() != answer.question.nodes() {
        "then one node may fail without stopping the election".into()
    } else {
        format!(
            "with your settings the leader changes needlessly {} times in 30 days, with these {}",
            rate(&answer.needless),
            rate(&better.needless)
        )
    };
    let p99 = answer.crash.quantile(0.99);
    let messages = answer.figures.messages_per_second();
    vec![
        format!("set {}: {why}", flags.join(" and ")),
        format!(
            "it gives a leader within {} after a crash at p99 (yours: {}), {} availability \
             (yours: {}), with {} messages a second (yours: {})",
            span(better.crash.quantile(0.99)),
            span(p99),
            percent(better.availability.expected),
            percent(answer.availability.expected),
            digits(better.messages_per_second),
            digits(messages)
        ),
    ]
}

/// A duration as flags take it: `30d`, `2.5s`, `250ms`.
pub(super) fn lease(span: Duration) -> String {
    const UNITS: [(u64, &str); 3] = [(86_400, "d"), (3_600, "h"), (60, "m")];
    let seconds = span.as_secs();
    let whole = |(unit, _): &&(u64, &str)| {
        span.subsec_nanos() == 0 && seconds >= *unit && seconds.is_multiple_of(*unit)
    };
    match UNITS.iter().find(whole) {
        Some((unit, name)) => format!("{}{name}", seconds / unit),
        None if seconds > 0 => format!("{}s", span.as_secs_f64()),
        None => format!("{}ms", span.as_secs_f64() * 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::parse;

    #[test]
    fn durations_are_written_for_flags() {
        for (text, nanos) in [
            ("30d", 2_592_000_000_000_000),
            ("2.5s", 2_500_000_000),
            ("90s", 90_000_000_000),
            ("5m", 300_000_000_000),
            ("250ms", 250_000_000),
        ] {
            let span = Duration::from_nanos(nanos);
            assert_eq!(lease(span), text);
            assert_eq!(parse::duration(text), Ok(span));
        }
    }
}
