//! Leaders, as the observers of this process see them.

use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::observers::{Observation, SilentReading};
use super::state::Nele;
use crate::name::{ClusterName, ElectionName};
use crate::nele::config::Mode;
use crate::nele::event::{Event, Ignored, OwnEvent};
use crate::nele::identity::{Partition, Reading, RebalanceId, Role};
use crate::nele::message::{Record, Request};
use crate::nele::peers::Seen;
use crate::nele::reader::Reader;
use crate::nele::slot::{Phase, Slot};
use crate::nele::words::{Out, emit};
use crate::time::Time;
use crate::view::{LeaderView, View};

impl Nele {
    pub(super) fn observe(&mut self, name: ElectionName, role: Option<Role>, out: &mut Out) {
        let room = self.sight.roles.len();
        let known = role.filter(|role| self.sight.roles.contains_key(role));
        let objection = if known.is_some() { None } else { self.objection(&name, role, room) };
        let (Some(role), None) = (role, &objection) else {
            let why = objection.unwrap_or_else(|| format!("{name} is not known").into());
            return emit(Some(&name), Event::NotObserved { why }, out);
        };
        let silent = self.now.since(self.sight.heard_at) >= self.config.silence();
        if self.sight.roles.is_empty() && silent {
            // Listening begins now.
            self.sight.heard_at = self.now;
            self.sight.since = None;
            self.sight.may_be_stale = true;
        }
        let known = self.sight.roles.get(&role);
        let reported = known.is_some_and(|observation| observation.reported);
        let since = self.now;
        self.sight.roles.insert(role, Observation { since, shown: None, reported });
        self.changed = true;
    }

    /// Notes an answer of the ledger. After a break, listening begins anew.
    pub(super) fn on_ledger_heard(&mut self) {
        if self.sight.is_deaf(self.now, &self.config) {
            self.sight.since = None;
        }
        let knew = self.has_listened();
        self.sight.heard_at = self.now;
        self.sight.since.get_or_insert(self.now);
        self.changed |= knew != self.has_listened();
    }

    /// Whether this process has listened long enough to know every process that may lead.
    fn has_listened(&self) -> bool {
        let until = self.sight.heard_at;
        let since = self.sight.since;
        since.is_some_and(|since| self.peers.is_whole(since, until, &self.config))
    }

    /// Searches for gaps: records between two readings were missed, unless the first reading
    /// brought a record after the second one had begun.
    fn notice_gaps(&mut self) {
        let Self { sight, slots, config, now, .. } = self;
        if sight.gaps.next_search > *now {
            return;
        }
        let lately = now.before(config.silence());
        let plain = sight.reads.as_ref().map(|plain| (plain.partition, plain));
        let all = slots.all.iter().filter_map(|(of, slot)| Some((*of, slot.reads()?))).chain(plain);
        let open = all.filter_map(|(of, reads)| {
            let (found, heard) = reads.heard_within()?;
            (heard >= lately).then_some(((of, reads.reading), found, heard))
        });
        let silent = sight.gaps.silent.map(|silent| (silent.partition, silent.reading));
        let open = open.chain(silent.map(|read| (read, Time::MAX, Time::ZERO)));
        let before = core::mem::take(&mut sight.gaps.open);
        // Time of the last record among the readings that were open before.
        let known = open.clone().filter(|(read, ..)| before.contains(read));
        let until = known.map(|(_, _, heard)| heard).max();
        let mut all = true;
        let mut first = Time::MAX;
        for (read, found, heard) in open {
            first = first.min(heard);
            if before.contains(&read) || until.is_none_or(|until| found <= until) {
                sight.gaps.open.insert(read);
            } else {
                all = false;
            }
        }
        // If all readings belong to slots, search next when the first of them may have fallen
        // silent: slots report all other changes.
        let of_slots = all && sight.reads.is_none() && sight.gaps.silent.is_none();
        sight.gaps.next_search = if of_slots { first.after(config.silence()) } else { Time::ZERO };
        if !before.is_empty() && until.is_none() {
            self.misses();
        }
    }

    /// Reads a partition for observers, if no partition is read for other reasons.
    pub(super) fn look(&mut self, out: &mut Out) {
        let needed = !self.sight.roles.is_empty() && self.halted.is_none();
        let reads = self.slots.all.values().any(Slot::is_read);
        let plain = self.sight.reads.take();
        let plain = match plain {
            Some(plain) if !needed || reads => {
                self.sight.gaps.silent = None;
                self.context(out).1.request(Request::Stop(plain.reading));
                None
            }
            None if needed && !reads => {
                // A leader of the first observed role writes at least to this partition.
                let first = self.sight.roles.keys().next().copied().unwrap_or(Role(0));
                let partition = self.config.partition_of(first);
                let mut context = self.context(out).1;
                Some(Reader::begin(partition, RebalanceId::NONE, &mut context))
            }
            Some(mut plain) => {
                // Try the next partition: every member writes to it, too. If there is only one
                // partition, a slow answer still shows whether a record was written.
                let next = self.next_to_read(plain.partition);
                if plain.is_missed(self.now) && next != plain.partition {
                    plain.partition = next;
                    self.sight.gaps.silent = None;
                }
                plain.run_due(&mut self.context(out).1);
                Some(plain)
            }
            None => None,
        };
        self.sight.reads = plain;
        if needed && self.sight.asks_again(&self.config) <= self.now {
            self.ask_again(out);
        }
        self.notice_gaps();
        if self.sight.is_deaf(self.now, &self.config) {
            let stale = core::mem::take(&mut self.sight.may_be_stale);
            self.changed |= self.sight.since.take().is_some() || stale;
        }
        if self.sight.due(&self.config).is_some_and(|due| due <= self.now) {
            self.changed = true;
        }
    }

    /// Asks the silent ledger whether any record was written: no running process is silent for as
    /// long as `Config::silence`.
    fn ask_again(&mut self, out: &mut Out) {
        self.sight.asked_at = self.now;
        let Some(mut plain) = self.sight.reads.take() else { return };
        if let Some(next) = plain.next() {
            let partition = plain.partition;
            let reading = plain.reading;
            self.sight.gaps.silent = Some(SilentReading { partition, reading, next });
            plain.seek(&mut self.context(out).1);
        }
        self.sight.reads = Some(plain);
    }

    /// Marks a reading as gapless if no record was written since the silent reading before it.
    fn goes_on(&mut self, partition: Partition, reading: Reading, end: u64) {
        if let Some(silent) = self.sight.gaps.silent.take()
            && silent.partition == partition
            && silent.next == end
        {
            self.sight.gaps.open.insert((partition, reading));
        }
    }

    fn next_to_read(&self, partition: Partition) -> Partition {
        Partition((partition.0 + 1) % self.config.partitions)
    }

    pub(super) fn sight_position(
        &mut self,
        reading: Reading,
        end: Result<u64, Arc<str>>,
        out: &mut Out,
    ) {
        let mut plain = self.sight.reads.take();
        let context = self.context(out).1;
        let waited = plain.as_mut().is_some_and(|plain| match &end {
            Ok(end) => plain.found(reading, *end, context.now),
            Err(_) => plain.missed(reading, &context),
        });
        let of = plain.as_ref().map(|plain| plain.partition);
        self.sight.reads = plain;
        self.sight.look_for_gaps();
        if !waited {
            return emit(None, OwnEvent::Ignored(Ignored::OldReading), out);
        }
        if let (Ok(end), Some(of)) = (end, of) {
            self.goes_on(of, reading, end);
            self.on_ledger_heard();
        }
    }

    pub(super) fn sight_broken(&mut self, reading: Reading, out: &mut Out) {
        let Some(mut plain) = self.sight.reads.take() else { return };
        if plain.reading == reading && plain.is_open() {
            let context = self.context(out).1;
            plain.pause(&context);
            self.sight.gaps.silent = None;
            self.misses();
        }
        self.sight.reads = Some(plain);
    }

    /// Notes a record that was not read or not kept. Until this process has listened anew, a role
    /// without a known leader does not count as vacant.
    pub(super) fn misses(&mut self) {
        if self.sight.since.take().is_some() {
            // Views may still show leaders from before the gap.
            self.changed = true;
            self.sight.may_be_stale = true;
        }
    }

    /// Handles records of a reading for observers. Returns whether this reading is the current one.
    pub(super) fn sight_records(
        &mut self,
        reading: Reading,
        records: &[Record],
        out: &mut Out,
    ) -> bool {
        let now = self.now;
        let plain = self.sight.reads.as_mut();
        let plain = plain.filter(|plain| plain.reading == reading && plain.is_open());
        let current = plain.is_some();
        if let (Some(plain), Some(last)) = (plain, records.last()) {
            plain.pass(last.offset);
            plain.hears(now);
        }
        if current {
            self.on_ledger_heard();
        } else {
            emit(None, OwnEvent::Ignored(Ignored::OldReading), out);
        }
        current
    }

    /// Reports new ends of leases, and new times at which leaders were heard, once per publish
    /// interval, when nothing else has changed.
    pub(super) fn tell_renewals(&mut self, out: &mut Out) {
        let due = self.sight.compared_at.after(self.config.publish_interval);
        if !self.sight.roles.is_empty() && due <= self.now {
            self.tell_views(out);
        }
    }

    pub(super) fn tell_views(&mut self, out: &mut Out) {
        self.sight.compared_at = self.now;
        let every = self.config.publish_interval;
        let roles: Vec<_> = self.sight.roles.keys().copied().collect();
        for role in roles {
            let view = self.view(role);
            let Some(observation) = self.sight.roles.get_mut(&role) else { continue };
            let Some(view) = view else { continue };
            let shown = observation.shown.as_ref();
            if shown.is_none_or(|shown| shown.is_outdated_by(&view, every)) {
                observation.shown = Some(view.clone());
                observation.reported = true;
                let election = self.config.election_of(role);
                emit(Some(&election), Event::View(view.into()), out);
            }
        }
    }

    /// The leaders of a role: this process, if it leads, then others, as their own entries describe
    /// them. The role is vacant if this process has listened for long enough to know every leader.
    fn view(&self, role: Role) -> Option<View> {
        let now = self.now;
        let config = &self.config;
        let sight = &self.sight;
        let observation = sight.roles.get(&role)?;
        let own = self.own(role);
        let deaf = sight.is_deaf(now, config);
        let heard = if deaf && own.is_none() { Vec::new() } else { self.others(role) };
        let mut leaders = own.into_iter().chain(heard.into_iter().map(shown));
        if let Some(followed) = leaders.next() {
            let others: Vec<_> = leaders.collect();
            return Some(if others.is_empty() {
                View::Leader(followed)
            } else {
                View::Leaders { followed, others }
            });
        }
        if deaf {
            return Some(View::Unknown { since: sight.heard_at });
        }
        if self.has_listened() {
            return Some(View::Vacant);
        }
        // An unknown leader is reported after `silence`, or at once after an earlier view.
        let early = now.since(observation.since) < config.silence() && !observation.reported;
        (!early).then_some(View::Unknown { since: observation.since })
    }

    fn own(&self, role: Role) -> Option<LeaderView> {
        let campaign = self.slots.get(self.config.partition_of(role))?.campaigns.get(&role)?;
        let Phase::Leading { until, fence, .. } = campaign.phase else { return None };
        let id: Arc<str> = self.config.id.clone().into();
        let view = LeaderView::new(id, campaign.value.clone().into());
        (self.now < until).then_some(LeaderView {
            until: Some(until),
            fence,
            incarnation: Some(self.me.incarnation),
            heard: Some(self.now),
            ..view
        })
    }

    /// The other leaders of a role, first those of this process's group. In `at_most_one` each
    /// group has only its leader with the highest fence.
    fn others(&self, role: Role) -> Vec<Seen> {
        let ours = |group: &ClusterName| *group == self.config.group;
        let mut heard = self.peers.leaders(role, |group| self.config.shows(group));
        let order = |seen: &Seen| core::cmp::Reverse((ours(&seen.group), seen.fence, seen.heard));
        heard.sort_by_key(order);
        if self.config.mode == Mode::AtMostOne {
            let mut groups: Vec<ClusterName> = Vec::new();
            groups.extend(self.own(role).map(|_| self.config.group.clone()));
            heard.retain(|seen| {
                let first = !groups.contains(&seen.group);
                if first {
                    groups.push(seen.group.clone());
                }
                first
            });
        }
        heard
    }
}

fn shown(seen: Seen) -> LeaderView {
    LeaderView {
        fence: seen.fence,
        incarnation: Some(seen.who.incarnation),
        heard: Some(seen.heard),
        ..LeaderView::new(seen.who.id.into(), seen.value.into())
    }
}
