//! Recovery of an epoch whose remaining members are no quorum. The document of that epoch names
//! memories: see `docs/decisions/recover.md`.
//!
//! An operator edits each remaining directory while no node holds it. The memory of the directory
//! then enters the epoch of the survivors. Each survivor makes the same document of that epoch from
//! the document of its present epoch. A repetition only raises the floor of fences.

use std::fmt;
use std::num::ParseIntError;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use tenure::clock;
use tenure::state::{Directory, Opening};
use tenure_core::nerio::{Document, Durable, Origin, Quorums, SurvivorsError};
use tenure_core::{Fence, NodeName, Text};

use super::identity::{IDENTITY, Identity};
use super::recover::{Floor, RecoveryError, is_missing};
use super::{Grantor, LAYOUT, MemoryError, WriteError, check};

/// An operator's declaration about an epoch whose document names memories.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Survival {
    /// The members that never come back.
    pub lost: Vec<NodeName>,
    /// The members of the settings.
    pub listed: Vec<NodeName>,
    /// Quorum system of the survivors; `None` for that of the epoch.
    pub quorums: Option<Text>,
    /// Floor above which fences begin.
    pub floor: Option<Fence>,
    /// The epoch that the first member made; `None` for the first member.
    pub epoch: Option<SurvivorsEpoch>,
}

/// The epoch of the survivors. The recovery of the first survivor prints it, and the recovery of
/// each other survivor needs it. Without it, another declaration of the operator could make another
/// epoch of the same number, and both epochs would elect leaders. For a
/// [`Recovery`](super::Recovery) this is epoch 0 of the settings itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SurvivorsEpoch {
    /// Number of the epoch that was recovered.
    pub of: u64,
    /// Digest of the document of the survivors, or of epoch 0.
    pub digest: u64,
}

impl fmt::Display for SurvivorsEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, digest } = self;
        write!(f, "{of}-{digest:016x}")
    }
}

impl FromStr for SurvivorsEpoch {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        // Without a digest the second part is empty, which is no number.
        let (of, digest) = text.split_once('-').unwrap_or((text, ""));
        Ok(Self { of: of.parse()?, digest: u64::from_str_radix(digest, 16)? })
    }
}

/// The directory after the recovery of an epoch whose document names memories.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Survived {
    /// Document of the epoch of the survivors.
    pub document: Arc<Document>,
    /// The epoch, in the form that the recovery of the other members needs.
    pub epoch: SurvivorsEpoch,
    pub floor: Fence,
    /// Reserve before the recovery.
    pub before: Fence,
    /// Successor for which the member had voted; that vote is void.
    pub voted: Option<u64>,
}

impl Survival {
    /// Edits the directory of `grantor`. Returns an error and changes nothing if the directory
    /// holds no memory of the epoch, if a node holds the directory, or if it has promised fences
    /// above the floor.
    pub fn carry_out(&self, path: &Path, grantor: &Grantor) -> Result<Survived, RecoveryError> {
        let node = || grantor.node.clone();
        let nothing = || RecoveryError::Nothing {
            path: path.to_owned(),
            node: node(),
            epoch: self.epoch.map_or(0, |epoch| epoch.of),
        };
        if is_missing(&path.join(IDENTITY.name))? {
            return Err(nothing());
        }
        let directory = Directory::open(path, &LAYOUT).map_err(MemoryError::from)?;
        let identity = Identity::read(&directory).map_err(MemoryError::from)?;
        let identity =
            check(&directory, Opening::Existing, grantor, identity.ok_or_else(nothing)?)?;
        let durable = &identity.durable;
        let Some(document) = durable.standing.document() else {
            // A memory of an earlier version is in epoch 0, though it does not name that epoch.
            return Err(match (durable.reserve, self.epoch) {
                (Some(_), Some(SurvivorsEpoch { of: given, .. })) => {
                    let (path, found) = (path.to_owned(), 0);
                    RecoveryError::Earlier { path, node: node(), found, given }
                }
                _ => nothing(),
            });
        };
        let fits = document.check(&grantor.cluster, document.drift);
        fits.map_err(|why| MemoryError::OtherDocument { path: path.to_owned(), why })?;
        if let Some(next) = durable.left_out_in() {
            return Err(RecoveryError::LeftOut { path: path.to_owned(), node: node(), next });
        }
        let (next, of) = self.epoch(path, &grantor.node, document)?;
        let epoch = SurvivorsEpoch { of, digest: next.id().digest };
        if self.epoch.is_some_and(|given| given != epoch) {
            let (path, node, members) = (path.to_owned(), node(), list(&next.names()));
            return Err(RecoveryError::Differs { path, node, of, members });
        }
        let before = durable.reserve.unwrap_or(Fence::NONE);
        let born = next.seats.iter().filter_map(|seat| seat.instance).map(|one| one.born()).max();
        let floor = Floor { given: self.floor, held: before, born };
        let floor = floor.find(path, &grantor.node, clock::wall())?;
        let vote = durable.standing.vote().accepted.as_ref();
        let voted = vote.filter(|_| next != *document).map(|(_, successor)| successor.number);
        let survived = durable.survived(Arc::clone(&next), floor);
        write(&directory, &identity, survived)?;
        Ok(Survived { document: next, epoch, floor, before, voted })
    }

    /// The document of the survivors, and the number of the epoch that they survived.
    fn epoch(
        &self,
        path: &Path,
        node: &NodeName,
        document: &Arc<Document>,
    ) -> Result<(Arc<Document>, u64), RecoveryError> {
        let (path, node) = (|| path.to_owned(), || node.clone());
        let is_gone = |name: &NodeName| document.seats.iter().all(|seat| seat.name != *name);
        let is_again = document.origin == Origin::Recovered && self.lost.iter().all(is_gone);
        let found = if is_again { document.before.number } else { document.number };
        match self.epoch.map_or(found, |epoch| epoch.of) {
            given if given > found => {
                let (path, node) = (path(), node());
                return Err(RecoveryError::Earlier { path, node, found, given });
            }
            0 if found > 0 => {
                return Err(RecoveryError::Begun { path: path(), node: node(), found });
            }
            given if given < found => {
                let (path, node) = (path(), node());
                return Err(RecoveryError::Later { path, node, found, given });
            }
            _ if is_again && !self.has_quorums_of(document) => {
                return Err(RecoveryError::Quorums { has: document.quorums.clone() });
            }
            _ if is_again => return Ok((Arc::clone(document), found)),
            _ => {}
        }
        if self.lost.contains(&node()) {
            return Err(RecoveryError::Own { path: path(), node: node(), epoch: found });
        }
        match document.survivors(&self.lost, self.quorums.as_ref()) {
            Ok(next) => self.first(path(), document).map(|()| (Arc::new(next), found)),
            Err(SurvivorsError::NoMember { name, number: epoch }) => {
                let members = list(&document.names());
                Err(RecoveryError::NoMember { path: path(), epoch, name, members })
            }
            Err(SurvivorsError::Quorum { number: epoch, left }) => {
                let (left, lost) = (list(&left), list(&self.lost));
                Err(RecoveryError::Quorum { epoch, left, lost })
            }
            Err(SurvivorsError::Document(why)) => {
                Err(RecoveryError::Document { epoch: found, why })
            }
        }
    }

    /// Checks whether a first member may begin the epoch of the survivors. If the settings list
    /// members that the directory does not know, a later epoch may exist.
    fn first(&self, path: PathBuf, document: &Document) -> Result<(), RecoveryError> {
        let is_gone = |name: &&NodeName| document.seats.iter().all(|seat| seat.name != **name);
        let unknown: Vec<_> = self.listed.iter().filter(is_gone).cloned().collect();
        if self.epoch.is_some() || unknown.is_empty() {
            return Ok(());
        }
        let (epoch, names) = (document.number, list(&unknown));
        Err(RecoveryError::Unknown { path, epoch, names })
    }

    /// Whether the declared quorum system, if there is one, is that of `document`.
    fn has_quorums_of(&self, document: &Document) -> bool {
        let names = document.names();
        let read = |text: &Text| Quorums::of_document(text.as_str(), &names).ok();
        self.quorums.as_ref().is_none_or(|given| read(given) == read(&document.quorums))
    }
}

/// The number of the epoch that the memory of a directory has entered; `None` if there is no
/// directory, or no memory in an epoch whose document names memories. Creates nothing.
pub fn entered_epoch(path: &Path, grantor: &Grantor) -> Result<Option<u64>, MemoryError> {
    if is_missing(&path.join(IDENTITY.name))? {
        return Ok(None);
    }
    let directory = Directory::open(path, &LAYOUT)?;
    let Some(identity) = Identity::read(&directory)? else { return Ok(None) };
    let identity = check(&directory, Opening::Existing, grantor, identity)?;
    let document = identity.durable.standing.document();
    let document = document.filter(|document| document.origin != Origin::Upgraded);
    Ok(document.map(|document| document.number))
}

fn write(
    directory: &Directory,
    identity: &Identity,
    durable: Durable,
) -> Result<(), RecoveryError> {
    directory.sign().map_err(MemoryError::from)?;
    let next = Identity { durable, ..identity.clone() };
    Ok(IDENTITY.write(directory, &next).map_err(WriteError::from)?)
}

pub(super) fn list(names: &[NodeName]) -> String {
    let names: Vec<_> = names.iter().map(NodeName::as_str).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use tempfile::TempDir;
    use tenure_core::Time;
    use tenure_core::nerio::epoch::{Ballot, Vote};
    use tenure_core::nerio::{Boot, Config, Inc, Instance, Record, Seat, members};

    use super::*;
    use crate::state::tests::{grant_record, grantor};
    use crate::state::{Grants, Memory, Recovered, StateDir};

    const LINE: &str = "a=127.0.0.1:7101,b=127.0.0.1:7102,c=127.0.0.1:7103,d=127.0.0.1:7104";
    const INHERITED: Duration = Duration::from_secs(7);

    fn instance(name: &NodeName) -> Instance {
        Instance::new(1_000, name.as_str().as_bytes()[0].into())
    }

    /// Epoch 1 of a, b, c and d.
    fn first() -> Document {
        let line = Config::new("c".parse().unwrap(), members(LINE).unwrap());
        let before = Document::of_line(&line);
        let id = before.id();
        let mut first = Document { number: 1, before: id, founding: id.digest, ..before };
        first.origin = Origin::Changed;
        first.seats.iter_mut().for_each(|seat| seat.instance = Some(instance(&seat.name)));
        first
    }

    fn open(path: &Path, node: &str) -> (StateDir, Recovered) {
        StateDir::open(path, Opening::Existing, &grantor(node)).unwrap()
    }

    /// The directory of a member of epoch 1, which has granted there.
    fn member(parent: &TempDir, node: &str, reserve: u64) -> PathBuf {
        let path = parent.path().join(node);
        let (mut state, _) = open(&path, node);
        let epoch = first().id();
        let (instance, boot) = (instance(&node.parse().unwrap()), Boot(3));
        let delta_max = Duration::from_secs(20);
        state.write(&Record::Identity { instance, boot, delta_max, enters: None }).unwrap();
        state.becomes(instance);
        let (document, floor) = (Arc::new(first()), Fence::new(reserve));
        let inherited = INHERITED;
        state.write(&Record::Entered { document, floor, inherited, votes: true }).unwrap();
        state.write(&Record::Table { epoch, until: Time::ZERO }).unwrap();
        state.write(&grant_record("billing", 1)).unwrap();
        path
    }

    fn survival(lost: &[&str], floor: u64) -> Survival {
        let lost = lost.iter().map(|name| name.parse().unwrap()).collect();
        let (listed, quorums, floor) = (first().names(), None, Some(Fence::new(floor)));
        Survival { lost, listed, quorums, floor, epoch: None }
    }

    fn refused(survival: &Survival, path: &Path, node: &str) -> RecoveryError {
        survival.carry_out(path, &grantor(node)).unwrap_err()
    }

    #[test]
    fn survivors_enter_one_epoch() {
        let parent = tempfile::tempdir().unwrap();
        let mut documents = Vec::new();
        for (node, lost) in [("c", ["a", "b"]), ("d", ["b", "a"])] {
            let path = member(&parent, node, 1_030);
            let (state, before) = open(&path, node);
            let is_kept = |grants: &Grants| matches!(grants, Grants::SameBoot(_));
            let Memory::Kept { grants, .. } = &before.memory else { panic!("{}", before.memory) };
            assert!(is_kept(grants), "{grants}");
            drop(state);
            let survived = survival(&lost, 5_000).carry_out(&path, &grantor(node)).unwrap();
            assert_eq!((survived.epoch.of, survived.floor), (1, Fence::new(5_000)));
            assert_eq!((survived.before, survived.voted), (Fence::new(1_030), None));
            let (_state, next) = open(&path, node);
            let grants = Grants::OtherEpoch;
            assert_eq!(next.memory, Memory::Kept { reserve: Fence::new(5_000), grants });
            assert_eq!(next.durable.instance, before.durable.instance);
            assert_eq!(next.durable.boot, before.durable.boot);
            assert_eq!(next.durable.delta_max, before.durable.delta_max);
            assert_eq!(next.durable.inherited, INHERITED);
            assert_eq!(next.durable.standing.document(), Some(&survived.document));
            documents.push(survived.document);
        }
        assert_eq!(documents[0].encode(), documents[1].encode());
        assert_eq!(documents[0].number, 1 + Document::RECOVERY_STEP);
        assert_eq!(
            entered_epoch(&parent.path().join("c"), &grantor("c")).unwrap(),
            Some(1_000_001)
        );
    }

    /// The floor of a second run is higher, because another member may have promised fences above
    /// the first floor.
    #[test]
    fn repetition_raises_floor() {
        let parent = tempfile::tempdir().unwrap();
        let path = member(&parent, "c", 1_030);
        let low = refused(&survival(&["a", "b"], 1_029), &path, "c");
        assert!(matches!(low, RecoveryError::TooLow { .. }), "{low}");
        let done = survival(&["a", "b"], 5_000).carry_out(&path, &grantor("c")).unwrap();
        for floor in [5_000, 6_000] {
            let again = Survival { epoch: Some(done.epoch), ..survival(&["a", "b"], floor) };
            let again = again.carry_out(&path, &grantor("c")).unwrap();
            assert_eq!((again.epoch, &again.document), (done.epoch, &done.document));
            assert_eq!(open(&path, "c").1.durable.reserve, Some(Fence::new(floor)));
        }
        let other = Some(Text::new("weights:c=1,d=2").unwrap());
        let other = refused(&Survival { quorums: other, ..survival(&["a"], 7_000) }, &path, "c");
        assert!(matches!(other, RecoveryError::Quorums { .. }), "{other}");

        // Member d is lost, too, after a and b.
        let both = refused(&survival(&["a", "b", "d"], 7_000), &path, "c");
        assert!(both.to_string().contains("a is no member of epoch 1000001"), "{both}");
        let last = survival(&["d"], 7_000);
        let old_list = refused(&last, &path, "c").to_string();
        assert!(
            old_list.starts_with("the members list here names a, b, but state directory"),
            "{old_list}"
        );
        let last = Survival { listed: first().names()[2..].to_vec(), ..last };
        let last = last.carry_out(&path, &grantor("c")).unwrap();
        assert_eq!((last.epoch.of, last.document.number), (1_000_001, 2_000_001));
    }

    /// On d the operator names other lost members than on c.
    #[test]
    fn members_make_no_two_epochs() {
        let parent = tempfile::tempdir().unwrap();
        let of_c = survival(&["a", "b"], 5_000);
        let epoch = of_c.carry_out(&member(&parent, "c", 7), &grantor("c")).unwrap().epoch;
        assert_eq!(epoch.to_string().parse(), Ok(epoch));
        assert!("1".parse::<SurvivorsEpoch>().is_err());
        let path = member(&parent, "d", 7);
        let other = Survival { epoch: Some(epoch), ..survival(&["a", "b", "c"], 5_000) };
        assert!(matches!(refused(&other, &path, "d"), RecoveryError::Differs { of: 1, .. }));
        let quorums = Some(Text::new("weights:c=1,d=2").unwrap());
        let weighted = Survival { epoch: Some(epoch), quorums, ..survival(&["a", "b"], 5_000) };
        assert!(matches!(refused(&weighted, &path, "d"), RecoveryError::Differs { of: 1, .. }));
        let alone = Survival { epoch: None, ..other.clone() };
        alone.carry_out(&path, &grantor("d")).unwrap();
        assert!(matches!(refused(&other, &path, "d"), RecoveryError::Differs { of: 1, .. }));
        let same = Survival { epoch: Some(epoch), ..of_c };
        assert!(matches!(refused(&same, &path, "d"), RecoveryError::Differs { of: 1, .. }));
    }

    #[test]
    fn other_epoch_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let path = member(&parent, "c", 1_030);
        let before = open(&path, "c").1.durable;
        let named = |of| Some(SurvivorsEpoch { of, digest: 7 });
        let of = |epoch| Survival { epoch: named(epoch), ..survival(&["a", "b"], 5_000) };
        let earlier = refused(&of(2), &path, "c");
        assert!(matches!(earlier, RecoveryError::Earlier { found: 1, .. }), "{earlier}");
        let begun = refused(&of(0), &path, "c");
        assert!(matches!(begun, RecoveryError::Begun { found: 1, .. }), "{begun}");
        assert_eq!(open(&path, "c").1.durable, before);
        survival(&["a", "b"], 5_000).carry_out(&path, &grantor("c")).unwrap();
        let earlier = refused(&of(2), &path, "c");
        assert!(matches!(earlier, RecoveryError::Earlier { found: 1, given: 2, .. }), "{earlier}");
        let last = Survival { listed: first().names()[2..].to_vec(), ..survival(&["d"], 5_000) };
        last.carry_out(&path, &grantor("c")).unwrap();
        let later = refused(&of(1), &path, "c");
        assert!(matches!(later, RecoveryError::Later { found: 1_000_001, .. }), "{later}");
    }

    #[test]
    fn directory_without_epoch_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("c");
        let epoch = Some(SurvivorsEpoch { of: 1, digest: 7 });
        let of = Survival { epoch, ..survival(&["a", "b"], 5_000) };
        assert!(matches!(refused(&of, &path, "c"), RecoveryError::Nothing { epoch: 1, .. }));
        assert!(!path.exists(), "nothing is made where a disk may not be mounted");
        fs::create_dir(&path).unwrap();
        assert!(matches!(refused(&of, &path, "c"), RecoveryError::Nothing { .. }));
        assert_eq!(entered_epoch(&path, &grantor("c")).unwrap(), None);
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    }

    #[test]
    fn wrong_names_are_refused() {
        let parent = tempfile::tempdir().unwrap();
        let path = member(&parent, "c", 1_030);
        let before = open(&path, "c").1.durable;
        let error = |lost: &[&str]| refused(&survival(lost, 5_000), &path, "c");
        assert!(matches!(error(&["a", "b", "c"]), RecoveryError::Own { epoch: 1, .. }));
        assert!(error(&["a", "e"]).to_string().starts_with("e is no member of epoch 1, "));
        let quorum = error(&["a"]).to_string();
        assert!(
            quorum.starts_with("no recovery is needed: without a a quorum of epoch 1"),
            "{quorum}"
        );
        let quorums = Some(Text::new("weights:c=1").unwrap());
        let quorums = Survival { quorums, ..survival(&["a", "b"], 5_000) };
        assert!(matches!(refused(&quorums, &path, "c"), RecoveryError::Document { .. }));
        assert_eq!(open(&path, "c").1.durable, before);
    }

    /// The settings list e. Member c missed the change that added e.
    #[test]
    fn listed_stranger_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let path = member(&parent, "c", 1_030);
        let before = open(&path, "c").1.durable;
        let mut listed = first().names();
        listed.push("e".parse().unwrap());
        let listed = Survival { listed, ..survival(&["a", "b"], 5_000) };
        let error = refused(&listed, &path, "c");
        assert!(matches!(error, RecoveryError::Unknown { epoch: 1, .. }), "{error}");
        assert!(error.to_string().contains("is in epoch 1, which has no such members"), "{error}");
        assert_eq!(open(&path, "c").1.durable, before);
    }

    /// Accepts epoch 2 with these seats, in the directory of c.
    fn accept(path: &Path, seats: Vec<Seat>) {
        let (mut state, _) = open(path, "c");
        let present = first();
        let (epoch, promised) = (present.id(), Ballot { counter: 3, inc: Inc(7) });
        let next = Document { number: 2, before: epoch, seats, ..present };
        let vote = Box::new(Vote { promised, accepted: Some((promised, next)) });
        state.write(&Record::Vote { epoch, vote }).unwrap();
    }

    /// Epoch 2 gives the seat of c to another memory, or to no member.
    #[test]
    fn replaced_directory_is_refused() {
        let mut replaced = first().seats;
        replaced[2].instance = Some(Instance::new(2_000, 7));
        for seats in [replaced, first().seats[..2].to_vec()] {
            let parent = tempfile::tempdir().unwrap();
            let path = member(&parent, "c", 1_030);
            accept(&path, seats);
            let before = open(&path, "c").1.durable;
            let epoch = Some(SurvivorsEpoch { of: 1, digest: 7 });
            for given in [None, epoch] {
                let survival = Survival { epoch: given, ..survival(&["a", "b"], 5_000) };
                let error = refused(&survival, &path, "c");
                assert!(matches!(error, RecoveryError::LeftOut { next: 2, .. }), "{error}");
            }
            assert_eq!(open(&path, "c").1.durable, before);
        }
    }

    #[test]
    fn vote_of_survivor_is_void() {
        let parent = tempfile::tempdir().unwrap();
        let path = member(&parent, "c", 1_030);
        accept(&path, first().seats[1..].to_vec());
        let survival = survival(&["a", "b"], 5_000);
        assert_eq!(survival.carry_out(&path, &grantor("c")).unwrap().voted, Some(2));
        assert_eq!(open(&path, "c").1.durable.standing.vote(), &Vote::NONE);
        assert_eq!(survival.carry_out(&path, &grantor("c")).unwrap().voted, None);
    }

    #[test]
    fn held_directory_is_kept() {
        let parent = tempfile::tempdir().unwrap();
        let path = member(&parent, "c", 1_030);
        let (_held, _) = open(&path, "c");
        let survival = survival(&["a", "b"], 5_000);
        assert!(refused(&survival, &path, "c").to_string().contains("is in use by"));
        assert!(refused(&survival, &path, "d").to_string().contains("is in use by"));
    }

    /// Clocks of other machines may have been ahead, so the default floor is above the start of
    /// every memory.
    #[test]
    fn default_floor_is_above_all_memories() {
        let parent = tempfile::tempdir().unwrap();
        let path = member(&parent, "c", 1_030);
        let own = Survival { floor: None, ..survival(&["a", "b"], 0) };
        let began = clock::wall().as_nanos() / 1_000_000;
        let survived = own.carry_out(&path, &grantor("c")).unwrap();
        assert!(survived.floor.number() >= began);
    }
}
