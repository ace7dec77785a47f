//! Detection of a member that is two processes.
//!
//! A restarted member has another incarnation, and its earlier incarnation is never heard again.
//! Two incarnations run side by side if the earlier one is heard well after the later one began.
//! Then the state directory was copied, or a name leads to two processes.

use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::Time;
use tenure_core::nerio::Inc;

/// Time for which datagrams of the earlier incarnation may still arrive.
const STRAGGLING: Duration = Duration::from_secs(1);
/// Silence after which both incarnations are forgotten.
const LATELY: Duration = Duration::from_secs(120);

#[derive(Clone, Copy, Debug)]
struct Life {
    inc: Inc,
    address: SocketAddr,
    /// Time of the first datagram of this life.
    first: Time,
    /// Time of the last datagram of this life.
    last: Time,
}

#[derive(Debug, Default)]
pub(super) struct Lives([Option<Life>; 2]);

impl Lives {
    /// Notes the life `inc`. Returns both addresses if two lives exist.
    pub(super) fn heard(
        &mut self,
        now: Time,
        inc: Inc,
        address: SocketAddr,
    ) -> Option<[SocketAddr; 2]> {
        let known = self.0.iter().position(|life| life.is_some_and(|life| life.inc == inc));
        let [one, two] = &self.0;
        let older = usize::from(one.map(|life| life.last) > two.map(|life| life.last));
        let place = &mut self.0[known.unwrap_or(older)];
        let first = place.filter(|life| life.inc == inc).map_or(now, |life| life.first);
        *place = Some(Life { inc, address, first, last: now });
        let [Some(one), Some(two)] = &self.0 else { return None };
        let outlives = |this: &Life, that: &Life| {
            this.first <= that.first && this.last.since(that.first) >= STRAGGLING
        };
        let lately = now.since(one.last.min(two.last)) < LATELY;
        let both = (outlives(one, two) && one.last > two.first)
            || (outlives(two, one) && two.last > one.first);
        let mut addresses = [one.address, two.address];
        addresses.sort_unstable();
        (both && lately).then_some(addresses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(lives: &mut Lives, millis: u64, inc: u128) -> bool {
        let address = ([10, 0, 0, inc as u8], 1).into();
        lives.heard(Time::from_nanos(millis * 1_000_000), Inc(inc), address).is_some()
    }

    #[test]
    fn restarted_member_is_one_process() {
        let mut lives = Lives::default();
        for (millis, inc) in [(0, 1), (5_000, 1), (5_100, 2), (5_150, 1), (9_000, 2), (9_100, 3)] {
            assert!(!heard(&mut lives, millis, inc), "{millis}");
        }
    }

    #[test]
    fn interleaved_lives_are_two_processes() {
        let mut lives = Lives::default();
        assert!(!heard(&mut lives, 0, 1));
        assert!(!heard(&mut lives, 500, 2));
        assert!(!heard(&mut lives, 600, 1), "it may have been on its way");
        assert!(heard(&mut lives, 1_700, 1));
        assert!(heard(&mut lives, 1_800, 2));
        assert!(!heard(&mut lives, 200_000, 2), "the other one is gone");
    }
}
