//! Send times of this process's records, from which `Slot::weigh_own` counts evidence.

use alloc::collections::VecDeque;
use core::time::Duration;

use super::identity::EntryNumber;
use crate::time::Time;

/// The maximum number of send times that are kept. An older record is no evidence.
const KEPT: usize = 16_384;

/// The send times of the last records, by record number.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct SendTimes {
    last: EntryNumber,
    times: VecDeque<Time>,
}

impl SendTimes {
    /// Numbers a record that is sent now, and forgets send times older than `keep`.
    pub(super) fn send(&mut self, now: Time, keep: Duration) -> EntryNumber {
        while self.times.front().is_some_and(|sent| now.since(*sent) > keep)
            || self.times.len() >= KEPT
        {
            self.times.pop_front();
        }
        self.last = EntryNumber(self.last.0.saturating_add(1));
        self.times.push_back(now);
        self.last
    }

    /// The send time of the record with this number, if it is kept.
    pub(super) fn at(&self, number: EntryNumber) -> Option<Time> {
        let back = usize::try_from(self.last.0.checked_sub(number.0)?).ok()?;
        let place = self.times.len().checked_sub(back.checked_add(1)?)?;
        self.times.get(place).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_send_times_are_kept() {
        let at = Time::from_nanos;
        let mut sent = SendTimes::default();
        let keep = Duration::from_nanos(10);
        assert_eq!(sent.at(EntryNumber(0)), None);
        for now in [1, 2, 2, 12] {
            sent.send(at(now), keep);
        }
        let times = [0, 1, 2, 3, 4, 5].map(|number| sent.at(EntryNumber(number)));
        assert_eq!(times, [None, None, Some(at(2)), Some(at(2)), Some(at(12)), None]);
        assert_eq!(sent.at(EntryNumber(u64::MAX)), None);
        for _ in 0..2 * KEPT {
            sent.send(at(12), keep);
        }
        assert_eq!(sent.times.len(), KEPT);
    }
}
