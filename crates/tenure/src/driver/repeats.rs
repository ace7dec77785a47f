//! What was said already, so that a log has a line for each change and not for each datagram.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::Time;

/// As many things of one kind are told apart; what is beyond them is not said until older ones are
/// forgotten.
const KNOWN_MAX: usize = 128;
/// What lasts is said again after this.
const AGAIN: Duration = Duration::from_secs(600);

/// Remembers what was said of what. However much comes in, at most 128 lines of one kind are said
/// in ten minutes, but for those that take the place of another text about the same thing. Kinds
/// have their own room: forged senders silence nobody but others of theirs.
#[derive(Debug, Default)]
pub struct Repeats {
    known: BTreeMap<&'static str, BTreeMap<String, (String, Time)>>,
}

impl Repeats {
    /// Whether `text` about `about`, a thing of this `kind`, is to be said at `now`: it differs
    /// from what was said last, or that is ten minutes ago.
    #[must_use]
    pub fn is_new(&mut self, now: Time, kind: &'static str, about: &str, text: &str) -> bool {
        let known = self.known.entry(kind).or_default();
        if let Some((said, at)) = known.get(about)
            && said == text
            && now.since(*at) < AGAIN
        {
            return false;
        }
        if known.len() >= KNOWN_MAX && !known.contains_key(about) {
            known.retain(|_, (_, at)| now.since(*at) < AGAIN);
            if known.len() >= KNOWN_MAX {
                return false;
            }
        }
        known.insert(about.to_owned(), (text.to_owned(), now));
        true
    }

    /// It is over: when it comes back it is news.
    pub fn forget(&mut self, kind: &'static str, about: &str) {
        if let Some(known) = self.known.get_mut(kind) {
            known.remove(about);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn what_does_not_change_is_said_once_and_after_ten_minutes_again() {
        let mut repeats = Repeats::default();
        assert!(repeats.is_new(at(0), "disk", "", "full"));
        assert!((1..600).all(|second| !repeats.is_new(at(second), "disk", "", "full")));
        assert!(repeats.is_new(at(600), "disk", "", "full"));
        assert!(repeats.is_new(at(601), "disk", "", "broken"));
        repeats.forget("disk", "");
        assert!(repeats.is_new(at(602), "disk", "", "broken"));
    }

    /// Names and addresses in datagrams can be anything.
    #[test]
    fn a_flood_of_names_is_bounded() {
        let mut repeats = Repeats::default();
        let flood = |repeats: &mut Repeats, from: u64, now| {
            let news = |number: &u64| repeats.is_new(now, "name", &number.to_string(), "twice");
            (from..from + 10_000).filter(news).count()
        };
        assert_eq!(flood(&mut repeats, 0, at(0)), KNOWN_MAX);
        assert_eq!(flood(&mut repeats, 10_000, at(599)), 0);
        assert_eq!(flood(&mut repeats, 20_000, at(600)), KNOWN_MAX);
        assert_eq!(repeats.known["name"].len(), KNOWN_MAX);
        assert!(repeats.is_new(at(600), "disk", "", "full"), "of another kind");
    }
}
