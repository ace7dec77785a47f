//! Remembers the requests that were carried out.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use tenure_core::Time;

use super::WINDOW;

/// The time for which a nonce is remembered. The date of a request may be a whole window ahead of
/// the voter's clock when the request comes, and a whole window behind when its repetition comes.
/// Dates are cut to seconds.
pub(super) const REMEMBERED: Duration = Duration::from_secs(2 * WINDOW.as_secs() + 1);

/// An upper limit for the requests of one voter in a heartbeat interval. A voter sends fewer: the
/// heartbeat, and the requests of a draw.
const EACH: usize = 4;
/// The smallest room, for operators.
const ROOM_MIN: usize = 4_096;

/// The number of nonces to remember, for this number of voters and this heartbeat interval. Only
/// holders of a secret can fill this room.
pub(crate) fn room(voters: usize, heartbeat: Duration) -> usize {
    let beats = REMEMBERED.as_millis().div_ceil(heartbeat.as_millis().max(1)) + 1;
    let beats = usize::try_from(beats).unwrap_or(usize::MAX);
    voters.saturating_mul(EACH).saturating_mul(beats).max(ROOM_MIN)
}

/// The nonces of the last two windows. The date of a forgotten nonce is outside the window, unless
/// this machine's wall clock was set back.
pub(super) struct Replays {
    pub(super) room: usize,
    order: VecDeque<(Time, u128)>,
    seen: BTreeSet<u128>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NonceState {
    New,
    Before,
    /// No room is left for another nonce, so the request is refused.
    Full,
}

impl Replays {
    pub(super) const fn new(room: usize) -> Self {
        Self { room, order: VecDeque::new(), seen: BTreeSet::new() }
    }

    pub(super) fn see(&mut self, nonce: u128, now: Time) -> NonceState {
        while let Some((at, oldest)) = self.order.front().copied() {
            if now.since(at) <= REMEMBERED {
                break;
            }
            self.order.pop_front();
            self.seen.remove(&oldest);
        }
        if self.seen.contains(&nonce) {
            return NonceState::Before;
        }
        if self.order.len() >= self.room {
            return NonceState::Full;
        }
        self.order.push_back((now, nonce));
        self.seen.insert(nonce);
        NonceState::New
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonce_is_new_once() {
        let mut replays = Replays::new(100);
        let start = Time::from_nanos(1);
        assert_eq!(replays.see(7, start), NonceState::New);
        assert_eq!(replays.see(7, start.after(REMEMBERED)), NonceState::Before);
        for nonce in 0..99 {
            assert_eq!(replays.see(1_000 + nonce, start), NonceState::New);
        }
        assert_eq!(replays.see(8, start), NonceState::Full);
        let later = start.after(REMEMBERED).next();
        assert_eq!(replays.see(8, later), NonceState::New);
        assert_eq!((replays.order.len(), replays.seen.len()), (1, 1));
    }

    #[test]
    fn replay_room_fits_all_settings() {
        use tenure_core::voter::Config;
        // Assume two requests of each voter per heartbeat interval: the heartbeat, and a request of
        // an election.
        for (voters, heartbeat) in [(25, 1_000), (25, 100), (Config::VOTERS_MAX, 20)] {
            let heartbeat = Duration::from_millis(heartbeat);
            let said = 2 * voters as u128 * REMEMBERED.as_nanos() / heartbeat.as_nanos();
            assert!(room(voters, heartbeat) as u128 > said, "{voters} at {heartbeat:?}");
        }
        assert_eq!(room(128, Duration::from_secs(1)), 4 * 128 * 62);
    }
}
