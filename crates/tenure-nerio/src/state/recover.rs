//! Recovery of state directories by an operator when more of them are lost than the others can make
//! up for: see `docs/decisions/recover.md`.
//!
//! An operator edits the directory while no node holds it. A lost directory gets a new memory, with
//! a floor of fences and without grants. Its node waits for the longest lease to end, and then
//! serves. An intact directory keeps its contents, and its next fences are above the floor, too.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure::clock;
use tenure::state::{Directory, Opening, StateError};
use tenure_core::nerio::{Boot, DocumentError, Durable, Instance, Origin};
use tenure_core::{Fence, NodeName, Text, WallTime};

use super::identity::{IDENTITY, Identity, new_instance};
use super::survivors::{SurvivorsEpoch, list};
use super::{Grantor, LAYOUT, MemoryError, WriteError, check};

/// An operator's declaration about a state directory of an upgraded epoch 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recovery {
    pub is_lost: bool,
    /// The members that are not lost.
    pub whole: Vec<NodeName>,
    /// Epoch 0 of the settings.
    pub own: SurvivorsEpoch,
    /// The epoch that the first member named to the others; `None` for the first member.
    pub epoch: Option<SurvivorsEpoch>,
    pub delta_max: Duration,
    /// Floor above which fences begin. `None` means the number of milliseconds since 1970, or the
    /// reserve of the directory if that is larger.
    pub floor: Option<Fence>,
}

/// The directory after a recovery.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edited {
    pub floor: Fence,
    /// Reserve before the recovery; `None` if the directory was lost.
    pub before: Option<Fence>,
    pub instance: Instance,
}

/// The reason why a recovery failed: nothing was done, or the result may not be durable.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError {
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error(
        "state directory {path} of node {node} is not lost: it was started {starts} times, with \
         fences up to {held} (memory {instance}); if this is the right directory, leave {node} out \
         of --lost; if {node} was recovered before and has run since, start {node}"
    )]
    Whole { path: PathBuf, node: NodeName, instance: Instance, starts: Boot, held: Fence },
    #[error(
        "state directory {path} of node {node} remembers nothing, and {node} is not among the \
         lost; if only the disk of {node} is not mounted, mount it; if the directory is lost, add \
         {node} to --lost, on every member"
    )]
    Lost { path: PathBuf, node: NodeName },
    /// Members that are not lost may be in a later epoch, which only their directories show.
    #[error(
        "state directory {path} of node {node} is lost, but the directories of {whole} are not: \
         they know the fences, and whether members were changed; run the command first on a \
         machine with such a directory ({whole}), then run here the command that it prints. Name \
         in --lost also the members that never come back. If the directories of all members are \
         empty, the cluster is new: start all nodes"
    )]
    First { path: PathBuf, node: NodeName, whole: String },
    #[error(
        "the first run recovered epoch {given}, and the settings here give epoch {own}; give the \
         members, quorums and drift with which the command ran first"
    )]
    Settings { given: SurvivorsEpoch, own: SurvivorsEpoch },
    #[error(
        "state directory {path} of node {node} is in epoch 0 of {members} with the quorums \
         {quorums}, and the settings here have others; if members were changed, run the command \
         first on a member that knows of the last change; if not, give the members, quorums and \
         drift of that epoch"
    )]
    OtherMembers { path: PathBuf, node: NodeName, members: String, quorums: Text },
    /// A [`Recovery`] is only for an upgraded epoch 0. [`Survival`](super::Survival) is for other
    /// epochs.
    #[error(
        "state directory {path} of node {node} is in epoch {epoch}, as the members were changed \
         meanwhile; run the command again"
    )]
    Changed { path: PathBuf, node: NodeName, epoch: u64 },
    #[error(
        "state directory {path} of node {node} knows nothing of epoch {epoch}, which the other \
         members recover; if only the disk of {node} is not mounted, mount it; if the directory is \
         lost, run the command on the other members once more, with --lost {node} and without \
         --epoch"
    )]
    Nothing { path: PathBuf, node: NodeName, epoch: u64 },
    #[error(
        "state directory {path} of node {node} is in epoch {found}, which is earlier than the \
         recovered epoch {given}; leave the directory as it is, and start {node} with the others: \
         {node} follows them if one of them is a member of epoch {found}. If none is, stop all \
         nodes, and run the command on the others once more, with --lost {node} and without \
         --epoch. Then move this directory away, and add {node} with an empty one"
    )]
    Earlier { path: PathBuf, node: NodeName, found: u64, given: u64 },
    #[error(
        "state directory {path} of node {node} is in epoch {found}, which is later than the \
         recovered epoch {given}; run the command here without --epoch, then run on the others \
         what it prints"
    )]
    Later { path: PathBuf, node: NodeName, found: u64, given: u64 },
    /// Nodes on directories that were made anew would elect a leader of their own in epoch 0.
    #[error(
        "state directory {path} of node {node} is in epoch {found}, which is later than the \
         recovered epoch 0; delete each directory that the command has reported as made anew: with \
         the members of epoch 0, nodes on these directories would elect a leader of their own. \
         Then run the command here without --epoch, and run on the others what it prints"
    )]
    Begun { path: PathBuf, node: NodeName, found: u64 },
    /// The vote does not show whether the epoch `next` is decided.
    #[error(
        "state directory {path} of node {node} has voted for epoch {next}, which leaves {node} out \
         or gives its place to another state directory; leave this directory alone, and run the \
         command on a member of epoch {next}; if no such member has its directory left, found the \
         cluster anew, as docs/howto/lost-quorum.md says"
    )]
    LeftOut { path: PathBuf, node: NodeName, next: u64 },
    #[error(
        "the members list here names {names}, but state directory {path} is in epoch {epoch}, \
         which has no such members; if they are members of a later epoch, run the command first on \
         one of them; if not, take them out of the list"
    )]
    Unknown { path: PathBuf, epoch: u64, names: String },
    #[error(
        "state directory {path} of node {node} would enter another epoch than --epoch names: one \
         after epoch {of}, with the members {members}; give --lost and --quorums as the first run \
         printed them; if the directory was recovered otherwise before, move it away, start {node} \
         with an empty one, and run tenure members replace {node}"
    )]
    Differs { path: PathBuf, node: NodeName, of: u64, members: String },
    #[error(
        "state directory {path} of node {node} is not lost: it is in epoch {epoch}; leave {node} \
         out of --lost, on every member; if {node} must not come back, leave its directory alone"
    )]
    Own { path: PathBuf, node: NodeName, epoch: u64 },
    #[error(
        "{name} is no member of epoch {epoch}, in which state directory {path} is. That epoch has \
         the members {members}; name in --lost the members of epoch {epoch} that never come back"
    )]
    NoMember { path: PathBuf, epoch: u64, name: NodeName, members: String },
    #[error(
        "no recovery is needed: without {lost} a quorum of epoch {epoch} is left, {left}; start \
         {left}, and replace each of {lost} by a node with an empty state directory (tenure \
         members replace); or name all members that never come back"
    )]
    Quorum { epoch: u64, left: String, lost: String },
    #[error(
        "the epoch of the members that are left is made already, with the quorums {has}; leave out \
         --quorums, and set other quorums with the next change of members (tenure members add \
         --quorums)"
    )]
    Quorums { has: Text },
    #[error(
        "the members of epoch {epoch} that are left cannot form the next epoch: {why}; give their \
         quorum system with --quorums, the same on every member"
    )]
    Document { epoch: u64, why: DocumentError },
    #[error(
        "a fence floor of {floor} is too low: state directory {path} of node {node} has promised \
         fences up to {held} already; give --fence-floor {held} or more, the same on every member"
    )]
    TooLow { path: PathBuf, node: NodeName, floor: Fence, held: Fence },
    #[error(
        "a fence floor of {floor} is too high: fences go on above it, and JSON has exact numbers \
         up to {max} only; give a lower floor"
    )]
    TooHigh { floor: Fence, max: Fence },
    /// The write failed, so either the earlier or the new memory is on disk. Try again.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl Recovery {
    /// The highest floor that an operator may give. JSON has exact numbers up to twice this floor,
    /// so half of them are left to the fences above the floor.
    pub const FLOOR_MAX: Fence = Fence::new(1 << 52);
    /// The highest reserve of a directory: see [`RecoveryError::TooHigh`].
    const HELD_MAX: Fence = Fence::new((1 << 53) - 1);

    /// Edits the directory of `grantor`. Returns an error and changes nothing if the directory
    /// differs from the declaration, if a node holds it, if it is in another epoch than the
    /// settings, or if it has promised fences above the floor. The same holds for a lost directory
    /// if an intact directory must be recovered first. A repetition may only raise the floor.
    pub fn carry_out(&self, path: &Path, grantor: &Grantor) -> Result<Edited, RecoveryError> {
        if let Some(given) = self.epoch.filter(|given| *given != self.own) {
            return Err(RecoveryError::Settings { given, own: self.own });
        }
        if is_missing(path)? {
            self.may_begin(path, grantor)?;
        }
        let directory = Directory::open(path, &LAYOUT).map_err(MemoryError::from)?;
        let found = Identity::read(&directory).map_err(MemoryError::from)?;
        let found = match found {
            Some(identity) => Some(check(&directory, Opening::Existing, grantor, identity)?),
            None => None,
        };
        let known = found.as_ref().map(|identity| &identity.durable);
        if let Some(document) = known.and_then(|durable| durable.standing.document()) {
            let fits = document.check(&grantor.cluster, document.drift);
            let other = |why| MemoryError::OtherDocument { path: path.to_owned(), why };
            fits.map_err(other)?;
            if document.origin != Origin::Upgraded {
                let (path, node) = (path.to_owned(), grantor.node.clone());
                return Err(RecoveryError::Changed { path, node, epoch: document.number });
            }
            if document.id().digest != self.own.digest {
                return Err(RecoveryError::OtherMembers {
                    path: path.to_owned(),
                    node: grantor.node.clone(),
                    members: list(&document.names()),
                    quorums: document.quorums.clone(),
                });
            }
        }
        if let Some(next) = known.and_then(Durable::left_out_in) {
            let (path, node) = (path.to_owned(), grantor.node.clone());
            return Err(RecoveryError::LeftOut { path, node, next });
        }
        let before = known.and_then(|durable| durable.reserve);
        match (known, before) {
            (Some(durable), Some(held)) if self.is_lost && !durable.is_just_recovered() => {
                return Err(RecoveryError::Whole {
                    path: path.to_owned(),
                    node: grantor.node.clone(),
                    instance: durable.instance,
                    starts: durable.boot,
                    held,
                });
            }
            (_, Some(_)) if !self.is_lost => {}
            _ => self.may_begin(path, grantor)?,
        }
        let wall = clock::wall();
        let floor = self.floor(path, grantor, known, wall)?;
        let identity = match found {
            Some(identity) => identity,
            None => Identity::begin(grantor, false)?,
        };
        let begun = match before {
            Some(_) => identity.durable.instance,
            None => new_instance(wall)?,
        };
        let durable = identity.durable.recovered(begun, self.delta_max, floor);
        let instance = durable.instance;
        directory.sign().map_err(MemoryError::from)?;
        IDENTITY.write(&directory, &Identity { durable, ..identity }).map_err(WriteError::from)?;
        Ok(Edited { floor, before, instance })
    }

    /// Checks whether a directory that remembers nothing may be made anew.
    fn may_begin(&self, path: &Path, grantor: &Grantor) -> Result<(), RecoveryError> {
        let (path, node) = (|| path.to_owned(), || grantor.node.clone());
        if !self.is_lost {
            return Err(RecoveryError::Lost { path: path(), node: node() });
        }
        if self.epoch.is_none() && !self.whole.is_empty() {
            let whole = list(&self.whole);
            return Err(RecoveryError::First { path: path(), node: node(), whole });
        }
        Ok(())
    }

    fn floor(
        &self,
        path: &Path,
        grantor: &Grantor,
        known: Option<&Durable>,
        wall: WallTime,
    ) -> Result<Fence, RecoveryError> {
        let held = known.and_then(|durable| durable.reserve).unwrap_or(Fence::NONE);
        let roster = known.into_iter().flat_map(|durable| &durable.roster);
        let born = roster.map(|(_, entry)| entry.instance.born()).max();
        Floor { given: self.floor, held, born }.find(path, &grantor.node, wall)
    }
}

/// The sources of a floor.
pub(super) struct Floor {
    pub(super) given: Option<Fence>,
    /// Reserve of the directory.
    pub(super) held: Fence,
    /// Start of the latest known memory of any member, in milliseconds since 1970. The clocks of
    /// other machines may have been ahead of this machine's clock.
    pub(super) born: Option<u64>,
}

impl Floor {
    /// The floor for the directory of `node`, at the time `wall`.
    pub(super) fn find(
        self,
        path: &Path,
        node: &NodeName,
        wall: WallTime,
    ) -> Result<Fence, RecoveryError> {
        let Self { given, held, born } = self;
        let floor = match given {
            Some(floor) if floor < held => {
                let (path, node) = (path.to_owned(), node.clone());
                return Err(RecoveryError::TooLow { path, node, floor, held });
            }
            Some(floor) => floor,
            None => {
                let now = new_instance(wall)?.born();
                held.max(Fence::new(now.max(born.unwrap_or_default())))
            }
        };
        let max = if floor > held { Recovery::FLOOR_MAX } else { Recovery::HELD_MAX };
        if floor > max { Err(RecoveryError::TooHigh { floor, max }) } else { Ok(floor) }
    }
}

pub(super) fn is_missing(path: &Path) -> Result<bool, MemoryError> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(false),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(StateError::io("open state directory", path, error).into()),
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;
    use tenure_core::nerio::Record;

    use super::*;
    use crate::state::tests::config;
    use crate::state::tests::epochs::entry;
    use crate::state::{Grants, Memory, StateDir};

    fn grantor(node: &str) -> Grantor {
        Grantor { cluster: "c".parse().unwrap(), node: node.parse().unwrap() }
    }

    /// The declaration for a member that is not the first.
    fn recovery(is_lost: bool, floor: u64) -> Recovery {
        let own = SurvivorsEpoch { of: 0, digest: config().membership().id().digest };
        let (whole, epoch) = (vec!["c".parse().unwrap()], Some(own));
        let (delta_max, floor) = (Duration::from_secs(10), Some(Fence::new(floor)));
        Recovery { is_lost, whole, own, epoch, delta_max, floor }
    }

    /// The directory of a, which has started with this reserve.
    fn started(parent: &TempDir, reserve: Option<u64>) -> PathBuf {
        let path = parent.path().join("a");
        let opening = if reserve.is_some() { Opening::New } else { Opening::Existing };
        let (mut state, found) = StateDir::open(&path, opening, &grantor("a")).unwrap();
        let instance = found.durable.instance;
        let boot = Boot(3);
        let delta_max = Duration::from_secs(20);
        let identity = Record::Identity { instance, boot, delta_max, enters: None };
        state.write(&identity).unwrap();
        if let Some(reserve) = reserve {
            state.write(&Record::Reserve { high: Fence::new(reserve) }).unwrap();
        }
        path
    }

    fn next_start(path: &Path) -> super::super::Recovered {
        StateDir::open(path, Opening::Existing, &grantor("a")).unwrap().1
    }

    #[test]
    fn lost_directory_begins_at_floor() {
        let parent = tempfile::tempdir().unwrap();
        let missing = parent.path().join("a");
        let edited = recovery(true, 5_000).carry_out(&missing, &grantor("a")).unwrap();
        assert_eq!((edited.floor, edited.before), (Fence::new(5_000), None));
        let next = next_start(&missing);
        let reserve = Fence::new(5_000);
        assert_eq!(next.memory, Memory::Kept { reserve, grants: Grants::Missing });
        assert_eq!(next.durable.delta_max, Some(Duration::from_secs(10)));
        assert_eq!(next.durable.instance, edited.instance);
    }

    /// A memory that never served may be begun anew, because no other member has written it down.
    #[test]
    fn vain_memory_is_begun_anew() {
        let parent = tempfile::tempdir().unwrap();
        let path = started(&parent, None);
        let before = next_start(&path);
        assert_eq!(before.memory, Memory::Lost);
        let edited = recovery(true, 5_000).carry_out(&path, &grantor("a")).unwrap();
        assert!(edited.instance > before.durable.instance);
        let next = next_start(&path);
        assert!(matches!(next.memory, Memory::Kept { grants: Grants::Missing, .. }));
        assert_eq!(next.durable.delta_max, Some(Duration::from_secs(20)), "it never shrinks");
    }

    #[test]
    fn whole_directory_keeps_content() {
        let parent = tempfile::tempdir().unwrap();
        let path = started(&parent, Some(1_030));
        let before = next_start(&path).durable;
        let edited = recovery(false, 5_000).carry_out(&path, &grantor("a")).unwrap();
        assert_eq!(edited.before, Some(Fence::new(1_030)));
        let reserve = Some(Fence::new(5_000));
        assert_eq!(next_start(&path).durable, Durable { reserve, ..before });
    }

    #[test]
    fn wrong_statement_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let path = started(&parent, Some(1_030));
        let before = next_start(&path).durable;
        let refused = recovery(true, 5_000).carry_out(&path, &grantor("a"));
        assert!(matches!(refused, Err(RecoveryError::Whole { .. })), "{refused:?}");
        assert_eq!(next_start(&path).durable, before);

        let missing = parent.path().join("b");
        let refused = recovery(false, 5_000).carry_out(&missing, &grantor("b"));
        assert!(matches!(refused, Err(RecoveryError::Lost { .. })), "{refused:?}");
        assert!(!missing.exists(), "nothing is made where a disk may not be mounted");
        fs::create_dir(&missing).unwrap();
        let refused = recovery(false, 5_000).carry_out(&missing, &grantor("b"));
        assert!(matches!(refused, Err(RecoveryError::Lost { .. })), "{refused:?}");
    }

    /// The first recovery must be that of a member that is left: only such members know whether
    /// members were changed.
    #[test]
    fn lost_directory_begins_not_first() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a");
        let first = Recovery { epoch: None, ..recovery(true, 5_000) };
        let refused = |path: &Path| first.carry_out(path, &grantor("a")).unwrap_err();
        assert!(matches!(refused(&path), RecoveryError::First { .. }), "{}", refused(&path));
        assert!(!path.exists(), "nothing is made");
        let path = started(&parent, None);
        assert!(refused(&path).to_string().contains("but the directories of c are not: they know"));
        let all = Recovery { whole: Vec::new(), ..first.clone() };
        all.carry_out(&path, &grantor("a")).unwrap();
        assert!(matches!(refused(&path), RecoveryError::First { .. }), "it is made anew again");
    }

    #[test]
    fn other_settings_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        let path = started(&parent, Some(1_030));
        let (mut state, _) = StateDir::open(&path, Opening::Existing, &grantor("a")).unwrap();
        state.write(&entry(0, Fence::NONE)).unwrap();
        drop(state);
        let before = next_start(&path).durable;
        let other = SurvivorsEpoch { of: 0, digest: 7 };
        let told = Recovery { epoch: Some(other), ..recovery(false, 5_000) };
        let refused = told.carry_out(&path, &grantor("a"));
        assert!(matches!(refused, Err(RecoveryError::Settings { .. })), "{refused:?}");
        // The settings list members of a later epoch, which the directory of a has not entered.
        let listed = Recovery { own: other, epoch: None, ..recovery(false, 5_000) };
        let refused = listed.carry_out(&path, &grantor("a"));
        assert!(matches!(refused, Err(RecoveryError::OtherMembers { .. })), "{refused:?}");
        assert_eq!(next_start(&path).durable, before);
    }

    /// The directory is in a later epoch. Recovery is refused, because a lost member would begin
    /// again in epoch 0.
    #[test]
    fn changed_members_are_not_recovered() {
        let parent = tempfile::tempdir().unwrap();
        let path = started(&parent, Some(1_030));
        let (mut state, _) = StateDir::open(&path, Opening::Existing, &grantor("a")).unwrap();
        state.write(&entry(0, Fence::NONE)).unwrap();
        drop(state);
        recovery(false, 1_030).carry_out(&path, &grantor("a")).unwrap();
        let (mut state, _) = StateDir::open(&path, Opening::Existing, &grantor("a")).unwrap();
        state.write(&entry(1, Fence::NONE)).unwrap();
        drop(state);
        let before = next_start(&path).durable;
        for is_lost in [false, true] {
            let refused = recovery(is_lost, 5_000).carry_out(&path, &grantor("a"));
            assert!(matches!(refused, Err(RecoveryError::Changed { epoch: 1, .. })), "{refused:?}");
        }
        assert_eq!(next_start(&path).durable, before);
    }

    #[test]
    fn foreign_or_held_directory_is_kept() {
        let parent = tempfile::tempdir().unwrap();
        let path = started(&parent, Some(7));
        let refused = recovery(false, 5_000).carry_out(&path, &grantor("b")).unwrap_err();
        assert!(refused.to_string().contains("belongs to node a"), "{refused}");
        let (_held, _) = StateDir::open(&path, Opening::Existing, &grantor("a")).unwrap();
        let refused = recovery(false, 5_000).carry_out(&path, &grantor("a")).unwrap_err();
        assert!(refused.to_string().contains("is in use by"), "{refused}");
    }

    #[test]
    fn floor_is_above_promises_and_exact() {
        let parent = tempfile::tempdir().unwrap();
        let path = started(&parent, Some(1_030));
        let refused = recovery(false, 1_029).carry_out(&path, &grantor("a")).unwrap_err();
        assert!(refused.to_string().contains("give --fence-floor 1030 or more"), "{refused}");
        recovery(false, 1_030).carry_out(&path, &grantor("a")).unwrap();
        let refused = recovery(false, 1 << 53).carry_out(&path, &grantor("a"));
        assert!(matches!(refused, Err(RecoveryError::TooHigh { .. })), "{refused:?}");
        let high = Recovery::FLOOR_MAX.number();
        let refused = recovery(false, high + 1).carry_out(&path, &grantor("a"));
        assert!(matches!(refused, Err(RecoveryError::TooHigh { .. })), "{refused:?}");
        recovery(false, high).carry_out(&path, &grantor("a")).unwrap();
    }

    /// If the reserve is above the highest floor, an operator may still give the reserve as the
    /// floor.
    #[test]
    fn high_reserve_is_its_floor() {
        let parent = tempfile::tempdir().unwrap();
        let promised = Recovery::FLOOR_MAX.number() + 1_024;
        let path = started(&parent, Some(promised));
        let own = Recovery { floor: None, ..recovery(false, 0) };
        assert_eq!(own.carry_out(&path, &grantor("a")).unwrap().floor, Fence::new(promised));
    }

    /// Recovery may be repeated with a higher floor: the first recovery may have been interrupted,
    /// or another member may hold a higher fence.
    #[test]
    fn recovery_may_be_repeated() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a");
        let first = recovery(true, 5_000).carry_out(&path, &grantor("a")).unwrap();
        for floor in [5_000, 6_000] {
            let again = recovery(true, floor).carry_out(&path, &grantor("a")).unwrap();
            assert_eq!((again.floor.number(), again.instance), (floor, first.instance));
        }
        let (mut state, _) = StateDir::open(&path, Opening::Existing, &grantor("a")).unwrap();
        let instance = first.instance;
        let delta_max = Duration::from_secs(10);
        let boot = Boot(1);
        state.write(&Record::Identity { instance, boot, delta_max, enters: None }).unwrap();
        drop(state);
        let refused = recovery(true, 7_000).carry_out(&path, &grantor("a"));
        assert!(matches!(refused, Err(RecoveryError::Whole { .. })), "{refused:?}");
    }

    #[test]
    fn default_floor_is_time_or_reserve() {
        let parent = tempfile::tempdir().unwrap();
        let recovery = |is_lost| Recovery { floor: None, ..recovery(is_lost, 0) };
        let began = clock::wall().as_nanos() / 1_000_000;
        let edited = recovery(true).carry_out(&parent.path().join("b"), &grantor("b")).unwrap();
        let ended = clock::wall().as_nanos() / 1_000_000;
        assert!((began..=ended).contains(&edited.floor.number()), "{edited:?}");
        let path = started(&parent, Some(1 << 50));
        let edited = recovery(false).carry_out(&path, &grantor("a")).unwrap();
        assert_eq!(edited.floor, Fence::new(1 << 50));
    }
}
