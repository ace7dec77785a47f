//! Inputs at made-up times.

use tenure_core::{Clocks, Effects, Input, Now, Protocol, Time, WallTime};

/// Readings of a machine's clocks.
struct Readings {
    boot: Time,
    wall: WallTime,
}

impl Clocks for Readings {
    fn since_boot(&self) -> Time {
        self.boot
    }

    fn wall(&self) -> WallTime {
        self.wall
    }

    fn compares_wall(&self) -> bool {
        true
    }
}

/// Hands `core` an input at `now`, on a machine whose wall clock is right.
pub fn handle<P: Protocol>(
    core: &mut P,
    now: Time,
    input: Input<P::Words>,
    out: &mut Effects<P::Words>,
) {
    handle_at(core, now, WallTime::from_nanos(now.as_nanos()), input, out);
}

/// Hands `core` an input on a machine with these readings of its clocks.
pub fn handle_at<P: Protocol>(
    core: &mut P,
    boot: Time,
    wall: WallTime,
    input: Input<P::Words>,
    out: &mut Effects<P::Words>,
) {
    core.handle(Now::sample(&Readings { boot, wall }), input, out);
}
