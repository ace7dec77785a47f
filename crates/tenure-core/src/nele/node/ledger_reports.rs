//! Reports of the ledger: each is passed to the part of the protocol that handles it. A topic that
//! was made anew, or has other partitions, halts the process here.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::state::Nele;
use crate::event::{End, Loss};
use crate::nele::config::{Config, Mode};
use crate::nele::context::Context;
use crate::nele::event::{Event, Ignored, OwnEvent};
use crate::nele::identity::{EntryNumber, Partition, Reading, RebalanceId};
use crate::nele::message::{Cause, Entry, Kind, Record, Report, Said, TopicId};
use crate::nele::reader::Reader;
use crate::nele::slot::Slot;
use crate::nele::words::{Out, emit};

impl Nele {
    pub(super) fn hear(&mut self, report: Report, out: &mut Out) {
        match report {
            Report::Topic { id, partitions } => self.on_topic(&id, partitions, out),
            Report::Rebalance(rebalance) => self.on_rebalance(rebalance, out),
            Report::Left(membership) => self.on_left(membership, out),
            Report::Position { partition, reading, end } => {
                if reading.rebalance == RebalanceId::NONE {
                    return self.sight_position(reading, end, out);
                }
                self.in_slot(partition, out, |slot, context| {
                    slot.on_position(reading, end, context);
                });
            }
            Report::Records { partition, reading, records } => {
                self.on_records(partition, reading, &records, out);
            }
            Report::Broken { partition, reading, why } => {
                if reading.rebalance == RebalanceId::NONE {
                    return self.sight_broken(reading, out);
                }
                self.in_slot(partition, out, |slot, context| {
                    slot.on_broken(reading, why, context);
                });
                self.misses();
            }
            Report::Published { number, partition, outcome } => {
                self.on_published(number, partition, outcome, out);
            }
            Report::Fatal { why } => self.halt(why, Loss::Revoked, out),
        }
    }

    fn in_slot(
        &mut self,
        partition: Partition,
        out: &mut Out,
        act: impl FnOnce(&mut Slot, &mut Context<'_>),
    ) {
        if self.slots.contains(partition) {
            self.with_slot(partition, out, act);
        } else {
            emit(None, OwnEvent::Ignored(Ignored::OldReading), out);
        }
    }

    /// Halts if the topic has changed (rulings 5 and 10).
    fn on_topic(&mut self, id: &TopicId, partitions: u32, out: &mut Out) {
        let ours = self.config.partitions;
        if *id != self.topic {
            let why = match self.config.mode {
                Mode::AtLeastOne => {
                    format!(
                        "the topic was made anew: its id is {id}, and was {}. Start this process \
                         again",
                        self.topic
                    )
                }
                Mode::AtMostOne => format!(
                    "the topic was made anew: its id is {id}, and was {}, so fences begin again \
                     there. Start this process again with a fence base of {} or more, which is \
                     above all fences so far, or with another election",
                    self.topic,
                    self.next_fence_base(),
                ),
            };
            self.halt(why.into(), Loss::Reset, out);
        } else if partitions != ours {
            let fences = match self.config.mode {
                Mode::AtLeastOne => String::new(),
                Mode::AtMostOne => format!(
                    " and a fence base of {} or more, which is above all fences so far",
                    self.next_fence_base()
                ),
            };
            let why = format!(
                "the topic has {partitions} partitions, and had {ours}, so roles move to other \
                 partitions. Stop all processes, then start them with {partitions} \
                 partitions{fences}"
            );
            self.halt(why.into(), Loss::Reset, out);
        }
    }

    /// The lowest base with which new fences exceed all fences of this process and all fences that
    /// it has read.
    fn next_fence_base(&self) -> u32 {
        self.log.based.max(self.config.fence_base).saturating_add(1)
    }

    fn on_records(
        &mut self,
        partition: Partition,
        reading: Reading,
        records: &Vec<Record>,
        out: &mut Out,
    ) {
        // Skip records below the start of this reading: their senders may be gone.
        let plain = reading.rebalance == RebalanceId::NONE;
        let slot = self.slots.get(partition);
        let reads = if plain { self.sight.reads() } else { slot.and_then(Slot::reads) };
        let current = reads.filter(|reads| reads.reading == reading && reads.is_open());
        let start = current.map_or(u64::MAX, Reader::start);
        let fresh = || records.iter().filter(|record| record.offset >= start);
        let fences = fresh().filter_map(|record| self.config.fence(record.epoch, record.offset));
        self.log.based = fences.map(Config::base_of).fold(self.log.based, u32::max);
        let entries = || {
            fresh().filter_map(|record| match &record.said {
                Said::Entry(entry) if entry.is_formed() => Some(entry),
                Said::Entry(_) | Said::Nothing | Said::Unreadable => None,
            })
        };
        // An unreadable record may name a leader.
        let hidden = || {
            fresh().any(|record| match &record.said {
                Said::Entry(entry) => !entry.is_formed(),
                Said::Unreadable => true,
                Said::Nothing => false,
            })
        };
        if plain {
            if !self.sight_records(reading, records, out) {
                return;
            }
            if hidden() {
                self.misses();
            }
            for entry in entries() {
                self.hear_terms(entry, out);
                self.hear_entry(entry, out);
            }
            return;
        }
        // Check terms first: another number of partitions ends all leaderships before the record
        // counts, and claims wait for a process with another T.
        for entry in entries() {
            self.hear_partitions(entry, out);
            self.hear_terms(entry, out);
        }
        let mut counts = false;
        self.in_slot(partition, out, |slot, context| {
            counts = slot.on_records(reading, records, context);
        });
        if counts {
            self.on_ledger_heard();
            if hidden() {
                self.misses();
            }
            entries().for_each(|entry| self.hear_entry(entry, out));
        }
    }

    fn hear_partitions(&mut self, entry: &Entry, out: &mut Out) {
        let ours = self.config.partitions;
        let theirs = entry.partitions;
        let same_group = entry.election == self.config.election && entry.group == self.config.group;
        if ours == theirs || !same_group {
            return;
        }
        let why = format!(
            "{} in this group counts {theirs} partitions, and this process counts {ours}: two \
             processes may lead one role. Stop all processes, and start them with the same number \
             of partitions",
            entry.sender
        );
        self.halt(why.into(), Loss::Reset, out);
    }

    /// Reports a process of this group with other terms.
    fn hear_terms(&mut self, entry: &Entry, out: &mut Out) {
        let Entry { election, group, sender, terms, .. } = entry;
        let same = *group == self.config.group && *election == self.config.election;
        if !same || *sender == self.me {
            return;
        }
        if self.peers.hear_terms(entry, self.now, &self.config) {
            let who = sender.clone();
            let ours = self.config.terms();
            emit(None, OwnEvent::Unlike { who, terms: *terms, ours }, out);
        }
    }

    fn hear_entry(&mut self, entry: &Entry, out: &mut Out) {
        if entry.sender == self.me || entry.kind == Kind::Claim {
            return;
        }
        if entry.election == self.config.election && entry.group == self.config.group {
            let fences = entry.leads.iter().filter_map(|lead| lead.fence);
            self.log.based = fences.map(Config::base_of).fold(self.log.based, u32::max);
        }
        match self.peers.hear(entry, self.now, &self.config) {
            Ok(true) => emit(None, OwnEvent::SameName { who: entry.sender.clone() }, out),
            Ok(false) => {}
            Err(reason) => {
                emit(None, OwnEvent::Ignored(reason), out);
                if self.config.shows(&entry.group) {
                    self.misses();
                }
            }
        }
    }

    fn on_published(
        &mut self,
        number: EntryNumber,
        partition: Partition,
        outcome: Result<u64, Arc<str>>,
        out: &mut Out,
    ) {
        let offset = outcome.as_ref().ok().copied();
        if partition.0 < self.config.partitions {
            self.reports.trouble(partition, outcome.err(), out);
        }
        self.with_slot(partition, out, |slot, context| slot.on_published(number, offset, context));
    }

    fn halt(&mut self, cause: Cause, loss: Loss, out: &mut Out) {
        if self.halted.is_some() {
            return;
        }
        let why: Arc<str> = cause.clone().into();
        self.halted = Some(why.clone());
        let roles: Vec<_> =
            self.campaigns().map(|(role, campaign)| (role, campaign.leads())).collect();
        for (role, leads) in roles {
            let end = if leads { End::Lost(loss) } else { End::Refused { why: why.clone() } };
            self.finish(role, Some(end), out);
        }
        for role in self.sight.close() {
            let election = self.config.election_of(role);
            emit(Some(&election), Event::NotObserved { why: why.clone() }, out);
        }
        self.group.quits = true;
        self.changed = true;
        emit(None, OwnEvent::Halted { why: cause }, out);
    }
}
