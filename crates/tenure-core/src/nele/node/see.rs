//! Who leads, for those who want to know.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Nele;
use crate::name::{ClusterName, ElectionName};
use crate::nele::config::{Checked, Mode};
use crate::nele::event::{Event, Ignored, OwnEvent};
use crate::nele::heard::Seen;
use crate::nele::identity::{Partition, Reading, RebalanceId, Role};
use crate::nele::message::{Record, Request};
use crate::nele::reads::Reads;
use crate::nele::slot::Phase;
use crate::nele::words::{Out, emit};
use crate::time::Time;
use crate::view::{LeaderView, View};

/// What observers of this process look at.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Sight {
    roles: BTreeMap<Role, Observed>,
    /// The partition that is read for them, where none is read anyway.
    reads: Option<Reads>,
    /// Since when the ledger has been heard without a break.
    since: Option<Time>,
    /// All that is read: what is heard of one of them is heard until none of them is read.
    open: BTreeSet<(Partition, Reading)>,
    /// When it is looked whether there was a gap between them: with a thousand of them not each
    /// time that something is read.
    gaps: Time,
    /// A reading of which nothing came, and what was to come next: whether nothing was written is
    /// asked.
    silent: Option<(Partition, Reading, u64)>,
    /// Somebody looks since then, and may be shown what was heard before.
    looks: bool,
    /// When it was heard last, or when somebody began to look.
    alive: Time,
    /// When it was asked last because it was silent.
    asked: Time,
}

/// A role that is looked at.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Observed {
    /// Since when.
    since: Time,
    /// What was told last, since then.
    shown: Option<View>,
    /// Something was told, now or before: what is not known is told at once, too.
    told: bool,
}

impl Sight {
    pub(super) fn unobserve(&mut self, role: Role) {
        self.roles.remove(&role);
    }

    /// What is read has changed.
    pub(super) const fn looks_for_gaps(&mut self) {
        self.gaps = Time::ZERO;
    }

    /// How a partition is read for those that look, if it is.
    pub(super) const fn reads(&self) -> Option<&Reads> {
        self.reads.as_ref()
    }

    /// Nobody looks any more. Gives those that did.
    pub(super) fn close(&mut self) -> Vec<Role> {
        core::mem::take(&mut self.roles).into_keys().collect()
    }

    /// When something has to be done because nothing was heard, or something can be told.
    pub(super) fn due(&self, config: &Checked) -> Option<Time> {
        if self.roles.is_empty() {
            return None;
        }
        let seek = self.reads.as_ref().and_then(|reads| reads.due());
        let silent = self.alive.max(self.asked).after(config.silence());
        let knows = self.since.is_some() || self.looks;
        let deaf = knows.then(|| self.alive.after(config.silence().saturating_mul(2)));
        let unshown = self.roles.values().filter(|observed| observed.shown.is_none());
        let first = unshown.map(|observed| observed.since.after(config.silence())).min();
        [seek, Some(silent), deaf, first].into_iter().flatten().min()
    }

    fn is_deaf(&self, now: Time, config: &Checked) -> bool {
        now.since(self.alive) >= config.silence().saturating_mul(2)
    }
}

impl Nele {
    pub(super) fn observe(&mut self, name: ElectionName, role: Option<Role>, out: &mut Out) {
        let room = self.sight.roles.len();
        let known = role.filter(|role| self.sight.roles.contains_key(role));
        let objection = match known {
            Some(_) => None,
            None => self.objection(&name, role, room),
        };
        let (Some(role), None) = (role, &objection) else {
            let why = objection.unwrap_or_else(|| format!("{name} is not known").into());
            return emit(Some(&name), Event::NotObserved { why }, out);
        };
        let silent = self.now.since(self.sight.alive) >= self.config.silence();
        if self.sight.roles.is_empty() && silent {
            // What is read from now on is all that is known.
            (self.sight.alive, self.sight.since, self.sight.looks) = (self.now, None, true);
        }
        let told = self.sight.roles.get(&role).is_some_and(|asked| asked.told);
        let since = self.now;
        self.sight.roles.insert(role, Observed { since, shown: None, told });
        self.changed = true;
    }

    /// The ledger was heard. After a break, what was not heard is not known.
    pub(super) fn is_there(&mut self) {
        if self.sight.is_deaf(self.now, &self.config) {
            self.sight.since = None;
        }
        let knew = self.has_listened();
        self.sight.alive = self.now;
        self.sight.since.get_or_insert(self.now);
        self.changed |= knew != self.has_listened();
    }

    /// Whether all who could lead would have been heard, up to when something was heard last.
    fn has_listened(&self) -> bool {
        let until = self.sight.alive;
        let since = self.sight.since;
        since.is_some_and(|since| self.heard.is_whole((since, until), &self.config))
    }

    /// What was said while nothing was read was missed: that is so between two readings, unless the
    /// first one brought something after the second one had begun.
    fn notice_gaps(&mut self) {
        let Self { sight, slots, config, now, .. } = self;
        if sight.gaps > *now {
            return;
        }
        let lately = now.before(config.silence());
        let plain = sight.reads.as_ref().map(|plain| (plain.partition, plain));
        let all = slots.iter().filter_map(|(of, slot)| Some((*of, slot.reads()?))).chain(plain);
        let open = all.filter_map(|(of, reads)| {
            let (found, heard) = reads.heard_within()?;
            (heard >= lately).then_some(((of, reads.reading), found, heard))
        });
        let open =
            open.chain(sight.silent.map(|(of, read, _)| ((of, read), Time::MAX, Time::ZERO)));
        let before = core::mem::take(&mut sight.open);
        // Until when something was heard of one of those that were read.
        let known = open.clone().filter(|(read, ..)| before.contains(read));
        let until = known.map(|(_, _, heard)| heard).max();
        let (mut all, mut first) = (true, Time::MAX);
        for (read, found, heard) in open {
            first = first.min(heard);
            if before.contains(&read) || until.is_none_or(|until| found <= until) {
                sight.open.insert(read);
            } else {
                all = false;
            }
        }
        // Those of slots say when they change; without that, one falls silent next.
        let of_slots = all && sight.reads.is_none() && sight.silent.is_none();
        sight.gaps = if of_slots { first.after(config.silence()) } else { Time::ZERO };
        if !before.is_empty() && until.is_none() {
            self.misses();
        }
    }

    /// Reads a partition where none is read anyway, while somebody looks.
    pub(super) fn look(&mut self, out: &mut Out) {
        let needed = !self.sight.roles.is_empty() && self.halted.is_none();
        let reads = self.slots.values().any(super::Slot::is_read);
        let plain = self.sight.reads.take();
        let plain = match plain {
            Some(plain) if !needed || reads => {
                self.sight.silent = None;
                self.context(out).1.request(Request::Stop(plain.reading));
                None
            }
            None if needed && !reads => {
                // Where a leader of the role must be read: another may be out of its reach.
                let first = self.sight.roles.keys().next().copied().unwrap_or(Role(0));
                let partition = self.config.partition_of(first);
                let mut context = self.context(out).1;
                Some(Reads::begin(partition, RebalanceId::NONE, &mut context))
            }
            Some(mut plain) => {
                // Every member writes to the next one, too. Where there is no other, a slow answer
                // still says whether anything was written meanwhile.
                let next = self.next_to_read(plain.partition);
                if plain.is_missed(self.now) && next != plain.partition {
                    plain.partition = next;
                    self.sight.silent = None;
                }
                plain.work(&mut self.context(out).1);
                Some(plain)
            }
            None => None,
        };
        self.sight.reads = plain;
        let silent = self.sight.alive.max(self.sight.asked).after(self.config.silence());
        if needed && silent <= self.now {
            self.ask_again(out);
        }
        self.notice_gaps();
        if self.sight.is_deaf(self.now, &self.config) {
            let looked = core::mem::take(&mut self.sight.looks);
            self.changed |= self.sight.since.take().is_some() || looked;
        }
        if self.sight.due(&self.config).is_some_and(|due| due <= self.now) {
            self.changed = true;
        }
    }

    /// Nothing was heard for so long that somebody would have been: it is asked whether that is so.
    fn ask_again(&mut self, out: &mut Out) {
        self.sight.asked = self.now;
        let Some(mut plain) = self.sight.reads.take() else { return };
        if let Some(next) = plain.next() {
            self.sight.silent = Some((plain.partition, plain.reading, next));
            plain.seek(&mut self.context(out).1);
        }
        self.sight.reads = Some(plain);
    }

    /// Nothing was written to what is read since it was read last: reading goes on.
    fn goes_on(&mut self, partition: Partition, reading: Reading, end: u64) {
        if let Some((of, _, next)) = self.sight.silent.take()
            && (of, next) == (partition, end)
        {
            self.sight.open.insert((partition, reading));
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
        self.sight.looks_for_gaps();
        match (waited, end, of) {
            (true, Ok(end), Some(of)) => {
                self.goes_on(of, reading, end);
                self.is_there();
            }
            (true, ..) => {}
            (false, ..) => emit(None, OwnEvent::Ignored(Ignored::OldReading), out),
        }
    }

    pub(super) fn sight_broken(&mut self, reading: Reading, out: &mut Out) {
        let Some(mut plain) = self.sight.reads.take() else { return };
        if plain.reading == reading && plain.is_open() {
            let context = self.context(out).1;
            plain.pause(&context);
            self.sight.silent = None;
            self.misses();
        }
        self.sight.reads = Some(plain);
    }

    /// Somebody may have said something that was not read, or not kept: what is not known of is not
    /// known to be vacant, until it has been listened for once more.
    pub(super) fn misses(&mut self) {
        if self.sight.since.take().is_some() {
            // What was heard before may be shown still.
            (self.changed, self.sight.looks) = (true, true);
        }
    }

    /// Whether what was read for observers is of this reading.
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
        match current {
            true => self.is_there(),
            false => emit(None, OwnEvent::Ignored(Ignored::OldReading), out),
        }
        current
    }

    /// Tells observers what has changed.
    pub(super) fn tell_views(&mut self, out: &mut Out) {
        let roles: Vec<_> = self.sight.roles.keys().copied().collect();
        for role in roles {
            let view = self.view(role);
            let Some(observed) = self.sight.roles.get_mut(&role) else { continue };
            let Some(view) = view else { continue };
            let same = observed.shown.as_ref().is_some_and(|shown| shown.is_same(&view));
            if !same {
                (observed.shown, observed.told) = (Some(view.clone()), true);
                let election = self.config.election_of(role);
                emit(Some(&election), Event::View(view.into()), out);
            }
        }
    }

    /// Who leads: this process, if it does, then others as they say. Vacant is what one says that
    /// has listened for as long as anybody could lead who was not heard.
    fn view(&self, role: Role) -> Option<View> {
        let (now, config, sight) = (self.now, &self.config, &self.sight);
        let observed = sight.roles.get(&role)?;
        let own = self.own(role);
        let deaf = sight.is_deaf(now, config);
        let heard = if deaf && own.is_none() { Vec::new() } else { self.others(role) };
        let mut leaders = own.into_iter().chain(heard.into_iter().map(shown));
        if let Some(followed) = leaders.next() {
            let others: Vec<_> = leaders.collect();
            return Some(match others.is_empty() {
                true => View::Leader(followed),
                false => View::Leaders { followed, others },
            });
        }
        match self.has_listened() {
            _ if deaf => Some(View::Unknown { since: sight.alive }),
            true => Some(View::Vacant),
            // Nothing is said at first, unless a leader was shown who may have ended.
            false if now.since(observed.since) < config.silence() && !observed.told => None,
            false => Some(View::Unknown { since: observed.since }),
        }
    }

    fn own(&self, role: Role) -> Option<LeaderView> {
        let campaign = self.slots.get(&self.config.partition_of(role))?.campaigns.get(&role)?;
        let Phase::Leading { until, fence, .. } = campaign.phase else { return None };
        let id: Arc<str> = self.config.id.clone().into();
        let view = LeaderView::new(id, campaign.value.clone().into());
        let incarnation = Some(self.me.incarnation);
        let heard = Some(self.now);
        (self.now < until).then_some(LeaderView {
            until: Some(until),
            fence,
            incarnation,
            heard,
            ..view
        })
    }

    /// The others that lead a role: of the own group first. Of several at most one is right in
    /// `at_most_one`, the one with the highest fence.
    fn others(&self, role: Role) -> Vec<Seen> {
        let ours = |group: &ClusterName| *group == self.config.group;
        let mut heard = self.heard.leaders(role, |group| self.config.shows(group));
        let order = |seen: &Seen| core::cmp::Reverse((ours(&seen.group), seen.fence, seen.heard));
        heard.sort_by_key(order);
        if self.config.mode == Mode::AtMostOne {
            heard.truncate(if self.own(role).is_some() { 0 } else { 1 });
        }
        heard
    }
}

fn shown(seen: Seen) -> LeaderView {
    let view = LeaderView::new(seen.who.id.into(), seen.value.into());
    let (incarnation, heard) = (Some(seen.who.incarnation), Some(seen.heard));
    LeaderView { fence: seen.fence, incarnation, heard, ..view }
}
