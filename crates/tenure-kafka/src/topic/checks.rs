//! Requirements on a topic, and the commands that meet them. Asks no broker.

use std::fmt;
use std::time::Duration;

/// Requirements of a topic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Needs {
    pub topic: String,
    pub partitions: u32,
    /// The shortest retention time of records.
    pub retention: Duration,
    /// Whether acknowledged records must survive the loss of a broker (`at_most_one`, unless the
    /// user accepts losses).
    pub replicated: bool,
    /// The number of copies of each partition in a new topic.
    pub copies: u32,
    /// Whether the process only queries leaders: an error then names the settings of the
    /// candidates.
    pub only_asks: bool,
    /// Whether the loss of one broker must not stop writes, because roles have no leader while no
    /// record can be written (`at_most_one`).
    pub strict: bool,
    /// Bytes of the largest record that a process may write.
    pub largest: u32,
}

/// A topic as brokers describe it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    pub partitions: u32,
    /// The copies of the partition with the fewest copies.
    pub replication: u32,
    /// Settings by name, in the form of the broker; `None` without a value.
    pub settings: Vec<(String, Option<String>)>,
}

/// The fewest copies that a partition must have.
pub(super) const REPLICATION_MIN: u32 = 3;
/// The fewest copies that must hold an acknowledged record.
pub(super) const IN_SYNC_MIN: u32 = 2;

/// A requirement that a topic does not meet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// The number of partitions, on which the leaders of roles depend.
    Partitions { found: u32, needed: u32 },
    Replication {
        /// The copies of the partition with the fewest copies.
        found: u32,
    },
    /// `min.insync.replicas` exceeds the number of copies, or the number of copies without one
    /// broker.
    InSync { found: u32, copies: u32, needed: u32 },
    Setting {
        name: &'static str,
        found: String,
        /// The value for the command that sets it.
        needed: String,
        why: &'static str,
    },
}

/// A topic that cannot be used: all its faults, and their remedies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrongTopic {
    needs: Needs,
    brokers: String,
    copies: u32,
    pub wrong: Vec<Wrong>,
}

impl Needs {
    /// Checks a topic. `brokers` are for the commands in the error.
    ///
    /// # Errors
    ///
    /// All faults at once.
    pub fn check(&self, found: &Found, brokers: &str) -> Result<(), WrongTopic> {
        let mut wrong = Vec::new();
        if found.partitions != self.partitions {
            wrong.push(Wrong::Partitions { found: found.partitions, needed: self.partitions });
        }
        if self.replicated && found.replication < REPLICATION_MIN {
            wrong.push(Wrong::Replication { found: found.replication });
        }
        wrong.extend(self.settings().into_iter().filter_map(|setting| setting.check(found)));
        wrong.extend(self.room().check(found));
        wrong.extend(self.in_sync(found));
        if wrong.is_empty() {
            return Ok(());
        }
        let needs = self.clone();
        let brokers = brokers.to_owned();
        let copies = found.replication;
        Err(WrongTopic { needs, brokers, copies, wrong })
    }

    /// The setting for the largest record. A new topic is made without this setting, as the
    /// brokers' default allows more.
    fn room(&self) -> Setting {
        Setting {
            name: RECORD_MAX,
            needed: self.largest.to_string(),
            is_right: at_least,
            why: "each record lists all roles that its writer leads; the broker rejects a record \
                  that is too large, and the heartbeat is lost",
        }
    }

    /// The fault of `min.insync.replicas`, if it does not fit the number of copies.
    fn in_sync(&self, found: &Found) -> Option<Wrong> {
        let copies = found.replication;
        // A topic with too few copies has that error already.
        if copies == 0 || (self.replicated && copies < REPLICATION_MIN) {
            return None;
        }
        let spare = u32::from(self.strict && copies > 1);
        let needed = copies - spare;
        let found = found.setting("min.insync.replicas")?.parse().ok()?;
        (found > needed).then_some(Wrong::InSync { found, copies, needed })
    }

    pub(super) fn made_with(&self) -> Vec<(&'static str, String)> {
        let settings = self.settings().into_iter().map(|setting| (setting.name, setting.needed));
        // The brokers' default may exceed the number of copies.
        let one = ("min.insync.replicas", "1".to_owned());
        settings.chain((!self.replicated).then_some(one)).collect()
    }

    /// The settings that a topic must have.
    pub(super) fn settings(&self) -> Vec<Setting> {
        let retention = self.retention.as_millis().max(1).to_string();
        let mut settings = vec![
            Setting {
                name: "cleanup.policy",
                needed: "delete".to_owned(),
                is_right: |found, needed| found == needed,
                why: "records have no keys, and compaction leaves gaps",
            },
            Setting {
                name: "retention.ms",
                needed: retention,
                is_right: |found, needed| at_least(found, needed) || found == "-1",
                why: "brokers must not delete a claim while a process may still read it",
            },
            Setting {
                name: "retention.bytes",
                needed: "-1".to_owned(),
                is_right: |found, needed| found == needed,
                why: "many records must not push out a claim",
            },
            Setting {
                name: "message.timestamp.type",
                needed: "LogAppendTime".to_owned(),
                is_right: |found, needed| found == needed,
                why: "brokers delete records by this time, and a wrong clock of one process must \
                      not delete the claims of others",
            },
            Setting {
                name: "compression.type",
                needed: "producer".to_owned(),
                is_right: |found, _| !matches!(found, "gzip" | "zstd"),
                why: "this client reads neither gzip nor zstd",
            },
        ];
        if self.replicated {
            settings.push(Setting {
                name: "min.insync.replicas",
                needed: IN_SYNC_MIN.to_string(),
                is_right: at_least,
                why: "an acknowledged record must be in more than one copy",
            });
            settings.push(Setting {
                name: "unclean.leader.election.enable",
                needed: "false".to_owned(),
                is_right: |found, needed| found == needed,
                why: "a copy that lacks acknowledged records must not become the leader",
            });
        }
        settings
    }
}

/// The setting with the bytes of the largest record.
const RECORD_MAX: &str = "max.message.bytes";

/// Settings on which safety depends: a process that cannot read them assumes the worst.
const SAFETY: [&str; 2] = ["min.insync.replicas", "unclean.leader.election.enable"];

pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) needed: String,
    is_right: fn(&str, &str) -> bool,
    why: &'static str,
}

impl Found {
    pub(super) fn record_max(&self) -> Option<u32> {
        self.setting(RECORD_MAX)?.parse().ok()
    }

    fn setting(&self, name: &str) -> Option<&str> {
        let setting = self.settings.iter().find(|(found, _)| found == name);
        setting.and_then(|(_, value)| value.as_deref())
    }
}

impl Setting {
    fn check(self, found: &Found) -> Option<Wrong> {
        let Self { name, needed, is_right, why } = self;
        let found = match found.setting(name) {
            Some(value) if is_right(value, &needed) => return None,
            Some(value) => value.to_owned(),
            None if SAFETY.contains(&name) => "not shown by the broker".to_owned(),
            None => return None,
        };
        Some(Wrong::Setting { name, found, needed, why })
    }
}

fn at_least(found: &str, needed: &str) -> bool {
    let number = |text: &str| text.parse::<i128>();
    matches!((number(found), number(needed)), (Ok(found), Ok(needed)) if found >= needed)
}

impl fmt::Display for WrongTopic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let topic = &self.needs.topic;
        write!(f, "topic {topic} cannot be used:")?;
        for wrong in &self.wrong {
            write!(f, "\n  - {wrong}")?;
        }
        f.write_str("\n")?;
        self.mend(f)
    }
}

impl std::error::Error for WrongTopic {}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Partitions { found, needed } => write!(
                f,
                "the topic has {found} partitions, and {needed} are set: partition j mod M \
                 of M partitions decides role j, so all processes must use the same M"
            ),
            Self::Replication { found } => write!(
                f,
                "each partition needs at least {REPLICATION_MIN} copies, and one has {found}: an \
                 acknowledged record must outlive a broker"
            ),
            Self::InSync { found, copies, needed } if found > copies => write!(
                f,
                "min.insync.replicas is {found}, but the number of copies is {copies}; it must be \
                 at most {needed}: until then no record can be written"
            ),
            Self::InSync { found, copies, needed } => write!(
                f,
                "min.insync.replicas is {found} of {copies} copies; it must be at most {needed}: \
                 otherwise no record can be written while one broker is down, and no process leads"
            ),
            Self::Setting { name, found, needed, why } => {
                let least = if needed.parse::<u64>().is_ok() { "at least " } else { "" };
                write!(f, "{name} is {found}; it must be {least}{needed}: {why}")
            }
        }
    }
}

/// Settings in the form of the command that makes a topic.
pub(super) fn flags(settings: &[(&str, String)]) -> String {
    settings.iter().map(|(name, value)| format!(" --config {name}={value}")).collect()
}

impl WrongTopic {
    /// The commands that mend the faults.
    fn mend(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { needs, brokers, wrong, .. } = self;
        let topic = &needs.topic;
        let is_shape =
            |wrong: &Wrong| matches!(wrong, Wrong::Partitions { .. } | Wrong::Replication { .. });
        if wrong.iter().any(is_shape) {
            if needs.only_asks {
                return self.ask_otherwise(f);
            }
            for wrong in wrong {
                if let Wrong::Partitions { found, .. } = wrong {
                    writeln!(
                        f,
                        "If the other processes use {found} partitions, give --partitions \
                                 {found}. Otherwise:"
                    )?;
                }
            }
            let mut settings = needs.made_with();
            let room = needs.room();
            let small =
                |wrong: &Wrong| matches!(wrong, Wrong::Setting { name, .. } if *name == room.name);
            if wrong.iter().any(small) {
                settings.push((room.name, room.needed));
            }
            let settings = flags(&settings);
            let least = if needs.replicated { REPLICATION_MIN } else { 1 };
            let copies = needs.copies.max(self.copies).max(least);
            let partitions = needs.partitions;
            write!(
                f,
                "Stop all processes, and make the topic anew, or give another --topic:\n    \
                 kafka-topics.sh --bootstrap-server {brokers} --delete --topic {topic} &&\n    \
                 kafka-topics.sh --bootstrap-server {brokers} --create --topic {topic} \
                 --partitions {partitions} --replication-factor {copies}{settings}"
            )?;
            // The records of the new topic begin at offset 0.
            return if needs.strict {
                f.write_str(
                    "\nFences begin again with the new topic: start all processes with a \
                     --fence-base above every earlier fence base and every leader epoch",
                )
            } else {
                Ok(())
            };
        }
        let settings: Vec<_> = wrong
            .iter()
            .filter_map(|wrong| match wrong {
                Wrong::Setting { name, needed, .. } => Some(format!("{name}={needed}")),
                Wrong::InSync { needed, .. } => Some(format!("min.insync.replicas={needed}")),
                Wrong::Partitions { .. } | Wrong::Replication { .. } => None,
            })
            .collect();
        write!(
            f,
            "This command mends the topic:\n    kafka-configs.sh --bootstrap-server {brokers} \
             --alter --entity-type topics --entity-name {topic} --add-config {}",
            settings.join(",")
        )
    }

    /// Writes the advice for a process that only queries leaders: candidates use the topic as it
    /// is.
    fn ask_otherwise(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instead = self.wrong.iter().filter_map(|wrong| match wrong {
            Wrong::Partitions { found, .. } => Some(format!("--partitions {found}")),
            Wrong::Replication { .. } => Some("--allow-unreplicated".to_owned()),
            Wrong::InSync { .. } | Wrong::Setting { .. } => None,
        });
        let instead: Vec<_> = instead.collect();
        write!(f, "Ask with the flags of the candidates: give {}", instead.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(replicated: bool) -> Needs {
        let retention = Duration::from_secs(600);
        let topic = "prices".into();
        let copies = if replicated { REPLICATION_MIN } else { 1 };
        let strict = replicated;
        Needs {
            topic,
            partitions: 16,
            retention,
            replicated,
            strict,
            copies,
            only_asks: false,
            largest: 6_000,
        }
    }

    fn found(settings: &[(&str, &str)]) -> Found {
        let settings =
            settings.iter().map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned())));
        Found { partitions: 16, replication: 3, settings: settings.collect() }
    }

    #[test]
    fn made_topic_passes() {
        for replicated in [true, false] {
            let needs = needs(replicated);
            let made = needs.made_with();
            let made: Vec<_> = made.iter().map(|(name, value)| (*name, value.as_str())).collect();
            needs.check(&found(&made), "b:1").unwrap();
            let copies = if replicated { REPLICATION_MIN } else { 1 };
            needs.check(&Found { replication: copies, ..found(&made) }, "b:1").unwrap();
        }
        needs(false).check(&found(&[("retention.ms", "-1")]), "b:1").unwrap();
    }

    #[test]
    fn unreported_safety_setting_is_wrong() {
        let said = needs(true).check(&found(&[]), "b:1").unwrap_err().to_string();
        for setting in SAFETY {
            assert!(said.contains(&format!("{setting} is not shown by the broker")), "{said}");
        }
        needs(false).check(&found(&[]), "b:1").unwrap();
    }

    #[test]
    fn errors_come_with_command() {
        let found = found(&[
            ("cleanup.policy", "compact,delete"),
            ("retention.ms", "60000"),
            ("message.timestamp.type", "CreateTime"),
            ("min.insync.replicas", "1"),
            ("unclean.leader.election.enable", "false"),
        ]);
        assert_eq!(
            needs(true).check(&found, "b:1").unwrap_err().to_string(),
            "topic prices cannot be used:\n  - cleanup.policy is compact,delete; it must be \
             delete: records have no keys, and compaction leaves gaps\n  - retention.ms is 60000; \
             it must be at least 600000: brokers must not delete a claim while a process may still \
             read it\n  - message.timestamp.type is CreateTime; it must be LogAppendTime: brokers \
             delete records by this time, and a wrong clock of one process must not delete the \
             claims of others\n  - min.insync.replicas is 1; it must be at least 2: an \
             acknowledged record must be in more than one copy\nThis command mends the topic:\n    \
             kafka-configs.sh --bootstrap-server b:1 --alter --entity-type topics --entity-name \
             prices --add-config \
             cleanup.policy=delete,retention.ms=600000,message.timestamp.type=LogAppendTime,\
             min.insync.replicas=2"
        );
        assert_eq!(needs(false).check(&found, "b:1").unwrap_err().wrong.len(), 3);
    }

    #[test]
    fn too_many_insync_copies_are_refused() {
        let topic = |replication, in_sync| {
            let min =
                [("min.insync.replicas", in_sync), ("unclean.leader.election.enable", "false")];
            Found { replication, ..found(&min) }
        };
        let told = |needs: &Needs, found| needs.check(&found, "b:1").unwrap_err().to_string();
        let strict = needs(true);
        assert_eq!(
            told(&strict, topic(3, "3")),
            "topic prices cannot be used:\n  - min.insync.replicas is 3 of 3 copies; it must be at \
             most 2: otherwise no record can be written while one broker is down, and no process \
             leads\nThis command mends the topic:\n    kafka-configs.sh --bootstrap-server b:1 \
             --alter --entity-type topics --entity-name prices --add-config min.insync.replicas=2"
        );
        strict.check(&topic(3, "2"), "b:1").unwrap();
        let loose = needs(false);
        let said = told(&loose, topic(1, "2"));
        assert!(
            said.contains("is 2, but the number of copies is 1; it must be at most 1"),
            "{said}"
        );
        assert!(said.ends_with("--add-config min.insync.replicas=1"), "{said}");
        for (copies, in_sync) in [(1, "1"), (2, "2"), (3, "3")] {
            loose.check(&topic(copies, in_sync), "b:1").unwrap();
        }
        let alone = Needs { strict: true, ..needs(false) };
        alone.check(&topic(1, "1"), "b:1").unwrap();
        alone.check(&topic(2, "1"), "b:1").unwrap();
        assert!(told(&alone, topic(2, "2")).contains("is 2 of 2 copies; it must be at most 1"));
    }

    #[test]
    fn small_record_limit_is_refused() {
        let room = |bytes| found(&[("max.message.bytes", bytes)]);
        needs(false).check(&room("6000"), "b:1").unwrap();
        assert_eq!(
            needs(false).check(&room("5999"), "b:1").unwrap_err().to_string(),
            "topic prices cannot be used:\n  - max.message.bytes is 5999; it must be at least \
             6000: each record lists all roles that its writer leads; the broker rejects a record \
             that is too large, and the heartbeat is lost\nThis command mends the topic:\n    \
             kafka-configs.sh --bootstrap-server b:1 --alter --entity-type topics --entity-name \
             prices --add-config max.message.bytes=6000"
        );
    }

    #[test]
    fn wrong_shape_is_made_anew() {
        let found = Found { partitions: 8, replication: 1, ..found(&[]) };
        let said = needs(true).check(&found, "b:1").unwrap_err().to_string();
        for part in [
            "If the other processes use 8 partitions, give --partitions 8. Otherwise:",
            "Fences begin again with the new topic: start all processes with a --fence-base",
            "the topic has 8 partitions, and 16 are set",
            "each partition needs at least 3 copies, and one has 1",
            "--create --topic prices --partitions 16 --replication-factor 3 --config \
             cleanup.policy=delete --config retention.ms=600000",
        ] {
            assert!(said.contains(part), "{said}");
        }
        assert!(!said.contains("max.message.bytes"), "{said}");
        let asked = Needs { only_asks: true, ..needs(true) };
        let said = asked.check(&found, "b:1").unwrap_err().to_string();
        assert!(
            said.ends_with("of the candidates: give --partitions 8 and --allow-unreplicated"),
            "{said}"
        );
        let three = Found { replication: 3, ..found.clone() };
        let said = needs(false).check(&three, "b:1").unwrap_err().to_string();
        assert!(said.contains("--replication-factor 3"), "no fewer than there were: {said}");
        let partitions = Found { partitions: 16, ..found.clone() };
        needs(false).check(&partitions, "b:1").unwrap();
        // The command that makes the topic has all other settings.
        let settings = [("max.message.bytes", "5999"), ("min.insync.replicas", "2")];
        let settings = settings.map(|(name, value)| (name.to_owned(), Some(value.to_owned())));
        let small = Found { settings: settings.into(), ..found };
        let said = needs(false).check(&small, "b:1").unwrap_err().to_string();
        let made = "--config min.insync.replicas=1 --config max.message.bytes=6000";
        assert!(said.ends_with(made), "{said}");
    }
}
