//! Inputs at made-up times.

use tenure_core::{Clocks, Effects, Input, Now, Protocol, Time, WallTime};

/// What the clocks of a machine show.
struct Showing {
    boot: Time,
    wall: WallTime,
}

impl Clocks for Showing {
    fn since_boot(&self) -> Time {
        self.boot
    }

    fn wall(&self) -> WallTime {
        self.wall
    }
}

/// Hands `core` an input at `now`; where it asks for wall time, that is right.
pub fn handle<P: Protocol>(
    core: &mut P,
    now: Time,
    input: Input<P::Words>,
    out: &mut Effects<P::Words>,
) {
    handle_at(core, now, WallTime::from_nanos(now.as_nanos()), input, out);
}

/// Hands `core` an input on a machine whose clocks show this.
pub fn handle_at<P: Protocol>(
    core: &mut P,
    boot: Time,
    wall: WallTime,
    input: Input<P::Words>,
    out: &mut Effects<P::Words>,
) {
    core.handle(Now::sample(&Showing { boot, wall }), input, out);
}
