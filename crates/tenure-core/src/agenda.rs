//! What is due when, for many elections at once.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::name::ElectionName;
use crate::time::Time;

/// At most one due time for each election, with the earliest at hand.
///
/// It is not searched by name: whoever keeps an election keeps its [`Appointment`] with it. Of
/// what is due at the same time, what was put down first comes first.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Agenda {
    order: BTreeMap<Place, ElectionName>,
    last: u64,
}

/// When, and a number that is given once.
type Place = (Time, u64);

/// Where one election is on an [`Agenda`]. One that is lost leaves its election there, to come
/// up once more; one that is out of date does no harm.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Appointment(Option<Place>);

impl Agenda {
    /// Something is due for `election` at `at`, or nothing is. [`Time::MAX`] never comes.
    pub(crate) fn set(
        &mut self,
        appointment: &mut Appointment,
        election: &ElectionName,
        at: Option<Time>,
    ) {
        let at = at.filter(|at| *at < Time::MAX);
        let mut name = None;
        if let Some(place) = appointment.0.take() {
            if at == Some(place.0) && self.order.contains_key(&place) {
                appointment.0 = Some(place);
                return;
            }
            name = self.order.remove(&place);
        }
        if let Some(at) = at {
            self.last += 1;
            let place = (at, self.last);
            self.order.insert(place, name.unwrap_or_else(|| election.clone()));
            appointment.0 = Some(place);
        }
    }

    /// The earliest due time.
    pub(crate) fn first(&self) -> Option<Time> {
        self.order.first_key_value().map(|((at, _), _)| *at)
    }

    /// Takes everything that is due at `now` off the agenda, the earliest first. What is put on
    /// it while that is done waits for the next call, so that no call goes on for ever.
    pub(crate) fn take_due(&mut self, now: Time) -> Vec<ElectionName> {
        let mut due = Vec::new();
        while self.first().is_some_and(|at| at <= now)
            && let Some((_, election)) = self.order.pop_first()
        {
            due.push(election);
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

    fn due(agenda: &mut Agenda, now: u64) -> Vec<alloc::string::String> {
        let due = agenda.take_due(Time::from_nanos(now));
        due.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_election_is_due_once_and_at_its_latest_time() {
        let [a, b] = ["a", "b"].map(|name| ElectionName::new(name).unwrap());
        let mut agenda = Agenda::default();
        let [mut of_a, mut of_b] = [Appointment::default(); 2];
        agenda.set(&mut of_b, &b, at(5));
        agenda.set(&mut of_a, &a, at(5));
        agenda.set(&mut of_a, &a, at(9));
        agenda.set(&mut of_a, &a, at(5));
        assert_eq!(due(&mut agenda, 4), [""; 0]);
        assert_eq!(due(&mut agenda, 5), ["b", "a"]);
        assert_eq!(agenda.first(), None);
        // What was taken off can be put down for the same time again.
        agenda.set(&mut of_a, &a, at(5));
        assert_eq!(agenda.first(), at(5));
        agenda.set(&mut of_a, &a, None);
        agenda.set(&mut of_a, &a, None);
        agenda.set(&mut of_b, &b, Some(Time::MAX));
        assert_eq!(agenda, Agenda { last: agenda.last, ..Agenda::default() });
    }
}
