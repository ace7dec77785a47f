//! Advice: better settings, and warnings about the present ones.

use std::time::Duration;

use tenure_core::nerio::Config;

use super::answer::{Advice, Answer, Availability, Findings, Needless, Note, Trial};
use super::book::Cause;
use super::drill::spread;
use super::figures::Figures;
use super::question::Question;

/// Common leases, in milliseconds.
const LEASES: [u64; 33] = [
    10, 20, 30, 50, 75, 100, 150, 200, 250, 300, 400, 500, 750, 1_000, 1_500, 2_000, 2_500, 3_000,
    4_000, 5_000, 6_000, 8_000, 10_000, 12_000, 15_000, 20_000, 30_000, 45_000, 60_000, 90_000,
    120_000, 180_000, 300_000,
];
/// The longest trial, in leases.
const TRIAL_LEASES: u32 = 12_000;
/// Drills of each kind in a trial.
const TRIAL_DRILLS: u32 = 200;

/// Variants of a question: other leases, and more nodes if these would help.
pub(super) fn questions(question: &Question, figures: &Figures) -> Vec<Question> {
    let nodes = question.nodes();
    let spare = if nodes < 3 { 3 } else { nodes };
    let lease = question.config.lease;
    let possible: Vec<Duration> = LEASES
        .map(Duration::from_millis)
        .into_iter()
        .filter(|lease| with(question, spare, *lease).is_some())
        .collect();
    let below = possible.iter().rev().find(|other| **other < lease).copied();
    let above = [2, 4]
        .map(|times| possible.iter().find(|other| **other >= lease.saturating_mul(times)).copied());
    let mut leases: Vec<Duration> = possible.iter().take(3).copied().collect();
    leases.extend(below.into_iter().chain(above.into_iter().flatten()));
    leases.sort_unstable();
    leases.dedup();
    leases.retain(|other| *other != lease || spare != nodes);
    if spare != nodes {
        leases.insert(0, lease);
    }
    let mut questions: Vec<Question> =
        leases.into_iter().filter_map(|lease| with(question, spare, lease)).collect();
    if figures.count(Cause::NoQuorum) > 0 && spare + 2 <= Question::NODES_MAX {
        questions.extend(with(question, spare + 2, lease));
    }
    questions
}

fn with(question: &Question, nodes: usize, lease: Duration) -> Option<Question> {
    let old = &question.config;
    let config = Config::new(old.cluster.clone(), Question::members(nodes).ok()?);
    let mut config = Config {
        drift: old.drift,
        round_trip: old.round_trip,
        grace: old.grace,
        kill_margin: old.kill_margin,
        refresh: old.refresh,
        ..config.with_lease(lease)
    };
    if lease < old.lease {
        // A first lease must last for three refreshes and two round trips.
        let longest = lease.saturating_sub(old.round_trip * 2) / 3;
        config.refresh = old.refresh.min(longest).max(old.round_trip * 2);
    }
    let hours = u64::from(TRIAL_LEASES) * lease.as_millis() as u64 / 3_600_000;
    let trial = Question {
        config: config.check().ok()?,
        hours: question.hours.min(u32::try_from(hours).unwrap_or(u32::MAX)).max(1),
        drills: question.drills.min(TRIAL_DRILLS),
        ..question.clone()
    };
    trial.check().ok().map(|()| trial)
}

/// Adds the question itself to the trials, and chooses.
pub(super) fn advise(answer: &Answer, tried: impl Iterator<Item = (Question, Findings)>) -> Advice {
    let question = &answer.question;
    let mut trials = vec![Trial {
        asked: true,
        config: question.config.clone(),
        time: answer.figures.time,
        crash: answer.crash.clone(),
        needless: answer.needless,
        availability: answer.availability,
        messages_per_second: answer.figures.messages_per_second(),
    }];
    trials.extend(tried.map(|(tried, Findings { figures, drills, .. })| Trial {
        asked: false,
        time: figures.time,
        crash: spread(&drills, true),
        needless: Needless::of(&tried, &figures),
        availability: Availability::of(&tried, &figures, &drills),
        messages_per_second: figures.messages_per_second(),
        config: tried.config,
    }));
    trials.sort_by_key(|trial| (trial.nodes(), trial.config.lease));
    let nodes = question.nodes().max(3);
    let fits = |trial: &Trial| {
        let seen = trial.needless.estimate() <= question.target;
        seen && trial.nodes() == nodes && trial.crash.count() > 0
    };
    let best = trials.iter().position(fits);
    Advice { trials, best, notes: notes(answer) }
}

fn notes(answer: &Answer) -> Vec<Note> {
    let question = &answer.question;
    let config = &answer.question.config;
    let mut notes = Vec::new();
    let nodes = question.nodes();
    let measured = question.trips.quantile(0.99);
    if nodes < 3 {
        notes.push(Note::NoSpare { nodes });
    } else if nodes.is_multiple_of(2) {
        notes.push(Note::Even { nodes });
    }
    if measured > config.round_trip {
        notes.push(Note::RoundTrip { set: config.round_trip, measured });
    }
    let needed = config.grace + config.kill_margin + config.round_trip * 4;
    if config.usable() < needed.mul_f64(1.2) {
        notes.push(Note::Tight { usable: config.usable(), needed });
    }
    let times = answer.figures.count(Cause::NoQuorum);
    if times > 0 {
        notes.push(Note::QuorumLost { times, nodes: nodes.max(3) + 2 * usize::from(nodes >= 3) });
    }
    if question.pause_every.is_none() {
        notes.push(Note::NoPauses);
    }
    notes
}
