//! Every state of two beacons.

#![allow(clippy::unwrap_used, reason = "test code, inside its functions too")]

#[allow(dead_code, reason = "not every flaw shows among two")]
#[path = "world/bent.rs"]
mod bent;

use std::convert::Infallible;
use std::time::Duration;

use bent::{Bent, Flaw};
use tenure_beacon::{Beat, Config};
use tenure_core::{BothClocks, Command, NodeName, Time, WallTime};
use tenure_testkit::Players;
use tenure_testkit::model::Rate::{Fast, Slow};
use tenure_testkit::model::{Budget, Claim, Clock, Cluster, Life, Node, Setting, finds, holds};

const BEAT: Duration = Duration::from_millis(200);
/// How far the wall clock of each is off, one way each.
const SKEW: Duration = Duration::from_millis(100);
const CONFIG: Config = Config { beat: BEAT, lease: Duration::from_secs(1), skew: SKEW };
/// What wall clocks that are right show at the true time zero.
const EPOCH: Duration = Duration::from_secs(1_800_000_000);

/// One without a flaw, and one that has one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Two;

impl Players for Two {
    type Core = Bent;
    type Extra = Infallible;
    type Own = Infallible;
    type Disk = ();

    fn sender(_: &Bent, address: &'static str) -> NodeName {
        address.parse().unwrap()
    }

    fn write((): &mut (), record: Infallible) {
        match record {}
    }
}

impl Cluster for Two {
    type Settings = Flaw;
    type Troubles = ();
    type Lost = Infallible;
    type Note = ();
    type Stamp = ();
    type Look = ();

    const NAMES: &'static [&'static str] = &["one", "two"];

    fn core(setting: &Setting<Self>, node: usize) -> Bent {
        let flaw = if node == 1 { setting.own } else { Flaw::None };
        Bent::new(flaw, CONFIG, Self::NAMES[node].parse().unwrap())
    }

    fn disk(_: &Setting<Self>, _: usize) -> Option<()> {
        None
    }

    fn start(life: Life, _: Option<&()>) -> u128 {
        life.number.into()
    }

    fn address(node: usize) -> &'static str {
        Self::NAMES[node]
    }

    fn recipients(from: usize, _: &&'static str) -> Vec<usize> {
        (0..Self::NAMES.len()).filter(|node| *node != from).collect()
    }

    fn now(_: &Setting<Self>, node: usize, boot: Time, at: u64) -> BothClocks {
        let right = WallTime::ZERO.after(EPOCH).after(Duration::from_nanos(at));
        let wall = if node == 0 { right.before(SKEW) } else { right.after(SKEW) };
        BothClocks { boot, wall, apart: Duration::ZERO }
    }

    fn campaign(_: usize) -> Command<Infallible> {
        Command::Campaign { value: "".parse().unwrap(), priority: 0 }
    }

    fn restarts(_: &Setting<Self>, _: usize) -> Vec<Infallible> {
        Vec::new()
    }

    fn restarts_left((): &mut (), _: usize, lost: Infallible) -> &mut u8 {
        match lost {}
    }

    fn lose(lost: Infallible, _: Life, _: u64, _: &mut Clock, _: &mut Option<()>) {
        match lost {}
    }

    fn repeats<'a>((): &'a mut (), _: &Beat) -> Option<&'a mut u8> {
        None
    }

    /// Two that begin at once lead until they have heard each other.
    fn may_overlap(_: &Claim<Self>, _: &Claim<Self>, _: bool) -> bool {
        true
    }

    fn passes(claims: &[Claim<Self>], disturbed: bool) -> Result<(), String> {
        match claims {
            [one, other, ..] if !disturbed => {
                Err(format!("both lead who have heard each other: {one:?} and {other:?}"))
            }
            _ => Ok(()),
        }
    }

    fn look(_: &Node<Self>, _: u64) {}
}

/// The clocks are at both ends of what is allowed, one slow and behind, one fast and ahead.
fn two(flaw: Flaw, horizon: u8, budget: Budget<()>) -> Setting<Two> {
    let (name, tick, rates) = ("two beacons", BEAT, &[Slow, Fast]);
    let (candidates, alike, must_show) = (0..2, 0..0, &["elected", "another elected"]);
    Setting { name, tick, horizon, rates, candidates, alike, budget, must_show, own: flaw }
}

const BOTH: Budget<()> = Budget { campaigns: [1, 1, 0], ..Budget::none(()) };

#[test]
fn two_that_hear_each_other_agree_within_a_tick() {
    let must_show = &["two leaders", "another after a resignation"];
    let setting = two(Flaw::None, 14, Budget { campaigns: [2, 2, 0], resigns: 2, ..BOTH });
    holds(&Setting { must_show, ..setting }, 5_000_000);
}

#[test]
fn one_that_stopped_or_missed_a_beat_may_lead_beside_the_other() {
    let must_show = &["two leaders", "another after a pause"];
    let setting = two(Flaw::None, 9, Budget { pauses: 1, late: 1, ..BOTH });
    holds(&Setting { must_show, ..setting }, 5_000_000);
}

#[test]
fn one_that_hears_nothing_or_claims_again_is_found() {
    for flaw in [Flaw::InboundBlocked, Flaw::Returns] {
        let setting = two(flaw, 12, Budget { resigns: 1, ..BOTH });
        assert!(finds(&setting, 5_000_000, "both lead who have heard each other"), "{flaw:?}");
    }
}
