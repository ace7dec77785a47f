//! Inputs at made-up times.

use tenure_core::{Clocks, Effects, Input, Now, Protocol, Time, WallTime};

/// The clocks of a machine whose wall clock is right.
struct At(Time);

impl Clocks for At {
    fn since_boot(&self) -> Time {
        self.0
    }

    fn wall(&self) -> WallTime {
        WallTime::from_nanos(self.0.as_nanos())
    }
}

/// Hands `core` an input at `now`; where it asks for wall time, that is right.
pub fn handle<P: Protocol>(
    core: &mut P,
    now: Time,
    input: Input<P::Words>,
    out: &mut Effects<P::Words>,
) {
    core.handle(Now::sample(&At(now)), input, out);
}
