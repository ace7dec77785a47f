//! The pace at which new clients replace broken clients.

use std::time::Duration;

use tenure::Time;

/// The pause after the first broken client; each further pause is twice as long.
const FIRST: Duration = Duration::from_millis(500);

const LONGEST: Duration = Duration::from_secs(30);

/// The pace of new clients: the first comes at once, later clients at growing intervals while no
/// client works. Each client costs a connection and some threads, and a missing right stays missing
/// for a while.
#[derive(Default)]
pub(super) struct Pace {
    pause: Duration,
    /// Time at which the next client may be made, on `CLOCK_BOOTTIME`.
    next: Time,
}

impl Pace {
    /// Whether a client may be made now. Counts the client as made.
    pub(super) fn may(&mut self, now: Time) -> bool {
        let may = self.next <= now;
        if may {
            self.pause = self.pause.saturating_mul(2).clamp(FIRST, LONGEST);
            self.next = now.after(self.pause);
        }
        may
    }

    /// Notes that the last client has worked: the next client may be made at once.
    pub(super) fn worked(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of clients in `seconds`, with two requests for a client each second.
    fn made(pace: &mut Pace, from: u64, seconds: u64) -> usize {
        let times = (0..seconds * 2).map(|half| Time::from_nanos((from * 2 + half) * 500_000_000));
        times.filter(|now| pace.may(*now)).count()
    }

    #[test]
    fn failing_clients_slow_down() {
        let mut pace = Pace::default();
        // Clients are made at 0, 0.5, 1.5, 3.5, 7.5, 15.5 and 31.5 s, and then every 30 s.
        assert_eq!(made(&mut pace, 100, 60), 7);
        assert_eq!(made(&mut pace, 160, 600), 20);
        pace.worked();
        assert_eq!(made(&mut pace, 760, 4), 4, "and at once after one that worked");
    }
}
