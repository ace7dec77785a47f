//! The command that developers call through `cargo xtask`.
use std::collections::BTreeSet;
use tenure_sim::nerio::Town;
use tenure_sim::nerio::plan::{Climate, Plan};
use tenure_sim::sweep::Sweep;
use tenure_sim::world::World;
fn main() {
    let first = std::env::args().nth(1).map_or(1, |s| s.parse().unwrap());
    let worlds: u64 = std::env::args().nth(2).map_or(100, |s| s.parse().unwrap());
    if worlds == 0 {
        let only: Option<BTreeSet<_>> =
            std::env::args().nth(3).map(|s| s.split(',').map(|f| f.parse().unwrap()).collect());
        let plan = Plan::draw(first, Climate::Any);
        println!("{plan}");
        let mut world = World::new(plan.conditions.clone(), Town::new(plan), only).recorded();
        let r = tenure_sim::sweep::run(&mut world);
        for l in world.into_recorder().unwrap().lines() {
            println!("{l}");
        }
        println!("{r:?}");
        return;
    }
    let t = std::time::Instant::now();
    let found =
        Sweep { first, worlds, events: u64::MAX, climate: Climate::Any, broken: None, threads: 2 }
            .run();
    let took = t.elapsed();
    println!(
        "{:?} {} worlds {} ev {:.2}M/s {:?} {:?}",
        took,
        found.worlds,
        found.events,
        found.events as f64 / took.as_secs_f64() / 1e6,
        found.counts,
        found.faults
    );
    if let Some((seed, v)) = found.violation {
        println!("seed {seed}: {v}");
    }
}
