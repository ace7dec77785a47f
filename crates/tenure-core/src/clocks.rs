//! The clocks of a core: time since boot alone, or wall time read together with it.

use core::fmt;
use core::time::Duration;

use crate::time::{Time, WallTime};

/// The clocks of one process. Drivers read real ones, simulators made-up ones.
pub trait Clocks {
    /// `CLOCK_BOOTTIME`: no process can set it, and it counts suspend.
    fn since_boot(&self) -> Time;

    /// `CLOCK_REALTIME`: it may be wrong, and it may step either way at any time.
    fn wall(&self) -> WallTime;

    /// Whether the core compares wall time under its settings. Only [`Reading`] asks for this.
    #[inline]
    fn compares_wall(&self) -> bool {
        false
    }
}

/// The clocks that a driver reads for each input: [`Time`] for a core that needs only time since
/// boot, and [`BothClocks`] for a core that compares wall time with other machines. [`Reading`] is
/// for a core whose settings decide whether it compares wall time.
pub trait Now: Copy + fmt::Debug + Send + 'static {
    /// Reads the clocks that the core needs, once, after the input arrived. Time
    /// [`since_boot`](Self::since_boot) never goes back between calls; wall time may.
    fn sample(clocks: &impl Clocks) -> Self;

    /// Time since boot, on which leases are timed.
    fn since_boot(self) -> Time;
}

impl Now for Time {
    #[inline]
    fn sample(clocks: &impl Clocks) -> Self {
        clocks.since_boot()
    }

    #[inline]
    fn since_boot(self) -> Time {
        self
    }
}

/// Time since boot and wall time, read one after the other.
///
/// A process can be stopped between the two reads. Wall time was read no earlier than `boot` and no
/// later than `apart` after `boot`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BothClocks {
    pub boot: Time,
    pub wall: WallTime,
    /// Longest span from the read of `boot` to the read of `wall`.
    pub apart: Duration,
}

/// Two reads no further apart than this count as simultaneous.
const TOGETHER: Duration = Duration::from_micros(50);
/// Maximum number of attempts to read both clocks within [`TOGETHER`].
const TRIES: u32 = 4;

impl BothClocks {
    /// The earliest [`Time`] at which the wall clock may show `wall`, unless the clock is set. A
    /// claim until `wall` ends at this time.
    #[must_use]
    pub fn earliest(self, wall: WallTime) -> Time {
        self.boot.after(wall.since(self.wall)).before(self.wall.since(wall))
    }

    /// The latest [`Time`] at which the wall clock may show `wall`, unless the clock is set. The
    /// wait for another node's claim until `wall` ends at this time.
    #[must_use]
    pub fn latest(self, wall: WallTime) -> Time {
        self.earliest(wall).after(self.apart)
    }
}

impl Now for BothClocks {
    fn sample(clocks: &impl Clocks) -> Self {
        let mut boot = clocks.since_boot();
        let mut best = Self { boot, wall: WallTime::default(), apart: Duration::MAX };
        for _ in 0..TRIES {
            let wall = clocks.wall();
            let after = clocks.since_boot();
            let apart = after.since(boot);
            if apart < best.apart {
                best = Self { boot, wall, apart };
            }
            if apart <= TOGETHER {
                break;
            }
            boot = after;
        }
        best
    }

    fn since_boot(self) -> Time {
        self.boot
    }
}

/// Time since boot; also wall time, if the core compares wall time under its settings.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reading {
    pub boot: Time,
    /// Both clocks, with the same `boot`.
    pub both: Option<BothClocks>,
}

impl From<Time> for Reading {
    #[inline]
    fn from(boot: Time) -> Self {
        Self { boot, both: None }
    }
}

impl Now for Reading {
    #[inline]
    fn sample(clocks: &impl Clocks) -> Self {
        if clocks.compares_wall() {
            let both = BothClocks::sample(clocks);
            return Self { boot: both.boot, both: Some(both) };
        }
        clocks.since_boot().into()
    }

    #[inline]
    fn since_boot(self) -> Time {
        self.boot
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;

    const EPOCH: u64 = 1_800_000_000_000_000_000;

    /// Clocks whose reads take these spans, one after the other.
    struct Slow<'a> {
        now: Cell<u64>,
        reads: Cell<usize>,
        takes: &'a [u64],
    }

    impl Slow<'_> {
        fn read(&self) -> u64 {
            let read = self.reads.replace(self.reads.get() + 1);
            let takes = self.takes.get(read).copied().unwrap_or(1);
            let now = self.now.get();
            self.now.set(now + takes);
            now
        }
    }

    impl Clocks for Slow<'_> {
        fn since_boot(&self) -> Time {
            Time::from_nanos(self.read())
        }

        fn wall(&self) -> WallTime {
            WallTime::from_nanos(EPOCH + self.read())
        }
    }

    fn slow(takes: &[u64]) -> BothClocks {
        BothClocks::sample(&Slow { now: Cell::new(1_000), reads: Cell::new(0), takes })
    }

    #[test]
    fn paused_reads_are_repeated() {
        let second = 1_000_000_000;
        let both = slow(&[second, 1, 1, 1]);
        assert_eq!(both.apart, Duration::from_nanos(2));
        assert!(both.boot >= Time::from_nanos(second));
    }

    #[test]
    fn true_instant_lies_within_bounds() {
        for pauses in 0..1_u32 << 9 {
            let pause =
                |read: u32| if pauses >> read & 1 == 1 { 70_000 + u64::from(read) } else { 1 };
            let takes = core::array::from_fn::<u64, 9, _>(|read| pause(read as u32));
            let both = slow(&takes);
            for end in [0, 900, 1_000, 500_000, 7_000_000] {
                // The two clocks of this process differ only in the origin of the wall clock.
                let wall = WallTime::from_nanos(EPOCH + end);
                let boot = Time::from_nanos(end);
                assert!(both.earliest(wall) <= boot, "{pauses:b}: {both:?}");
                assert!(both.latest(wall) >= boot, "{pauses:b}: {both:?}");
            }
        }
    }

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        let both = BothClocks {
            boot: Time::from_nanos(5),
            wall: WallTime::from_nanos(EPOCH),
            apart: Duration::from_nanos(3),
        };
        assert_eq!(both.earliest(WallTime::from_nanos(0)), Time::ZERO);
        assert_eq!(
            both.latest(WallTime::from_nanos(u64::MAX)).since(Time::ZERO).as_nanos() as u64,
            u64::MAX - EPOCH + 8
        );
        assert_eq!(WallTime::from_nanos(7).after(Duration::MAX), WallTime::from_nanos(u64::MAX));
        assert_eq!(WallTime::from_nanos(7).before(Duration::MAX), WallTime::from_nanos(0));
    }
}
