//! The times of a victory in an uncontended election, and of a take-over from a leader that
//! resigns.

use std::thread::sleep;
use std::time::Duration;

use tenure::clock;
use tokio::runtime::{Builder, Runtime};

use crate::common::Result;
use crate::common::cluster::Settings;
use crate::floor::Floor;
use crate::pair::Pair;
use crate::placements::{CLUSTERS, compare};
use crate::target::Targets;

/// Idle time of the application before a campaign, and before its floor.
pub(crate) const IDLE: Duration = Duration::from_millis(2);
/// Pause between refreshes of a waiting request. A short pause keeps the rounds short.
pub(crate) const REFRESH: Duration = Duration::from_millis(20);
/// Refreshes before a hand-over. The second refresh proposes the right fence.
const REFRESHES: u32 = 3;
const BARE: &str = "floor: bare exchange with 2 of 3 over UDP";
/// Idle time of the application before a hand-over, and before its floor.
pub(crate) const IDLE_WAITING: Duration = Duration::from_millis(70);

pub(crate) fn runtime() -> Result<Runtime> {
    Ok(Builder::new_current_thread().enable_time().build()?)
}

/// The time of one exchange of the floor.
fn floor_round(runtime: &Runtime, floor: &Floor) -> Result<Duration> {
    let began = clock::now();
    runtime.block_on(floor.exchange())?;
    Ok(clock::now().since(began))
}

/// Measures the campaign of a candidate that knows the fence, until the campaign is won.
pub(crate) fn campaign(quick: bool, targets: &mut Targets) -> Result<()> {
    let rounds = if quick { 40 } else { 250 };
    let runtime = runtime()?;
    let compared = compare(rounds, || {
        let floor = Floor::start()?;
        let mut pair = Pair::start(Settings::new()?)?;
        let runtime = &runtime;
        Ok(move |_| {
            sleep(IDLE);
            Ok([floor_round(runtime, &floor)?, pair.campaign(runtime)?])
        })
    })?;
    println!(
        "campaign, uncontended, with its fence: {rounds} rounds of each in turn in each of \
         {CLUSTERS} clusters, {IDLE:?} idle"
    );
    compared.judge([BARE, "campaign().await"], "mean ratio", 1.7, targets);
    Ok(())
}

/// Measures from the call of `resign` until the campaign of a waiting candidate resolves.
pub(crate) fn handover(quick: bool, targets: &mut Targets) -> Result<()> {
    let rounds = if quick { 7 } else { 25 };
    let runtime = runtime()?;
    let compared = compare(rounds, || {
        let floor = Floor::start()?;
        let mut pair = Pair::start(Settings { refresh: REFRESH, ..Settings::new()? })?;
        let runtime = &runtime;
        Ok(move |_| {
            floor.refresh(REFRESH, REFRESHES)?;
            sleep(IDLE_WAITING);
            Ok([floor_round(runtime, &floor)?, pair.hand_over(runtime)?])
        })
    })?;
    println!(
        "hand-over by resign to one who waits: {rounds} rounds of each in turn in each of \
         {CLUSTERS} clusters, {IDLE_WAITING:?} idle (one who waits asks every {REFRESH:?})"
    );
    let names = [BARE, "resign() to the end of campaign().await"];
    compared.judge(names, "mean ratio", 2.0, targets);
    Ok(())
}
