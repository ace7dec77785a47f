use std::time::{Duration, Instant};
use super::*;
use tenure_core::nerio::Config;

fn question() -> Question {
    let config = Config::new("x".parse().unwrap(), Question::members(3).unwrap());
    Question {
        config: config.check().unwrap(),
        trips: RoundTrips::quantiles(&[(50.0, Duration::from_millis(1)), (99.0, Duration::from_millis(5))]).unwrap(),
        loss: 0.001,
        crash_every: Some(Duration::from_secs(30*86400)),
        down: Duration::from_secs(10),
        reboot_every: None, restart_every: None, pause_every: None, pause: Duration::from_secs(1),
        hours: 1000, drills: 500, seed: 1, target: 1.0,
    }
}
#[test]
fn try_it() {
    let t = Instant::now();
    let a = forecast(&question(), 2).unwrap();
    println!("{:?} events {} ", t.elapsed(), a.effort.events);
    println!("crash {:?} {:?} {:?} {:?} n {}", a.crash.quantile(0.0), a.crash.quantile(0.5), a.crash.quantile(0.99), a.crash.max(), a.crash.count());
    println!("handover {:?} {:?} {:?} n {}", a.handover.quantile(0.5), a.handover.quantile(0.99), a.handover.max(), a.handover.count());
    println!("needless {:?} avail {:?}", a.needless, a.availability);
    println!("{:?} {} {}", a.figures.traffic, a.figures.messages_per_second(), a.figures.bytes_per_second());
    println!("attempts {:?} renewals {} events {}", a.figures.attempts, a.figures.renewals, a.figures.events);
    println!("vac {:?}", a.figures.vacancies);
    for t in &a.advice.trials { println!("{} {:?} R {:?} p99 {:?} needless {:?} msgs {} time {:?}", t.nodes(), t.config.lease, t.config.refresh, t.crash.quantile(0.99), t.needless, t.messages_per_second, t.time); }
    println!("{:?} {:?}", a.advice.best, a.advice.notes);
}
