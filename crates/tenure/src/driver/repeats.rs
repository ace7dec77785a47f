//! Filters repeated log lines, so that a log has a line for each change and not for each datagram.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::Time;

/// The most subjects of one kind. Lines about further subjects are dropped until older subjects are
/// forgotten.
const KNOWN_MAX: usize = 128;
/// The most lines about one subject in ten minutes, even if its text changes more often.
const LINES_MAX: u32 = 4;
/// Time after which a lasting condition is logged again.
const AGAIN: Duration = Duration::from_secs(600);

/// The last line about each subject. A log has at most 640 lines of one kind in ten minutes: four
/// about each of 128 subjects, and one more to report lines that are left out. Each kind and each
/// subject has its own limit, so a flood of forged senders suppresses only lines of its own kind.
#[derive(Debug, Default)]
pub struct Repeats {
    known: BTreeMap<&'static str, BTreeMap<String, LastLine>>,
}

#[derive(Debug)]
struct LastLine {
    /// Text of the last line; `None` after the condition has ended.
    text: Option<String>,
    at: Time,
    lines: u32,
    since: Time,
}

impl Repeats {
    /// Returns whether to log `text` about the subject `about` of this `kind` at `now`. A line is
    /// logged if its text differs from the last line, or if the last line is ten minutes old. No
    /// line is logged beyond the limits: after the last line that a limit allows, a line says that
    /// more are left out.
    #[must_use]
    pub fn is_new(&mut self, now: Time, kind: &'static str, about: &str, text: &str) -> bool {
        let lines = self.lines(now, kind, about, text);
        if lines == Some(LINES_MAX) {
            tracing::warn!(
                "{kind} {about}: the log leaves out more of these lines for up to ten minutes"
            );
        }
        lines.is_some()
    }

    /// Returns the number of this line in its ten minutes; `None` if the line must not be logged.
    fn lines(&mut self, now: Time, kind: &'static str, about: &str, text: &str) -> Option<u32> {
        let known = self.known.entry(kind).or_default();
        if let Some(line) = known.get_mut(about) {
            if now.since(line.since) >= AGAIN {
                line.lines = 0;
                line.since = now;
            }
            let is_repeated = line.text.as_deref() == Some(text) && now.since(line.at) < AGAIN;
            if is_repeated || line.lines >= LINES_MAX {
                return None;
            }
            line.text = Some(text.to_owned());
            line.at = now;
            line.lines += 1;
            return Some(line.lines);
        }
        if known.len() >= KNOWN_MAX {
            known.retain(|_, line| now.since(line.at) < AGAIN);
            if known.len() >= KNOWN_MAX {
                return None;
            }
        }
        let line = LastLine { text: Some(text.to_owned()), at: now, lines: 1, since: now };
        known.insert(about.to_owned(), line);
        Some(1)
    }

    /// Forgets a subject whose condition is over, so that its next line is logged at once.
    pub fn forget(&mut self, kind: &'static str, about: &str) {
        if let Some(line) = self.known.get_mut(kind).and_then(|known| known.get_mut(about)) {
            line.text = None;
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
    fn repeated_line_returns_after_ten_minutes() {
        let mut repeats = Repeats::default();
        assert!(repeats.is_new(at(0), "disk", "", "full"));
        assert!((1..600).all(|second| !repeats.is_new(at(second), "disk", "", "full")));
        assert!(repeats.is_new(at(600), "disk", "", "full"));
        assert!(repeats.is_new(at(601), "disk", "", "broken"));
        repeats.forget("disk", "");
        assert!(repeats.is_new(at(602), "disk", "", "broken"));
    }

    #[test]
    fn the_last_line_is_known() {
        let mut repeats = Repeats::default();
        let lines = ["1.2", "1.2", "1.3", "1.4", "1.5", "1.6"];
        let lines = lines.map(|text| repeats.lines(at(0), "moved", "a", text));
        assert_eq!(lines, [Some(1), None, Some(2), Some(3), Some(LINES_MAX), None]);
    }

    /// A sender can write any name and address into a datagram.
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

    #[test]
    fn changing_texts_are_bounded() {
        let mut repeats = Repeats::default();
        let flood = |repeats: &mut Repeats, now| {
            let news = |number: &u64| {
                repeats.forget("name", "b");
                let text = number.to_string();
                repeats.is_new(now, "name", "a", &text) | repeats.is_new(now, "name", "b", "twice")
            };
            (0..10_000).filter(news).count()
        };
        assert_eq!(flood(&mut repeats, at(0)), LINES_MAX as usize);
        assert_eq!(flood(&mut repeats, at(599)), 0);
        assert!(repeats.is_new(at(599), "name", "c", "twice"), "another thing has its room");
        assert_eq!(flood(&mut repeats, at(600)), LINES_MAX as usize);
    }
}
