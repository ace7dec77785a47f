//! Which other processes are there, and for which roles they stand.

use std::collections::BTreeMap;

use tenure::Time;
use tenure_core::nele::{Config, Entry, Process, RANGES_MAX, Report, Role, RoleRange, Said};

/// So many are remembered.
const MOST: usize = 1_024;

/// Processes that could follow this one.
#[derive(Debug)]
pub(crate) struct Others {
    own: Process,
    /// The time of the last record, on `CLOCK_BOOTTIME`.
    read: Time,
    heard: BTreeMap<Process, (Time, Vec<RoleRange>)>,
}

impl Others {
    pub(crate) fn new(own: Process) -> Self {
        Self { own, read: Time::ZERO, heard: BTreeMap::new() }
    }

    pub(crate) fn hear(&mut self, now: Time, report: &Report, config: &Config) {
        let Report::Records { records, .. } = report else { return };
        self.read = now;
        for record in records {
            if let Said::Entry(entry) = &record.said {
                self.hear_one(now, entry, config);
            }
        }
    }

    fn hear_one(&mut self, now: Time, entry: &Entry, config: &Config) {
        if entry.sender == self.own || entry.election != config.election {
            return;
        }
        if entry.stands.is_empty() {
            // The process leaves.
            self.heard.remove(&entry.sender);
            return;
        }
        if self.heard.len() >= MOST && !self.heard.contains_key(&entry.sender) {
            let there =
                |(heard, _): &(Time, Vec<RoleRange>)| now.since(*heard) < config.heard_leads();
            self.heard.retain(|_, one| there(one));
            if self.heard.len() >= MOST {
                return;
            }
        }
        self.heard.insert(entry.sender.clone(), (now, entry.stands.clone()));
    }

    /// When anything was read last, also of its own: who is there was heard by then.
    pub(crate) const fn read(&self) -> Time {
        self.read
    }

    /// Whether another process stands for this role, by its last record. A process that has not
    /// left counts for as long as it could lead: it may have a longer publish interval, and to wait
    /// in vain costs less than a gap.
    pub(crate) fn stand_for(&self, role: Role, now: Time, config: &Config) -> bool {
        self.heard.values().any(|(heard, stands)| {
            let there = now.since(*heard) < config.heard_leads();
            // A process with more ranges than a record names may stand for any role after them.
            let more = stands.len() >= RANGES_MAX && stands.last().is_some_and(|to| to.last < role);
            there && (more || stands.iter().any(|range| range.contains(role)))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure_core::nele::{EntryNumber, Kind, Mode};

    use super::*;

    fn process(id: &str) -> Process {
        Process { id: id.parse().unwrap(), incarnation: 7 }
    }

    fn config() -> Config {
        let [election, group, id] = ["prices", "blue", "a"];
        let election = election.parse().unwrap();
        let group = group.parse().unwrap();
        Config::new(election, group, id.parse().unwrap(), 4, Mode::AtLeastOne)
    }

    fn beat(config: &Config, sender: &str, stands: &[(u32, u32)]) -> Entry {
        let range =
            |&(first, last): &(u32, u32)| RoleRange { first: Role(first), last: Role(last) };
        Entry {
            election: config.election.clone(),
            group: config.group.clone(),
            partitions: config.partitions,
            terms: config.terms(),
            sender: process(sender),
            host: config.host.clone(),
            number: EntryNumber(1),
            kind: Kind::Beat,
            stands: stands.iter().map(range).collect(),
            leads: Vec::new(),
        }
    }

    #[test]
    fn standing_process_could_follow() {
        let config = config();
        let mut others = Others::new(process("a"));
        let at = |millis| Time::from_nanos(millis * 1_000_000);
        let stand = |others: &Others, role, now| others.stand_for(Role(role), at(now), &config);
        others.hear_one(at(0), &beat(&config, "a", &[(0, 3)]), &config);
        assert!(!stand(&others, 0, 0), "it does not follow itself");
        let stranger = Entry { election: "else".parse().unwrap(), ..beat(&config, "c", &[(0, 3)]) };
        others.hear_one(at(0), &stranger, &config);
        assert!(!stand(&others, 0, 0), "of another election");
        others.hear_one(at(0), &beat(&config, "b", &[(0, 1), (3, 3)]), &config);
        assert!(stand(&others, 0, 100) && stand(&others, 3, 100) && !stand(&others, 2, 100));
        let silence = u64::try_from(config.silence().as_millis()).unwrap();
        assert!(stand(&others, 0, 2 * silence), "it may write less often");
        let over = u64::try_from(config.heard_leads().as_millis()).unwrap() + 1;
        assert!(!stand(&others, 0, over), "it was silent for {:?}", config.heard_leads());
        others.hear_one(at(over), &beat(&config, "b", &[(0, 1)]), &config);
        assert!(stand(&others, 0, over));
        others.hear_one(at(over), &beat(&config, "b", &[(1, 1)]), &config);
        assert!(!stand(&others, 0, over), "it stands for the other one still");
        others.hear_one(at(over), &beat(&config, "b", &[]), &config);
        assert!(!stand(&others, 1, over), "it leaves");
        let all: Vec<_> = (0..RANGES_MAX as u32).map(|range| (2 * range, 2 * range)).collect();
        others.hear_one(at(over), &beat(&config, "b", &all), &config);
        assert!(stand(&others, 2, over) && !stand(&others, 3, over));
        assert!(stand(&others, 999, over), "more than a record names");
    }

    #[test]
    fn remembered_processes_are_bounded() {
        let config = config();
        let mut others = Others::new(process("a"));
        let later = Time::from_nanos(0).after(config.heard_leads() + Duration::from_secs(1));
        for number in 0..2 * MOST {
            let beat = beat(&config, &format!("n{number}"), &[(0, 0)]);
            others.hear_one(Time::from_nanos(0), &beat, &config);
        }
        assert_eq!(others.heard.len(), MOST);
        others.hear_one(later, &beat(&config, "new", &[(2, 2)]), &config);
        assert_eq!(others.heard.len(), 1);
        assert!(others.stand_for(Role(2), later, &config));
    }
}
