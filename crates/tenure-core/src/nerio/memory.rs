//! The memory with which a grantor starts, the same for state directories, simulators and tests.
//! The directory decides whether written grants still count; `grantor/start.rs` decides how long
//! the grantor waits.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::config::Checked;
use super::epoch::{Document, DocumentError, EpochId, Membership, Origin, Vote};
use super::identity::{Boot, Instance};
use super::record::{GrantRecord, Record};
use super::roster::Entry;
use crate::fence::Fence;
use crate::name::{ElectionName, NodeName};
use crate::time::Time;

/// The memory of a grantor at its start.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Memory {
    pub instance: Instance,
    /// Last boot that was written down; zero if none was.
    pub boot: Boot,
    /// Largest lease length ever allowed and written down.
    pub delta_max: Duration,
    /// `H`: the durable bound on all fences ever accepted.
    pub reserve: Fence,
    /// Trustworthy part of the memory.
    pub kept: Kept,
    /// Memory of each member, as far as it was written down.
    pub roster: Vec<(NodeName, Entry)>,
    /// The epoch that the memory has entered; `None` if the grantor takes the members of its
    /// settings.
    pub membership: Option<Arc<Membership>>,
    /// Whether the grantor enters the epoch of its settings with this start: the memory has
    /// promised something, or is declared new, and names no epoch yet.
    pub enters: bool,
    /// The grantor's vote on the successor of its epoch.
    pub vote: Vote<Arc<Membership>>,
    /// Longest time for which a lease of an earlier epoch may last after a start in another boot of
    /// the machine.
    pub inherited: Duration,
    /// Latest end of a lease of an earlier epoch, on the clock of this boot. Used with
    /// [`Kept::Grants`] only: an election without a record may be held until this instant.
    pub rests_until: Time,
    /// Clock of the machine at this start, in milliseconds since 1970. `None` for a memory that
    /// ends with its process: no document can name such a memory, so its grantor founds without a
    /// document.
    pub wall: Option<u64>,
}

/// The trustworthy part of a grantor's memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Kept {
    /// Empty, as it must be at the very first start of the cluster.
    New,
    /// Everything: the process has ended, and the machine has not restarted since.
    Grants(Vec<GrantRecord>),
    /// Fences but not grants: the machine was restarted, or the table of grants is damaged.
    Reserve,
    /// Nothing: the directory was lost, the grantor keeps no directory, or the cluster is new. The
    /// grantor asks others which of these is true.
    Nothing,
}

/// All grants of this boot of the machine.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct GrantTable {
    /// The epoch that the table names; `None` in a table of epoch 0 that no [`Record::Table`]
    /// began.
    pub epoch: Option<EpochId>,
    /// Instant that the table names: leases of earlier epochs may last until this instant.
    pub until: Time,
    /// The latest grant of each election.
    pub grants: Vec<GrantRecord>,
}

/// The part of a memory that outlives the machine. No field ever goes back, so records may reach
/// the disk in any order.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Durable {
    pub instance: Instance,
    pub boot: Boot,
    /// Largest lease length ever allowed; `None` until the first is written down.
    pub delta_max: Option<Duration>,
    /// `H`; `None` until the memory's first reserve is written.
    pub reserve: Option<Fence>,
    pub standing: EpochStanding,
    /// Longest time for which a lease of an earlier epoch may last after the entry into the present
    /// epoch; zero once all such leases have ended.
    pub inherited: Duration,
    /// Memory of each member, by name.
    pub roster: Vec<(NodeName, Entry)>,
}

/// The epoch of a memory (section 10.6), and its vote there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum EpochStanding {
    /// The memory has entered no epoch.
    Blank {
        /// Start of the memory in milliseconds since 1970, by the clock of its machine.
        wall: u64,
        vote: Vote<Document>,
    },
    /// The memory has entered the epoch of this document.
    Member {
        document: Arc<Document>,
        /// Whether the grantor may grant in this epoch.
        opened: bool,
        vote: Vote<Document>,
    },
}

/// Hashes only the number of a document, which is fast: the model check in `tenure-sim` hashes a
/// memory in each state.
impl Hash for EpochStanding {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Vote { promised, accepted } = self.vote();
        let accepted = accepted.as_ref().map(|(ballot, document)| (*ballot, document.number));
        let number = self.document().map(|document| document.number);
        (number, promised, accepted).hash(state);
    }
}

impl EpochStanding {
    /// The standing of a new memory.
    #[must_use]
    pub const fn blank(instance: Instance) -> Self {
        Self::Blank { wall: instance.born(), vote: Vote::NONE }
    }

    /// The document of the entered epoch.
    #[must_use]
    pub const fn document(&self) -> Option<&Arc<Document>> {
        match self {
            Self::Blank { .. } => None,
            Self::Member { document, .. } => Some(document),
        }
    }

    /// The epoch that a table of grants names if it begins now; `None` in an epoch 0.
    #[must_use]
    pub fn table_epoch(&self) -> Option<EpochId> {
        self.document().filter(|document| document.number > 0).map(|document| document.id())
    }

    /// Whether a table that names this epoch belongs to the epoch of the memory.
    #[must_use]
    pub fn has_table_of(&self, epoch: Option<EpochId>) -> bool {
        let document = self.document();
        match epoch {
            None => document.is_none_or(|document| document.number == 0),
            Some(epoch) => document.is_some_and(|document| document.id() == epoch),
        }
    }

    /// The vote of the memory in its epoch.
    #[must_use]
    pub const fn vote(&self) -> &Vote<Document> {
        match self {
            Self::Blank { vote, .. } | Self::Member { vote, .. } => vote,
        }
    }

    /// Enters the epoch of `document`, unless the memory has entered this epoch or a later one.
    /// True if it enters.
    fn enter(&mut self, document: &Arc<Document>, vote: Vote<Document>) -> bool {
        if self.document().is_some_and(|own| own.number >= document.number) {
            return false;
        }
        // A recovered memory may have voted in the epoch of its settings, but in no later one.
        let is_barred = matches!(self, Self::Blank { vote, .. } if vote.is_barred());
        let vote = if is_barred && document.number == 0 { Vote::BARRED } else { vote };
        // The members of an upgraded epoch grant already.
        let is_open = document.origin == Origin::Upgraded;
        let opened = is_open || matches!(self, Self::Member { opened: true, .. });
        *self = Self::Member { document: Arc::clone(document), opened, vote };
        true
    }

    /// The vote, with its successor as a checked membership.
    fn read_vote(&self, config: &Checked) -> Result<Vote<Arc<Membership>>, DocumentError> {
        let Vote { promised, accepted } = self.vote().clone();
        let accepted = match accepted {
            Some((ballot, document)) => {
                Some((ballot, Membership::read(Arc::new(document), config)?))
            }
            None => None,
        };
        Ok(Vote { promised, accepted })
    }

    /// Merges a vote in `epoch`, if the memory is in that epoch. A blank votes on the founding.
    fn add(&mut self, epoch: EpochId, record: &Vote<Document>) {
        match self {
            Self::Member { document, vote, .. } if document.id() == epoch => vote.merge(record),
            Self::Blank { vote, .. } if epoch == EpochId::NONE => vote.merge(record),
            Self::Blank { .. } | Self::Member { .. } => {}
        }
    }
}

impl Durable {
    /// A memory that begins; `first` if an operator declares the cluster's very first start.
    #[must_use]
    pub fn begin(instance: Instance, first: bool) -> Self {
        let reserve = first.then_some(Fence::NONE);
        let (standing, inherited) = (EpochStanding::blank(instance), Duration::ZERO);
        let (boot, delta_max, roster) = (Boot(0), None, Vec::new());
        Self { instance, boot, delta_max, reserve, standing, inherited, roster }
    }

    /// Whether the memory has promised anything, or takes part in a founding. Such a memory, if an
    /// earlier version wrote it, is in the epoch of its node's settings without naming that epoch.
    fn is_of_member(&self) -> bool {
        let is_own = |entry: &Entry| entry.founder && entry.instance == self.instance;
        self.reserve.is_some() || self.roster.iter().any(|(_, entry)| is_own(entry))
    }

    /// This memory after a recovery: an operator declares that more memories are lost than the
    /// others can make up for. The operator also declares that no process leads any more by leases
    /// of lost memories. A lost memory begins anew, as `begun` or a later instance, with a reserve
    /// above `floor` and without grants. An intact memory only gets its reserve above `floor`.
    #[must_use]
    pub fn recovered(&self, begun: Instance, delta_max: Duration, floor: Fence) -> Self {
        let mut next = self.clone();
        if self.reserve.is_none() {
            let is_later = begun >= self.instance;
            let later = if is_later { None } else { begun.after(self.instance) };
            (next.instance, next.boot) = (later.unwrap_or(begun), Boot(0));
            next.delta_max = self.delta_max.max(Some(delta_max));
            if next.standing.document().is_none() {
                // The lost memory may have voted in the epoch of the settings.
                let (wall, vote) = (next.instance.born(), Vote::BARRED);
                next.standing = EpochStanding::Blank { wall, vote };
            }
        }
        next.reserve = self.reserve.max(Some(floor));
        next
    }

    /// This memory in the epoch of the [survivors](Document::survivors) of its present epoch, with
    /// a reserve above `floor`. The memory's grants and vote are void, and leases of earlier epochs
    /// may last as long as before. A memory that is in that epoch already only gets its reserve
    /// above `floor`.
    #[must_use]
    pub fn survived(&self, document: Arc<Document>, floor: Fence) -> Self {
        let inherited = self.inherited;
        let entered = Record::Entered { document, floor, inherited, votes: true };
        self.with(&entered).unwrap_or_else(|| self.clone())
    }

    /// The number of the epoch that the memory has accepted as the next one, if that epoch leaves
    /// the memory out. The epoch may be decided.
    #[must_use]
    pub fn left_out_in(&self) -> Option<u64> {
        let (_, next) = self.standing.vote().accepted.as_ref()?;
        let is_in = next.seats.iter().any(|seat| seat.instance == Some(self.instance));
        (!is_in).then_some(next.number)
    }

    /// Whether the memory was [`recovered`](Self::recovered), and no grantor has started on it
    /// since.
    #[must_use]
    pub fn is_just_recovered(&self) -> bool {
        self.reserve.is_some() && self.boot == Boot(0)
    }

    /// This memory with the durable part of `record`; `None` for a record that outlives only the
    /// process.
    #[must_use]
    pub fn with(&self, record: &Record) -> Option<Self> {
        let mut next = self.clone();
        match record {
            Record::Identity { instance, boot, delta_max, enters } => {
                next.instance = *instance;
                next.boot = next.boot.max(*boot);
                next.delta_max = next.delta_max.max(Some(*delta_max));
                if let Some(document) = enters {
                    next.standing.enter(document, Vote::NONE);
                }
            }
            Record::Entered { document, floor, inherited, votes } => {
                let vote = if *votes { Vote::NONE } else { Vote::BARRED };
                if next.standing.enter(document, vote) {
                    next.inherited = *inherited;
                }
                next.reserve = next.reserve.max(Some(*floor));
            }
            Record::Vote { epoch, vote } => next.standing.add(*epoch, vote),
            Record::Settled { epoch } => {
                let document = next.standing.document();
                if document.is_some_and(|document| document.id() == *epoch) {
                    next.inherited = Duration::ZERO;
                }
            }
            Record::Reserve { high } => next.reserve = next.reserve.max(Some(*high)),
            Record::Roster(members) => members.iter().for_each(|(name, entry)| {
                match next.roster.iter_mut().find(|(known, _)| known == name) {
                    Some((_, known)) => *known = known.merged(*entry),
                    None => next.roster.push((name.clone(), *entry)),
                }
            }),
            Record::Grant(_)
            | Record::Promise { .. }
            | Record::Forget(_)
            | Record::Table { .. } => return None,
        }
        Some(next)
    }
}

impl Memory {
    /// A memory that has written nothing down and names no epoch.
    #[must_use]
    pub fn begin(instance: Instance, kept: Kept) -> Self {
        Self {
            instance,
            boot: Boot(0),
            delta_max: Duration::ZERO,
            reserve: Fence::NONE,
            enters: kept == Kept::New,
            kept,
            roster: Vec::new(),
            membership: None,
            vote: Vote::NONE,
            inherited: Duration::ZERO,
            rests_until: Time::ZERO,
            wall: None,
        }
    }

    /// The memory for a start on this directory. `first` is an operator's declaration of the
    /// cluster's very first start, which counts for an empty directory only. `grants` are all
    /// grants of this boot of the machine, if complete. Fails if the memory is in an epoch that
    /// does not fit the settings.
    pub fn found(
        durable: &Durable,
        config: &Checked,
        first: bool,
        grants: Option<GrantTable>,
    ) -> Result<Self, DocumentError> {
        let grants = grants.filter(|table| durable.standing.has_table_of(table.epoch));
        let rests_until = grants.as_ref().map_or(Time::ZERO, |table| table.until);
        let grants = grants.map(|table| table.grants);
        let document = durable.standing.document();
        let membership = match document {
            Some(document) => Some(Membership::read(Arc::clone(document), config)?),
            None => None,
        };
        // A memory that has accepted a founding serves by no other founding (founding by document
        // 3.7).
        let is_bound = durable.standing.vote().accepted.is_some();
        let enters = document.is_none() && durable.is_of_member() && !is_bound;
        let kept = match (first, durable.reserve, grants) {
            (true, Some(_), _) => Kept::New,
            (_, None, _) => Kept::Nothing,
            (false, Some(_), Some(grants)) => Kept::Grants(grants),
            (false, Some(_), None) => Kept::Reserve,
        };
        Ok(Self {
            instance: durable.instance,
            boot: durable.boot,
            delta_max: durable.delta_max.unwrap_or_default(),
            reserve: durable.reserve.unwrap_or(Fence::NONE),
            kept,
            roster: durable.roster.clone(),
            membership,
            enters,
            vote: durable.standing.read_vote(config)?,
            inherited: durable.inherited,
            rests_until,
            wall: None,
        })
    }
}

/// The contents of a state directory without files, for simulators and tests, which compare the
/// real directory with it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Remembered {
    /// Part that outlives the machine.
    durable: Durable,
    /// Whether a record that outlives the machine was written.
    written: bool,
    /// Whether the operator declares the next start the cluster's very first.
    pub first: bool,
    /// Grants of this boot of the machine. `None` before the first grant, if earlier grants cannot
    /// be trusted.
    grants: Option<BTreeMap<ElectionName, GrantRecord>>,
    /// Epoch and instant of the last [`Record::Table`] of this boot.
    table: (Option<EpochId>, Time),
}

impl Remembered {
    /// An empty directory, with the memory that the next start begins.
    #[must_use]
    pub fn new(instance: Instance, first: bool) -> Self {
        let (durable, table) = (Durable::begin(instance, first), (None, Time::ZERO));
        Self { durable, written: false, first, grants: None, table }
    }

    /// Writes a record.
    pub fn write(&mut self, record: Record) {
        if let Some(next) = self.durable.with(&record) {
            (self.durable, self.written) = (next, true);
            return;
        }
        match record {
            // After a wait, the first grant shows that all earlier leases have ended.
            Record::Grant(grant) => {
                self.begin_grants();
                let grants = self.grants.get_or_insert_default();
                match grants.get_mut(&grant.election) {
                    Some(kept) => *kept = *grant,
                    None => drop(grants.insert(grant.election.clone(), *grant)),
                }
            }
            Record::Forget(election) => {
                self.grants.as_mut().and_then(|grants| grants.remove(&election));
            }
            Record::Table { epoch, until } => {
                self.table = (Some(epoch), until);
                self.grants = Some(BTreeMap::new());
            }
            Record::Identity { .. }
            | Record::Entered { .. }
            | Record::Vote { .. }
            | Record::Settled { .. }
            | Record::Reserve { .. }
            | Record::Roster(_)
            | Record::Promise { .. } => {}
        }
    }

    /// Makes this the memory after an operator's [recovery](Durable::recovered).
    pub fn recover(&mut self, begun: Instance, delta_max: Duration, floor: Fence) {
        if self.durable.reserve.is_none() || !self.written {
            (self.durable.reserve, self.grants) = (None, None);
        }
        self.durable = self.durable.recovered(begun, delta_max, floor);
        (self.written, self.first) = (true, false);
    }

    /// Makes this the memory of a member that is left after an operator's recovery: see
    /// [`Durable::survived`].
    pub fn survive(&mut self, document: Arc<Document>, floor: Fence) {
        self.durable = self.durable.survived(document, floor);
    }

    /// Notes that this boot of the machine has granted, even if the grant is forgotten. The first
    /// grant after a wait begins a table of the present epoch.
    pub fn begin_grants(&mut self) {
        if self.kept_grants().is_none() {
            self.grants = Some(BTreeMap::new());
            self.table = (self.durable.standing.table_epoch(), Time::ZERO);
        }
    }

    /// The grants that the node's next start would find, unless the machine reboots before.
    fn kept_grants(&self) -> Option<&BTreeMap<ElectionName, GrantRecord>> {
        let is_of_epoch = self.durable.standing.has_table_of(self.table.0);
        self.grants.as_ref().filter(|_| is_of_epoch)
    }

    /// Forgets the grants: the machine was started anew, or the table of grants is damaged.
    pub fn forget_grants(&mut self) {
        self.grants = None;
        self.table.1 = Time::ZERO;
    }

    /// Turns the directory into one of an earlier version, which names no epoch.
    pub fn forget_epoch(&mut self) {
        self.durable.standing = EpochStanding::blank(self.durable.instance);
    }

    /// The memory of the next start with these settings. The declaration of a first start does not
    /// count for a memory with fences. Fails if the memory is in an epoch that does not fit the
    /// settings.
    pub fn memory(&self, config: &Checked) -> Result<Memory, DocumentError> {
        let first = self.first && !self.written;
        let (epoch, until) = self.table;
        let table = |grants: &BTreeMap<_, GrantRecord>| GrantTable {
            epoch,
            until,
            grants: grants.values().cloned().collect(),
        };
        let grants = self.grants.as_ref().map(table);
        Memory::found(&self.durable, config, first, grants)
    }

    /// The part that outlives the machine.
    #[must_use]
    pub const fn durable(&self) -> &Durable {
        &self.durable
    }

    /// Whether a record that outlives the machine was written.
    #[must_use]
    pub const fn is_written(&self) -> bool {
        self.written
    }

    /// The grant of `election`; `None` if the node's next start would not find this grant, even
    /// without a reboot.
    #[must_use]
    pub fn grant(&self, election: &ElectionName) -> Option<&GrantRecord> {
        self.kept_grants()?.get(election)
    }

    /// The number of grants that a start would find; `None` if it must wait for all leases to end.
    #[must_use]
    pub fn grants(&self) -> Option<usize> {
        self.kept_grants().map(BTreeMap::len)
    }
}
