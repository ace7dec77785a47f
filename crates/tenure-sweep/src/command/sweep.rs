//! Many worlds.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::Args;
use tenure_sim::explain;
use tenure_sim::scenario::Scenario;
use tenure_sim::shrink::shrink;
use tenure_sim::sweep::{CountsOf, Outcome, Source, Sweep};
use tenure_sim::world::fault::Kind;

use super::replay::write;
use super::{Job, World};

/// Events to spend on reducing a failure.
const SHRINKING: u64 = 30_000_000;
/// Events between two lines of progress.
const TELLS: u64 = 100_000_000;
/// Lines of a trace to print.
const LINES: usize = 200;

#[derive(Debug, Args)]
pub(super) struct SweepOptions {
    /// Begin no world after this many events, as in 1e9.
    #[arg(long, value_name = "N", default_value = "1e8", value_parser = number)]
    events: u64,
    /// Run at most this many worlds.
    #[arg(long, value_name = "N", value_parser = number)]
    worlds: Option<u64>,
    /// Seed of the first world: a number, or any text, such as a commit, from which a number is
    /// made.
    #[arg(long, value_name = "SEED", default_value = "1", value_parser = seed)]
    seed: u64,
    /// Number of threads.
    #[arg(long, value_name = "N", default_value_t = super::threads())]
    threads: usize,
    /// Write a picture of the failure to this file, as SVG.
    #[arg(long, value_name = "FILE")]
    svg: Option<std::path::PathBuf>,
    #[command(flatten)]
    pub(super) world: World,
}

/// Parses a number such as 1000 or 1e9.
fn number(text: &str) -> Result<u64, String> {
    let number: f64 = text.parse().map_err(|_| "expected a number, as in 1000 or 1e9")?;
    if !(1.0..=1e18).contains(&number) {
        return Err(format!("{number} is not between 1 and 1e18"));
    }
    Ok(number as u64)
}

/// Parses a seed: a number, or any other text, which is mixed into a number.
fn seed(text: &str) -> Result<u64, String> {
    let mixed = |seed, byte: u8| tenure_sim::rng::mix(seed ^ u64::from(byte));
    // The shift leaves room for the seeds of the worlds that follow.
    Ok(text.parse().unwrap_or_else(|_| text.bytes().fold(0, mixed) >> 16))
}

impl Job for SweepOptions {
    #[expect(clippy::disallowed_methods, reason = "how fast it is, is for people to read")]
    fn run<S: Source>(&self, source: S) -> Result<bool, String> {
        let sweep = Sweep {
            first: self.seed,
            worlds: self.worlds.unwrap_or(u64::MAX),
            events: self.events,
            source,
            threads: self.threads,
        };
        println!("seed {}, tenure {}", self.seed, env!("CARGO_PKG_VERSION"));
        std::panic::set_hook(Box::new(|_| {}));
        let began = Instant::now();
        let told = AtomicU64::new(0);
        let found = sweep.run_telling(|found| {
            let tells = found.events / TELLS;
            if told.fetch_max(tells, Ordering::Relaxed) < tells {
                eprintln!("{} worlds, {} events so far", found.worlds, found.events);
            }
        });
        let took = began.elapsed().as_secs_f64();
        print(&found, &sweep, took);
        let Some((seed, violation)) = found.violation else { return Ok(true) };
        println!("\nseed {seed} violates {violation}\nreducing it ...");
        let small = shrink(&source, seed, violation, SHRINKING);
        println!(
            "{} of {} faults and commands are needed ({} worlds tried)\n",
            small.only.len(),
            small.before,
            small.tried
        );
        let account = explain::replay(&source, seed, Some(small.only.clone()));
        println!("{}", account.text(LINES));
        if let Some(file) = &self.svg {
            write(file, &tenure_sim::timeline::svg::draw(&account.timeline))?;
        }
        println!("{}", explain::command(&source, seed, &small.only));
        Ok(false)
    }
}

fn print<S: Source>(found: &Outcome<CountsOf<S>>, sweep: &Sweep<S>, took: f64) {
    let Outcome { worlds, events, counts, faults, next, .. } = found;
    println!("worlds        {worlds}, seeds {} to {}", sweep.first, next - 1);
    println!("events        {events}");
    for line in S::Scenario::summary(counts) {
        println!("{line}");
    }
    let kinds = Kind::ALL.iter().filter(|kind| **kind != Kind::Act);
    let kinds: Vec<String> =
        kinds.map(|kind| format!("{} {}", faults[*kind as usize], kind.name())).collect();
    println!("faults        {}", kinds.join(", "));
    println!("              of them {}", S::Scenario::losses(counts));
    let rate = *events as f64 / took / 1e6;
    let threads = sweep.threads;
    println!("speed         {rate:.2} million events a second on {threads} threads, {took:.1} s");
    if found.violation.is_none() {
        println!("violations    none");
    }
}
