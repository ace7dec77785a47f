//! Commands that a driver owes its core, such as the resignation of a lapsed claim, come where the
//! loop of every driver gives them: after all effects of that input, with the same sample of the
//! clock.

#![allow(clippy::unwrap_used, reason = "test code, inside its functions too")]

use std::convert::Infallible;

use tenure_core::{
    Deadline, Effect, Effects, ElectionName, Input, Protocol, Standing, Time, contract,
};
use tenure_sim::rng::Rng;
use tenure_sim::world::clock::{Clock, TRUE_RATE};
use tenure_sim::world::conditions::{Conditions, Delay, DiskFate, Site};
use tenure_sim::world::fault::Rates;
use tenure_sim::world::nodes::Nodes;
use tenure_sim::world::{Context, Occurrence, System, World};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Words;

impl contract::Words for Words {
    type Start = &'static str;
    type Sender = Infallible;
    type Address = Infallible;
    type Message = Infallible;
    type Record = Infallible;
    type Command = &'static str;
    type Event = String;
}

/// Says of each input when it is, three times.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Thrice;

impl Protocol for Thrice {
    type Words = Words;
    type Now = Time;

    fn handle(&mut self, now: Time, input: Input<Words>, out: &mut Effects<Words>) {
        let (Input::Start(what) | Input::Command { command: what, .. }) = input else { return };
        for number in 1..=3 {
            let event = format!("{what} {number} at {now}");
            out.push(Effect::Emit { election: None, event });
        }
    }

    fn deadline(&self) -> Option<Deadline> {
        None
    }

    fn standing(&self, _: &ElectionName, _: Time) -> Standing {
        Standing::NotLeading
    }
}

/// Owes something for the first two effects of the start, and writes all down.
#[derive(Debug, Default)]
struct Debtor {
    carried: Vec<String>,
    late: u64,
}

impl System for Debtor {
    type Core = Thrice;
    type Disk = ();
    type Violation = Infallible;

    fn core(&self, _: usize, _: &Clock) -> Thrice {
        Thrice
    }

    fn disk(&self, _: usize) {}

    fn start(&self, _: usize, _: u128, (): &()) -> Result<&'static str, String> {
        Ok("start")
    }

    fn write(&self, (): &mut (), record: Infallible) {
        match record {}
    }

    fn damage(&mut self, _: &mut [&mut ()], _: usize, _: DiskFate, _: bool) -> bool {
        false
    }

    fn sender(&self, _: usize, _: u128) -> Infallible {
        unreachable!("nobody sends")
    }

    fn recipients(&self, _: usize, to: &Infallible) -> Nodes {
        match *to {}
    }

    fn next_command(
        &mut self,
        _: &Context<'_>,
        _: usize,
        _: &Thrice,
        _: &mut Rng,
    ) -> Option<(ElectionName, &'static str)> {
        None
    }

    fn see(
        &mut self,
        context: &Context<'_>,
        occurrence: Occurrence<'_, Self>,
    ) -> Result<Option<(ElectionName, &'static str)>, Infallible> {
        let Occurrence::Effect { effect: Effect::Emit { event, .. }, .. } = occurrence else {
            return Ok(None);
        };
        self.carried.push(event.clone());
        self.late = self.late.max(context.now - context.sampled);
        let owed = match event.split(" at ").next().unwrap() {
            "start 1" => "one",
            "start 2" => "two",
            _ => return Ok(None),
        };
        Ok(Some(("x".parse().unwrap(), owed)))
    }
}

fn world(pause: u16) -> Debtor {
    let clock = Clock::new(0, 7_000, TRUE_RATE);
    let site = Site { name: "n".to_owned(), clock, wall: 0, starts: 1_000 };
    let never = u64::MAX >> 1;
    let unit = 1_000_000;
    let moment = Delay::Between(1, 2);
    let conditions = Conditions {
        loopback: moment.clone(),
        flush: moment.clone(),
        rates: Rates { pause, ..Rates::default() },
        pace: Delay::Between(never, never + 1),
        ..Conditions::new(1, vec![site], moment, unit, never, 100 * unit)
    };
    let mut world = World::new(conditions, Debtor::default(), None);
    let Ok(()) = world.run();
    world.system
}

/// The driver's loop takes what it owes last first.
#[test]
fn owed_commands_come_after_all_effects() {
    let inputs = ["start", "two", "one"].into_iter();
    let expected = inputs.flat_map(|input| {
        let at = Time::from_nanos(8_000);
        (1..=3).map(move |number| format!("{input} {number} at {at}"))
    });
    let expected: Vec<String> = expected.collect();
    let prompt = world(0);
    assert_eq!((prompt.carried, prompt.late), (expected.clone(), 0));

    // The process is stopped with the effects still to be carried out.
    let stopped = world(u16::MAX);
    assert_eq!(stopped.carried, expected);
    assert!(stopped.late > 0, "nobody stopped it");
}
