//! Nerio's smallest clusters, exhaustively: three grantors and two candidates, the real cores,
//! true time in ticks, clocks at both ends of ρ, and every order of what can happen.
//!
//! Each configuration allows some kinds of trouble, a few times each, and is explored to the
//! end. `TENURE_LONG=1` allows more of it:
//! `TENURE_LONG=1 cargo test -p tenure-sim --release --test model -- --nocapture`.

#![allow(clippy::unwrap_used, reason = "a model is test code, inside its functions too")]
#![allow(unreachable_pub, missing_docs)]
#![allow(clippy::print_stdout, reason = "the number of states is a result")]
#![allow(clippy::disallowed_methods, reason = "how long it took is for people")]

mod clock;
mod disk;
mod judge;
mod known;
mod node;
mod reaction;
mod search;
mod setting;
mod symmetry;
mod world;

use search::{Violation, explore};
use setting::{Budget, Setting};
use world::World;

fn run(setting: &Setting) -> Option<Violation> {
    let begun = std::time::Instant::now();
    let mut world = World::new(setting.clone());
    let most = std::env::var("MOST").ok().and_then(|s| s.parse().ok()).unwrap_or(5_000_000);
    let (explored, violation) = explore(&mut world, most);
    let (nodes, calls) = world.work();
    println!(
        "{}: {} states, reached {} times, at most {} actions deep, {} states of single nodes, \
         {} calls of the core, {:.1} s, complete {}",
        setting.name,
        explored.states,
        explored.reached,
        explored.depth,
        nodes,
        calls,
        begun.elapsed().as_secs_f64(),
        explored.complete
    );
    for (mark, count) in &explored.marks {
        println!("  {mark}: {count}");
    }
    if let Some(violation) = &violation {
        println!("  VIOLATION {}", violation.why);
        for step in &violation.steps {
            println!("    {step}");
        }
    }
    violation
}

#[test]
fn try_one() {
    use clock::Rate;
    let num = |name: &str, otherwise: u8| -> u8 {
        std::env::var(name).ok().and_then(|s| s.parse().ok()).unwrap_or(otherwise)
    };
    let setting = Setting {
        name: "try",
        tick: std::time::Duration::from_millis(u64::from(num("TICK", 40)) * 10),
        horizon: num("H", 2),
        rates: (Rate::Fast, Rate::Slow),
        alike: num("ALIKE", 1) == 1,
        budget: Budget {
            late: num("LATE", 0),
            hasty: num("HASTY", 0),
            repeated_requests: num("REQ", 0),
            repeated_oks: num("OK", 0),
            repeated_releases: num("REL", 0),
            campaigns: [num("P", 1), num("Q", 1)],
            resigns: num("RES", 0),
            withdrawals: num("WITH", 0),
            pauses: num("PAUSE", 0),
            rebirths: num("REB", 0),
            crashes: num("CRASH", 0),
            reboots: num("BOOT", 0),
            losses: num("LOSS", 0),
        },
        must_show: &[],
    };
    run(&setting);
}
