//! The deadlines of many elections at once.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use crate::name::ElectionName;
use crate::time::Time;

/// The deadlines of many elections: at most one for each, the earliest at hand.
///
/// Each election keeps a [`Booking`], the place of its deadline, so that no search by name is
/// needed. Elections with the same deadline come up in the order of their bookings.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Deadlines {
    /// The earliest deadline. A node with one election, the common case, allocates nothing for
    /// deadlines.
    earliest: Option<Due>,
    later: BTreeMap<Place, ElectionName>,
    last: u64,
    /// The time of the last [take](Self::take_due), and the highest number given before it. Every
    /// place up to this time and up to this number is gone, so no search is needed.
    taken: Place,
}

/// Leaves out `taken`: a place that is gone is in none of the other fields.
impl Hash for Deadlines {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.earliest, &self.later, self.last).hash(state);
    }
}

type Due = (Place, ElectionName);

/// A deadline, and a number that distinguishes deadlines at the same instant.
type Place = (Time, u64);

/// The place of an election's deadline in [`Deadlines`]. A lost booking makes its election come up
/// once more; a stale booking does no harm.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Booking(Option<Place>);

impl Deadlines {
    /// Sets the deadline of `election` to `at`, or clears it. [`Time::MAX`] never comes.
    pub(crate) fn set(&mut self, booking: &mut Booking, election: &ElectionName, at: Option<Time>) {
        let at = at.filter(|at| *at < Time::MAX);
        let mut name = None;
        if let Some(place) = booking.0.take().filter(|place| !self.is_gone(*place)) {
            if at == Some(place.0) {
                booking.0 = Some(place);
                return;
            }
            name = self.remove(place);
        }
        if let Some(at) = at {
            self.last += 1;
            let place = (at, self.last);
            self.insert((place, name.unwrap_or_else(|| election.clone())));
            booking.0 = Some(place);
        }
        self.promote();
    }

    fn is_gone(&self, (at, number): Place) -> bool {
        let (until, last) = self.taken;
        at <= until && number <= last
    }

    /// Removes a deadline; call [`promote`](Self::promote) afterwards to find the earliest one.
    fn remove(&mut self, place: Place) -> Option<ElectionName> {
        match self.earliest.take_if(|(first, _)| *first == place) {
            Some((_, name)) => Some(name),
            None => self.later.remove(&place),
        }
    }

    fn insert(&mut self, due: Due) {
        let later = match &self.earliest {
            Some((first, _)) if *first < due.0 => Some(due),
            Some(_) => self.earliest.replace(due),
            None if self.later.first_key_value().is_some_and(|(next, _)| *next < due.0) => {
                Some(due)
            }
            None => self.earliest.replace(due),
        };
        self.later.extend(later);
    }

    fn promote(&mut self) {
        if self.earliest.is_none() {
            self.earliest = self.later.pop_first();
        }
    }

    pub(crate) fn first(&self) -> Option<Time> {
        self.earliest.as_ref().map(|((at, _), _)| *at)
    }

    pub(crate) fn next(&self) -> Option<(Time, &ElectionName)> {
        self.earliest.as_ref().map(|((at, _), election)| (*at, election))
    }

    /// Removes all elections due at `now`, or at the later `now` of an earlier call. Returns them,
    /// the earliest first. Deadlines set during this call wait for the next, so that every call
    /// ends.
    pub(crate) fn take_due(&mut self, now: Time) -> Vec<ElectionName> {
        let now = now.max(self.taken.0);
        self.taken = (now, self.last);
        let mut due = Vec::new();
        while self.first().is_some_and(|at| at <= now)
            && let Some((_, election)) = self.earliest.take()
        {
            due.push(election);
            self.promote();
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn at(nanos: u64) -> Option<Time> {
        Some(Time::from_nanos(nanos))
    }

    fn due(deadlines: &mut Deadlines, now: u64) -> Vec<alloc::string::String> {
        let due = deadlines.take_due(Time::from_nanos(now));
        due.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn election_is_due_once() {
        let [a, b] = ["a", "b"].map(|name| ElectionName::new(name).unwrap());
        let mut deadlines = Deadlines::default();
        let [mut of_a, mut of_b] = [Booking::default(); 2];
        deadlines.set(&mut of_b, &b, at(5));
        deadlines.set(&mut of_a, &a, at(5));
        deadlines.set(&mut of_a, &a, at(9));
        deadlines.set(&mut of_a, &a, at(5));
        assert_eq!(due(&mut deadlines, 4), [""; 0]);
        assert_eq!(due(&mut deadlines, 5), ["b", "a"]);
        assert_eq!(deadlines.first(), None);
        // After an election was taken, its deadline can be set to the same instant again.
        deadlines.set(&mut of_a, &a, at(5));
        assert_eq!(deadlines.first(), at(5));
        deadlines.set(&mut of_a, &a, None);
        deadlines.set(&mut of_a, &a, None);
        deadlines.set(&mut of_b, &b, Some(Time::MAX));
        let Deadlines { last, taken, .. } = deadlines;
        assert_eq!(deadlines, Deadlines { last, taken, ..Deadlines::default() });
    }

    /// Compares [`Deadlines`] with a plain list: after any order of sets, moves, clears and takes,
    /// both return the same elections.
    #[test]
    fn earliest_deadline_is_at_hand() {
        let names = ["a", "b", "c", "d"].map(|name| ElectionName::new(name).unwrap());
        let mut bookings = [Booking::default(); 4];
        let mut deadlines = Deadlines::default();
        let mut expected: Vec<(u64, u64, usize)> = Vec::new();
        let mut draw = 1_u64;
        let mut now = 0;
        for number in 0..10_000 {
            draw = draw
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            // Some deadlines have passed when they are set.
            let (which, when) =
                ((draw >> 33) as usize % 4, (now + (draw >> 40 & 31)).saturating_sub(8));
            if draw >> 60 == 0 {
                now += draw >> 40 & 31;
                expected.sort();
                let taken = expected.iter().filter(|(at, ..)| *at <= now);
                let taken: Vec<_> = taken
                    .map(|(.., which): &(u64, u64, usize)| names[*which].to_string())
                    .collect();
                assert_eq!(due(&mut deadlines, now), taken);
                expected.retain(|(at, ..)| *at > now);
                continue;
            }
            let wanted = (draw >> 59 & 7 != 0).then_some(when);
            let same = expected.iter().any(|(at, _, own)| *own == which && Some(*at) == wanted);
            if !same {
                expected.retain(|(.., own)| *own != which);
                expected.extend(wanted.map(|when| (when, number, which)));
            }
            deadlines.set(&mut bookings[which], &names[which], wanted.map(Time::from_nanos));
            let first = expected.iter().map(|(at, ..)| Time::from_nanos(*at)).min();
            assert_eq!(deadlines.first(), first);
        }
    }
}
