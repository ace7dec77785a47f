//! The time of an election, beside a bare exchange.

use std::time::Duration;

use tokio::time::sleep;

use crate::bare::Bare;
use crate::company::Company;
use crate::distance::Distance;
use crate::sample::{Nanos, Samples};
use crate::target::Targets;
use crate::{Result, processor};

const VOTERS: [usize; 3] = [3, 5, 25];
/// Distances of regions, one way; zero on loopback itself.
const ONE_WAY: [Duration; 2] = [Duration::from_millis(40), Duration::ZERO];
/// About the length of a vote's document, in bytes.
const LENGTH: usize = 512;
/// The longest time of an election, in round trips, for any number of voters.
const TARGET: f64 = 8.0;
/// The requests of an election: the questions before it, the drawn numbers, the results.
const REQUESTS: [&str; 3] = ["status", "election/cast", "election/result"];

pub(crate) async fn measure(quick: bool, targets: &mut Targets) -> Result<()> {
    let rounds = if quick { 15 } else { 60 };
    for one_way in ONE_WAY {
        println!(
            "election: all campaign, one is asked to start; {rounds} rounds, {one_way:?} from one \
             voter to another"
        );
        for count in VOTERS {
            let ratio = of(count, one_way, rounds).await?;
            // The target is for distant voters only. On loopback a round trip is no longer than the
            // work of one request, and two processors do the work of all voters.
            if !one_way.is_zero() {
                targets.at_most(&format!("{count} voters, in round trips"), ratio, TARGET, "");
            }
        }
    }
    Ok(())
}

/// Measures the median time of an election, in round trips.
async fn of(count: usize, one_way: Duration, rounds: usize) -> Result<f64> {
    let distance = Distance::of(one_way)?;
    let bare = Bare::start(&distance, LENGTH)?;
    let mut company = Company::start(count, &distance).await?;
    let [mut floor, mut write, mut took, mut used] = [const { Samples::new() }; 4];
    let mut again = 0;
    // The first exchange connects.
    bare.exchange().await?;
    let sent = company.sent(&REQUESTS).await?;
    for round in 0..rounds {
        sleep(Duration::from_millis(100) + 3 * one_way).await;
        floor.push_span(bare.exchange().await?);
        write.push_span(company.write()?);
        let before = processor::used();
        let (win, election) = company.elect(round % count).await?;
        used.push_span(processor::used() - before);
        took.push_span(election.took);
        again += election.asked - 1;
        company.end(win).await?;
    }
    let sent = (company.sent(&REQUESTS).await? - sent) as f64 / rounds as f64;
    floor.print("floor: one bare exchange");
    write.print("floor: one durable write");
    took.print(&format!("election of {count}"));
    let ratio = took.median() / floor.median();
    println!(
        "  ratio {ratio:.2}; {sent:.0} requests, {} of processor time; asked again {again} times",
        Nanos(used.median())
    );
    Ok(ratio)
}
