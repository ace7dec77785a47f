//! Requests that were carried out before.

use std::collections::{BTreeSet, VecDeque};

use tenure_core::Time;

use super::WINDOW;

/// The most nonces that are remembered: 25 voters make a few hundred in a second at the shortest
/// sensible heartbeat. Only who has a secret can fill it.
pub(super) const SEEN_MAX: usize = 131_072;

/// The nonces of twice the window: one that is forgotten is dated outside of it, unless the wall
/// clock here was set back meanwhile.
#[derive(Default)]
pub(super) struct Replays {
    order: VecDeque<(Time, u128)>,
    seen: BTreeSet<u128>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seen {
    New,
    Before,
    /// Nothing more can be remembered, so nothing is let pass.
    Full,
}

impl Replays {
    pub(super) fn see(&mut self, nonce: u128, now: Time) -> Seen {
        while let Some((at, oldest)) = self.order.front().copied() {
            if now.since(at) <= 2 * WINDOW {
                break;
            }
            self.order.pop_front();
            self.seen.remove(&oldest);
        }
        if self.seen.contains(&nonce) {
            return Seen::Before;
        }
        if self.order.len() >= SEEN_MAX {
            return Seen::Full;
        }
        self.order.push_back((now, nonce));
        self.seen.insert(nonce);
        Seen::New
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_new_once_and_its_memory_is_bounded() {
        let mut replays = Replays::default();
        let start = Time::from_nanos(1);
        assert_eq!(replays.see(7, start), Seen::New);
        assert_eq!(replays.see(7, start.after(2 * WINDOW)), Seen::Before);
        for nonce in 0..SEEN_MAX as u128 - 1 {
            assert_eq!(replays.see(1_000 + nonce, start), Seen::New);
        }
        assert_eq!(replays.see(8, start), Seen::Full);
        let later = start.after(2 * WINDOW).next();
        assert_eq!(replays.see(8, later), Seen::New);
        assert_eq!((replays.order.len(), replays.seen.len()), (1, 1));
    }
}
