//! Cuts a question into independent pieces, runs these on all cores, and joins the results in
//! order: the answer does not depend on the number of cores.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::advice;
use super::answer::{Advice, Answer, Availability, Effort, Findings, Needless};
use super::drill::{self, Drill, spread};
use super::figures::Figures;
use super::question::{Question, Unanswerable};
use super::stretch;
use crate::rng::mix;
use crate::world::conditions::Delay;

/// The length of a stretch, in leases: some hundred thousand events.
const STRETCH_LEASES: u32 = 5_000;
/// The number of drills in one cluster.
const BATCH: u32 = 25;

/// Answers a question on this number of threads. The same question has the same answer.
pub fn forecast(question: &Question, threads: usize) -> Result<Answer, Unanswerable> {
    question.check()?;
    let Findings { figures, drills, events } =
        investigate(std::slice::from_ref(question), threads)?.remove(0);
    let trials = advice::questions(question, &figures);
    let found = investigate(&trials, threads)?;
    let effort = Effort {
        events: events + found.iter().map(|found| found.events).sum::<u64>(),
        trials: trials.len(),
    };
    let mut answer = Answer {
        crash: spread(&drills, true),
        handover: spread(&drills, false),
        needless: Needless::of(question, &figures),
        availability: Availability::of(question, &figures, &drills),
        advice: Advice::default(),
        question: question.clone(),
        figures,
        drills,
        effort,
    };
    answer.advice = advice::advise(&answer, trials.into_iter().zip(found));
    Ok(answer)
}

enum Piece {
    Stretch(Duration),
    Drills { count: u32, crash: bool },
}

enum Outcome {
    Figures(Figures),
    Drills(Vec<Drill>, u64),
}

/// Runs all pieces of these questions.
pub(super) fn investigate(
    questions: &[Question],
    threads: usize,
) -> Result<Vec<Findings>, Unanswerable> {
    let trips: Vec<Delay> = questions.iter().map(|question| question.trips.one_way()).collect();
    let mut jobs = Vec::new();
    for (which, question) in questions.iter().enumerate() {
        let seed = |number: usize| mix(question.seed ^ mix(number as u64 + 1));
        let pieces = pieces(question).into_iter().enumerate();
        jobs.extend(pieces.map(|(number, piece)| (which, seed(number), piece)));
    }
    let run = |(which, seed, piece): &(usize, u64, Piece)| {
        let question = &questions[*which];
        let trip = &trips[*which];
        Ok(match piece {
            Piece::Stretch(length) => {
                Outcome::Figures(stretch::run(question, trip, *seed, *length)?)
            }
            Piece::Drills { count, crash } => {
                let (drills, events) = drill::run(question, trip, *seed, *count, *crash)?;
                Outcome::Drills(drills, events)
            }
        })
    };
    let found = in_parallel(&jobs, threads, run);
    let none = || Findings { figures: Figures::default(), drills: Vec::new(), events: 0 };
    let mut all: Vec<Findings> = questions.iter().map(|_| none()).collect();
    for ((which, ..), found) in jobs.iter().zip(found) {
        let all = &mut all[*which];
        match found? {
            Outcome::Figures(figures) => {
                all.events += figures.events;
                all.figures.append(figures);
            }
            Outcome::Drills(drills, events) => {
                all.events += events;
                all.drills.extend(drills);
            }
        }
    }
    Ok(all)
}

/// The pieces of a question: stretches of equal length, and batches of drills.
fn pieces(question: &Question) -> Vec<Piece> {
    let whole = Duration::from_secs(u64::from(question.hours) * 3_600);
    let longest = question.config.lease.saturating_mul(STRETCH_LEASES);
    let count = whole.as_nanos().div_ceil(longest.as_nanos().max(1)).max(1);
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    let mut pieces: Vec<Piece> = (0..count).map(|_| Piece::Stretch(whole / count)).collect();
    for crash in [true, false] {
        let batches = question.drills.div_ceil(BATCH);
        pieces.extend((0..batches).map(|n| {
            let count = BATCH.min(question.drills - n * BATCH);
            Piece::Drills { count, crash }
        }));
    }
    pieces
}

/// Runs every job once, and returns the results in the order of the jobs.
fn in_parallel<J: Sync, R: Send>(
    jobs: &[J],
    threads: usize,
    run: impl Fn(&J) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        while let number = next.fetch_add(1, Ordering::Relaxed)
            && let Some(job) = jobs.get(number)
        {
            let found = run(job);
            if let Ok(mut done) = done.lock() {
                done.push((number, found));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.clamp(1, jobs.len().max(1)) {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, found)| found).collect()
}
