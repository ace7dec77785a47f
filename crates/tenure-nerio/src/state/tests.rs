//! Starts and restarts, in made-up boots of the machine.

pub(super) mod epochs;

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags};
use tempfile::TempDir;
use tenure::state::{self, Disk, Format, Linux, StateError};

use tenure_core::nerio::{
    Boot, Checked, Config, Document, Entry, GrantRecord, Instance, Remembered,
};

use super::slot::tests::grant;
use super::slot::{PAIR, SLOT};
use super::*;

const HEAD: usize = 4096;

struct World {
    parent: TempDir,
}

impl World {
    fn new() -> Self {
        Self { parent: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.parent.path().join("a")
    }

    fn grants(&self) -> PathBuf {
        self.path().join(GRANTS)
    }

    fn open(&self, boot: &str, opening: Opening) -> Result<(StateDir, Recovered), MemoryError> {
        open_on(&self.path(), opening, &grantor("a"), boot, Arc::new(Linux))
    }

    /// A start with the first writes of a grantor.
    fn start(&self, boot: &str, opening: Opening) -> (StateDir, Recovered) {
        let (mut state, recovered) = self.open(boot, opening).unwrap();
        state.write(&identity(&recovered, 10)).unwrap();
        (state, recovered)
    }

    fn first(&self) -> StateDir {
        self.start("boot 1", Opening::New).0
    }

    /// The grants that the next start in `boot` knows.
    fn known(&self, boot: &str) -> Grants {
        match self.open(boot, Opening::Existing).unwrap().1.memory {
            Memory::Kept { grants, .. } => grants,
            other => panic!("{other}"),
        }
    }
}

pub(super) fn open_on(
    path: &Path,
    opening: Opening,
    grantor: &Grantor,
    boot: &str,
    disk: Arc<dyn Disk>,
) -> Result<(StateDir, Recovered), MemoryError> {
    let directory = Directory::open_on(path, &LAYOUT, disk)?;
    StateDir::open_in(directory, opening, grantor, &BootKey::made_up(boot))
}

pub(super) fn grantor(node: &str) -> Grantor {
    Grantor { cluster: ClusterName::new("c").unwrap(), node: NodeName::new(node).unwrap() }
}

pub(super) fn config() -> Checked {
    let members = nerio::members("a=127.0.0.1:7101").unwrap();
    Config::new(ClusterName::new("c").unwrap(), members).check().unwrap()
}

fn document() -> Arc<Document> {
    Arc::new(Document::of_line(&config()))
}

pub(super) fn identity(recovered: &Recovered, seconds: u64) -> Record {
    let instance = recovered.durable.instance;
    let boot = Boot(recovered.durable.boot.0 + 1);
    Record::Identity { instance, boot, delta_max: Duration::from_secs(seconds), enters: None }
}

pub(super) fn reserve(number: u64) -> Record {
    Record::Reserve { high: Fence::new(number) }
}

/// Grants that a start finds in an epoch 0.
fn same_boot(grants: Vec<GrantRecord>) -> Grants {
    Grants::SameBoot(GrantTable { grants, ..GrantTable::default() })
}

pub(crate) fn grant_record(election: &str, number: u64) -> Record {
    grant(election, number).into()
}

#[test]
fn restart_in_boot_finds_everything() {
    let world = World::new();
    let (mut state, first) = world.start("boot 1", Opening::New);
    assert_eq!(first.memory, Memory::Fresh);
    assert_eq!((first.durable.boot, first.durable.delta_max), (Boot(0), None));
    state.flusher().flush(&reserve(1000)).unwrap();
    for number in 1..=5 {
        state.write(&grant_record("billing", number)).unwrap();
    }
    state.write(&grant_record("audit", 9)).unwrap();
    drop(state);

    let (_state, second) = world.open("boot 1", Opening::Existing).unwrap();
    assert_eq!(second.durable.instance, first.durable.instance);
    assert_eq!(
        (second.durable.boot, second.durable.delta_max),
        (Boot(1), Some(Duration::from_secs(10)))
    );
    let grants = same_boot(vec![grant("audit", 9), grant("billing", 5)]);
    assert_eq!(second.memory, Memory::Kept { reserve: Fence::new(1000), grants });
}

#[test]
fn the_largest_delta_max_is_kept() {
    let world = World::new();
    let (mut state, recovered) = world.start("boot 1", Opening::New);
    state.write(&identity(&recovered, 30)).unwrap();
    state.write(&identity(&recovered, 5)).unwrap();
    drop(state);
    let (_state, recovered) = world.open("boot 1", Opening::Existing).unwrap();
    assert_eq!(recovered.durable.delta_max, Some(Duration::from_secs(30)));
}

#[test]
fn reboot_keeps_reserve_only() {
    let world = World::new();
    let mut state = world.first();
    state.write(&reserve(77)).unwrap();
    state.write(&grant_record("billing", 1)).unwrap();
    drop(state);
    let (_state, recovered) = world.open("boot 2", Opening::Existing).unwrap();
    let memory = Memory::Kept { reserve: Fence::new(77), grants: Grants::OtherBoot };
    assert_eq!(recovered.memory, memory);
}

/// Restart, rule 1: a grantor grants nothing until all leases have ended, however often the process
/// ends in the meantime. So a new table begins with the first grant. If a start began it, the
/// second start would find a table without grants, and would not wait.
#[test]
fn interrupted_wait_is_repeated() {
    let world = World::new();
    drop(world.first());
    assert_eq!(world.known("boot 1"), Grants::Missing);
    let (mut state, _) = world.start("boot 1", Opening::Existing);
    state.write(&grant_record("billing", 1)).unwrap();
    drop(state);

    for _ in 0..3 {
        let (mut state, recovered) = world.start("boot 2", Opening::Existing);
        let memory = Memory::Kept { reserve: Fence::NONE, grants: Grants::OtherBoot };
        assert_eq!(recovered.memory, memory);
        state.write(&Record::Forget("billing".parse().unwrap())).unwrap();
    }
    let (mut state, _) = world.start("boot 2", Opening::Existing);
    state.write(&grant_record("audit", 2)).unwrap();
    drop(state);
    assert_eq!(world.known("boot 2"), same_boot(vec![grant("audit", 2)]));
    assert_eq!(world.known("boot 1"), Grants::OtherBoot);
}

/// The scalar fence, rule 4: the process ends before it has read the fences from others. The memory
/// must still be lost at the next start.
#[test]
fn lost_memory_lasts_until_reserve() {
    let world = World::new();
    let mut state = world.first();
    state.write(&grant_record("billing", 1)).unwrap();
    drop(state);
    fs::remove_file(world.path().join(IDENTITY.name)).unwrap();

    let (state, first) = world.start("boot 1", Opening::Existing);
    assert_eq!(first.memory, Memory::Lost);
    drop(state);
    let (mut state, second) = world.start("boot 1", Opening::Existing);
    assert_eq!(second.memory, Memory::Lost);
    assert_eq!((second.durable.instance, second.durable.boot), (first.durable.instance, Boot(1)));
    state.write(&reserve(40)).unwrap();
    drop(state);

    // The table on disk belongs to the lost instance.
    let (mut state, third) = world.start("boot 1", Opening::Existing);
    let memory = Memory::Kept { reserve: Fence::new(40), grants: Grants::OtherMemory };
    assert_eq!((third.durable.instance, third.memory), (first.durable.instance, memory));
    state.write(&grant_record("audit", 41)).unwrap();
    drop(state);
    assert_eq!(world.known("boot 1"), same_boot(vec![grant("audit", 41)]));
}

#[test]
fn every_lost_memory_is_another_instance() {
    let world = World::new();
    let (_, first) = world.open("boot 1", Opening::Existing).unwrap();
    let (_, second) = world.open("boot 1", Opening::Existing).unwrap();
    assert_eq!((&first.memory, &second.memory), (&Memory::Lost, &Memory::Lost));
    assert_ne!(first.durable.instance, second.durable.instance);
    // Until the first write, the first start may be tried again.
    assert_eq!(world.open("boot 1", Opening::New).unwrap().1.memory, Memory::Fresh);
}

#[test]
fn first_start_may_be_repeated() {
    let world = World::new();
    drop(world.open("boot 1", Opening::New).unwrap());
    fs::write(world.path().join("identity.tmp"), b"\x89TEN").unwrap();
    fs::create_dir(world.path().join("lost+found")).unwrap();
    assert_eq!(world.start("boot 1", Opening::New).1.memory, Memory::Fresh);
}

/// Compares random grants, forgets and restarts with a map.
#[test]
fn table_has_last_write() {
    let world = World::new();
    let mut state = world.first();
    state.write(&grant_record("e0", 0)).unwrap();
    let mut model = BTreeMap::from([("e0".to_owned(), 0)]);
    let mut draw = 7_u64;
    let mut most = 0;
    for number in 0..4000 {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let election = format!("e{}", (draw >> 33) % 300);
        match (draw >> 53) % 64 {
            0 => {
                drop(state);
                let (opened, recovered) = world.open("boot 1", Opening::Existing).unwrap();
                state = opened;
                let expected = model.iter().map(|(name, number)| grant(name, *number)).collect();
                let grants = same_boot(expected);
                assert_eq!(recovered.memory, Memory::Kept { reserve: Fence::NONE, grants });
            }
            1..30 => {
                state.write(&Record::Forget(election.parse().unwrap())).unwrap();
                model.remove(&election);
            }
            _ => {
                state.write(&grant_record(&election, number)).unwrap();
                model.insert(election, number);
            }
        }
        most = most.max(model.len());
    }
    assert!(most > 100, "{most}");
    let bytes = fs::metadata(world.grants()).unwrap().len() as usize;
    let chunks = most.div_ceil(64) * 64;
    assert_eq!(bytes, HEAD + chunks * PAIR, "slots of forgotten elections are used again");
}

/// Replaces the bytes of a file. (Truncating it instead makes some file systems wait for the disk.)
fn replace(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

/// The file of a table of one election, granted 1 and then 2.
fn small_table(world: &World) -> Vec<u8> {
    let mut state = world.first();
    state.write(&grant_record("billing", 1)).unwrap();
    state.write(&grant_record("billing", 2)).unwrap();
    fs::read(world.grants()).unwrap()
}

#[test]
fn cut_table_is_not_believed() {
    let world = World::new();
    let table = small_table(&world);
    let file = File::options().write(true).open(world.grants()).unwrap();
    for length in [table.len() - 1, table.len() - PAIR].into_iter().chain((0..HEAD + SLOT).rev()) {
        file.set_len(length as u64).unwrap();
        let known = world.known("boot 1");
        assert!(matches!(known, Grants::Torn(_)), "length {length}: {known}");
        if length % 512 == 0 {
            assert_eq!(fs::read(world.grants()).unwrap(), table[..length]);
        }
    }
}

#[test]
fn changed_head_is_not_believed() {
    let world = World::new();
    let table = small_table(&world);
    for byte in 0..200 {
        let mut bad = table.clone();
        bad[byte] ^= 0x10;
        replace(&world.grants(), &bad);
        match world.open("boot 1", Opening::Existing) {
            Err(MemoryError::State(StateError::ForeignFile { .. })) => {
                assert!(byte < 8, "byte {byte}")
            }
            Ok((_, Recovered { memory: Memory::Kept { grants, .. }, .. })) => {
                let waits = matches!(grants, Grants::Torn(Tear::Head(_)) | Grants::OtherBoot);
                assert!(byte >= 8 && waits, "byte {byte}: {grants}");
            }
            other => panic!("byte {byte}: {other:?}"),
        }
        assert_eq!(fs::read(world.grants()).unwrap(), bad);
    }
}

#[test]
fn second_torn_slot_is_not_believed() {
    let world = World::new();
    let mut state = world.first();
    for number in 1..=2 {
        state.write(&grant_record("audit", number)).unwrap();
        state.write(&grant_record("billing", number)).unwrap();
    }
    drop(state);
    let table = fs::read(world.grants()).unwrap();
    // The second write of each election is in the election's even slot.
    let mut torn = table.clone();
    torn[HEAD + 100] ^= 1;
    torn[HEAD + 20] ^= 1;
    fs::write(world.grants(), &torn).unwrap();
    let known = vec![grant("audit", 1), grant("billing", 2)];
    assert_eq!(world.known("boot 1"), same_boot(known));

    torn[HEAD + PAIR + 20] ^= 1;
    fs::write(world.grants(), &torn).unwrap();
    assert_eq!(world.known("boot 1"), Grants::Torn(Tear::Slots { torn: 2 }));

    let mut both = table.clone();
    both[HEAD + 20] ^= 1;
    both[HEAD + SLOT + 20] ^= 1;
    fs::write(world.grants(), &both).unwrap();
    assert_eq!(world.known("boot 1"), Grants::Torn(Tear::Pair { pair: 0 }));

    let mut twice = table.clone();
    twice.copy_within(HEAD..HEAD + PAIR, HEAD + PAIR);
    fs::write(world.grants(), &twice).unwrap();
    assert_eq!(world.known("boot 1"), Grants::Torn(Tear::Twice { pair: 1 }));
}

#[test]
fn first_grant_replaces_torn_table() {
    let world = World::new();
    let mut table = small_table(&world);
    table.truncate(HEAD + 1);
    fs::write(world.grants(), &table).unwrap();
    let tear = Grants::Torn(Tear::Length { bytes: HEAD as u64 + 1 });
    assert_eq!(world.known("boot 1"), tear);
    let (mut state, _) = world.start("boot 1", Opening::Existing);
    state.write(&grant_record("audit", 3)).unwrap();
    drop(state);
    assert_eq!(world.known("boot 1"), same_boot(vec![grant("audit", 3)]));
}

#[test]
fn changed_identity_is_refused() {
    let world = World::new();
    drop(world.first());
    let path = world.path().join(IDENTITY.name);
    let good = fs::read(&path).unwrap();
    let cut = (0..good.len()).map(|length| good[..length].to_vec());
    let flipped = (0..good.len() * 8).map(|bit| {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        bytes
    });
    for bad in cut.chain(flipped) {
        replace(&path, &bad);
        for opening in [Opening::Existing, Opening::New] {
            let refused = world.open("boot 1", opening).unwrap_err();
            assert!(
                matches!(
                    refused,
                    MemoryError::State(StateError::Damaged { .. })
                        | MemoryError::State(StateError::ForeignFile { .. })
                ),
                "{refused}"
            );
        }
        assert_eq!(fs::read(&path).unwrap(), bad);
    }
    fs::write(&path, &good).unwrap();
    assert!(world.open("boot 1", Opening::Existing).is_ok());
}

#[test]
fn other_format_is_refused() {
    let world = World::new();
    drop(world.first());
    // Format 3 of the identity can be read, so 2 is its latest format that is refused.
    let formats = [(GRANTS, table::FORMAT, 1), (IDENTITY.name, IDENTITY.format, 2)];
    for (name, format, before) in formats {
        let path = world.path().join(name);
        for found in [format.number + 1, before] {
            let bytes = Format { number: found, ..format }.seal(b"whatever it is");
            fs::write(&path, &bytes).unwrap();
            assert_eq!(
                world.open("boot 1", Opening::Existing).unwrap_err().to_string(),
                format!(
                    "{} has the format {found}, but this release reads {}; start the release that \
                     wrote the file",
                    path.display(),
                    format.number
                )
            );
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
    }
}

/// A directory of format 3 is read as before. If it holds promises to the members of the settings,
/// the first write names these members.
#[test]
fn format_3_is_rewritten() {
    type Mark = fn(&Recovered) -> Record;
    let own_mark: Mark = |found| {
        let entry = Entry { instance: found.durable.instance, founder: true };
        Record::Roster(vec![(NodeName::new("a").unwrap(), entry)])
    };
    let other_mark: Mark = |_| {
        let entry = Entry { instance: Instance::new(1, 2), founder: true };
        Record::Roster(vec![(NodeName::new("b").unwrap(), entry)])
    };
    let kinds = [
        ("new", Opening::New, other_mark, true),
        ("kept", Opening::New, other_mark, true),
        ("lost", Opening::Existing, other_mark, false),
        ("founder", Opening::Existing, own_mark, true),
    ];
    for (kind, opening, mark, is_member) in kinds {
        let world = World::new();
        let (mut state, found) = world.start("boot 1", opening);
        state.write(&mark(&found)).unwrap();
        if kind == "kept" {
            state.write(&grant_record("billing", 1)).unwrap();
        }
        drop(state);
        let path = world.path().join(IDENTITY.name);
        let before = IDENTITY.decode(&fs::read(&path).unwrap()).unwrap();
        replace(&path, &before.in_format_3());

        let (mut state, found) = world.open("boot 1", Opening::Existing).unwrap();
        assert_eq!(found.durable, before.durable, "{kind}");
        let memory = found.clone().into_core(&config()).unwrap();
        assert_eq!((memory.enters, memory.membership), (is_member, None), "{kind}");
        let enters = is_member.then(document);
        let Record::Identity { instance, boot, delta_max, .. } = identity(&found, 10) else {
            panic!("{kind}");
        };
        let record = Record::Identity { instance, boot, delta_max, enters: enters.clone() };
        state.write(&record).unwrap();
        drop(state);

        let after = IDENTITY.decode(&fs::read(&path).unwrap()).unwrap().durable;
        assert_eq!(after.standing.document(), enters.as_ref(), "{kind}");
        assert_eq!((after.reserve, after.roster), (before.durable.reserve, before.durable.roster));
        if kind == "kept" {
            assert_eq!(world.known("boot 1"), same_boot(vec![grant("billing", 1)]));
        }
    }
}

/// An early build wrote only a part of the instance to the identity; the table has the whole
/// instance.
#[test]
fn table_completes_number() {
    let world = World::new();
    let mut state = world.first();
    state.write(&grant_record("billing", 1)).unwrap();
    drop(state);
    let path = world.path().join(IDENTITY.name);
    let mut identity = IDENTITY.decode(&fs::read(&path).unwrap()).unwrap();
    identity.durable.instance = Instance::new(0, identity.durable.instance.0);
    fs::write(&path, IDENTITY.encode(&identity)).unwrap();
    let known = world.known("boot 1");
    assert!(matches!(&known, Grants::SameBoot(table) if table.grants.len() == 1), "{known}");
}

#[test]
fn replaced_directory_is_not_written() {
    let world = World::new();
    let mut state = world.first();
    state.write(&grant_record("billing", 1)).unwrap();
    fs::remove_dir_all(world.path()).unwrap();
    let (other, _) = world.open("boot 1", Opening::New).unwrap();
    let path = world.path().display().to_string();
    assert_eq!(
        state.write(&reserve(5)).unwrap_err().to_string(),
        format!(
            "state directory {path} is lost: another file or directory is at {path} now; put the \
             original back (never a copy), or start this node again, without --new, and no other \
             node before it grants"
        )
    );
    let files = fs::read_dir(world.path()).unwrap();
    let mut names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, [".held", "lock"]);
    drop((state, other));
}

#[test]
fn a_grant_is_not_flushed() {
    let world = World::new();
    let state = world.first();
    assert_eq!(
        state.flusher().flush(&grant_record("billing", 1)).unwrap_err().to_string(),
        "this record is a grant, and grants are never flushed: call StateDir::write"
    );
}

#[test]
fn foreign_directory_is_kept() {
    let world = World::new();
    fs::create_dir(world.path()).unwrap();
    fs::write(world.path().join("notes.txt"), "precious").unwrap();
    let refused = world.open("boot 1", Opening::New).unwrap_err();
    assert!(matches!(refused, MemoryError::State(StateError::Foreign { .. })), "{refused}");
    assert_eq!(fs::read_dir(world.path()).unwrap().count(), 1);
}

/// A process that can open a locked file can hold the lock.
#[test]
fn reader_cannot_block_start() {
    let world = World::new();
    drop(world.first());
    fs::set_permissions(world.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // Another user can open only the directory itself.
    let open = [world.path()].map(|path| File::open(path).unwrap());
    for file in &open {
        rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive).unwrap();
    }
    drop(world.open("boot 1", Opening::Existing).unwrap());
    for file in fs::read_dir(world.path()).unwrap() {
        let mode = file.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "others can open it");
    }
}

#[test]
fn writable_directory_is_refused() {
    let world = World::new();
    drop(world.first());
    let path = world.path();
    for mode in [0o777, 0o720, 0o1777] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(
            world.open("boot 1", Opening::Existing).unwrap_err().to_string(),
            format!(
                "other users can write to state directory {0}, whose mode is {mode:o}; run chmod \
                 go-w {0}, or name a directory below it, which Tenure creates for this user alone",
                path.display()
            )
        );
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    let held = path.join(".held");
    fs::set_permissions(&held, fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(
        world.open("boot 1", Opening::Existing).unwrap_err().to_string(),
        format!(
            "other users can open {0}, whose mode is 640, and could keep this node from starting; \
             run chmod 600 {0}",
            held.display()
        )
    );
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
        assert_eq!(
            world.open("boot 1", Opening::Existing).unwrap_err().to_string(),
            format!(
                "state directory {0} belongs to user 65534, and this process runs as user 0; run \
                 the process as user 65534, or change the owner: chown -R 0 {0}",
                path.display()
            )
        );
    }
}

/// Actions of an operator on a directory in use. Neither a check nor a flush accepts the directory
/// after them.
#[test]
fn lost_directory_is_not_written() {
    const REPLACED: &str = "/grants now";
    type Harm = fn(&World);
    let harms: [(&str, Harm); 8] = [
        ("cannot be found any more", |world| fs::remove_dir_all(world.path()).unwrap()),
        ("cannot be found any more", |world| {
            fs::rename(world.path(), world.parent.path().join("elsewhere")).unwrap();
        }),
        ("another file or directory is at", |world| {
            fs::rename(world.path(), world.parent.path().join("elsewhere")).unwrap();
            fs::create_dir(world.path()).unwrap();
        }),
        ("grants cannot be found any more", |world| fs::remove_file(world.grants()).unwrap()),
        // The open table still has a name, but another one.
        (REPLACED, |world| {
            fs::rename(world.grants(), world.path().join("kept")).unwrap();
            fs::copy(world.path().join("kept"), world.grants()).unwrap();
        }),
        (REPLACED, |world| {
            fs::copy(world.grants(), world.path().join("copy")).unwrap();
            fs::rename(world.path().join("copy"), world.grants()).unwrap();
        }),
        // A write behind the new end would make the table look whole, although other grants are
        // gone.
        ("grants was cut off: it has 0 bytes, and had ", |world| cut(world, 0)),
        ("grants was cut off: it has 4096 bytes, and had ", |world| cut(world, 4_096)),
    ];
    for (loss, harm) in harms {
        let world = World::new();
        let mut state = world.first();
        state.write(&grant_record("billing", 1)).unwrap();
        state.flusher().check().unwrap();
        harm(&world);
        let mut refused = vec![state.flusher().check(), state.flusher().flush(&reserve(2_048))];
        if loss.starts_with("grants was") {
            let records = [grant_record("billing", 2), grant_record("new", 2)];
            refused.extend(records.map(|record| state.write(&record)));
        }
        for refused in refused {
            let refused = refused.unwrap_err();
            let text = refused.to_string();
            assert!(
                matches!(refused, WriteError::State(state::WriteError::Lost { .. }))
                    && text.contains(loss),
                "{text}"
            );
        }
    }
}

fn cut(world: &World, bytes: u64) {
    File::options().write(true).open(world.grants()).unwrap().set_len(bytes).unwrap();
}

/// A table that was cut off looks like a table of fewer elections.
#[test]
fn cut_table_is_noticed() {
    let world = World::new();
    let mut state = world.first();
    state.write(&grant_record("e0", 1)).unwrap();
    let small = fs::metadata(world.grants()).unwrap().len();
    for number in 1..=64 {
        state.write(&grant_record(&format!("e{number}"), 1)).unwrap();
    }
    state.flusher().check().unwrap();
    cut(&world, small);
    let text = state.flusher().check().unwrap_err().to_string();
    assert!(text.contains("grants was cut off: "), "{text}");
    state.write(&grant_record("e0", 2)).unwrap_err();
}

#[test]
fn cut_identity_is_written_anew() {
    let world = World::new();
    let state = world.first();
    let identity = File::options().write(true).open(world.path().join(IDENTITY.name)).unwrap();
    identity.set_len(3).unwrap();
    let text = state.flusher().check().unwrap_err().to_string();
    assert!(text.contains("identity was cut off: it has 3 bytes, and had "), "{text}");
    state.flusher().flush(&reserve(2_048)).unwrap();
    state.flusher().check().unwrap();
}

/// The lock and the identity belong to the memory, like the grants. Without the lock another
/// process may use the memory, too. Without the identity the next start uses none of the grants.
#[test]
fn missing_lock_or_identity_is_noticed() {
    for name in [".held", IDENTITY.name] {
        let world = World::new();
        let mut state = world.first();
        state.write(&grant_record("billing", 1)).unwrap();
        fs::remove_file(world.path().join(name)).unwrap();
        let text = state.flusher().check().unwrap_err().to_string();
        assert!(text.contains(&format!("{name} cannot be found any more")), "{text}");
    }
}

#[test]
fn returned_directory_is_written() {
    let world = World::new();
    let mut state = world.first();
    state.write(&grant_record("billing", 1)).unwrap();
    let elsewhere = world.parent.path().join("elsewhere");
    fs::rename(world.path(), &elsewhere).unwrap();
    state.flusher().check().unwrap_err();
    fs::rename(&elsewhere, world.path()).unwrap();
    state.flusher().check().unwrap();
    state.write(&grant_record("billing", 3)).unwrap();
    drop(state);
    assert_eq!(world.known("boot 1"), same_boot(vec![grant("billing", 3)]));
}

/// A disk that checks the directory just after a file has got its name, as another thread may do.
#[derive(Debug, Default)]
struct WatchfulDisk {
    flusher: Mutex<Option<Flusher>>,
    seen: Mutex<Vec<Result<(), WriteError>>>,
}

impl Disk for WatchfulDisk {
    fn make_directory(&self, path: &Path) -> io::Result<()> {
        Linux.make_directory(path)
    }

    fn open(&self, at: BorrowedFd<'_>, name: &str, flags: OFlags) -> io::Result<File> {
        Linux.open(at, name, flags)
    }

    fn write(&self, file: &mut File, bytes: &[u8]) -> io::Result<()> {
        Linux.write(file, bytes)
    }

    fn flush(&self, what: BorrowedFd<'_>) -> io::Result<()> {
        Linux.flush(what)
    }

    fn rename(&self, at: BorrowedFd<'_>, from: &str, to: &str) -> io::Result<()> {
        let look = || {
            if let Some(flusher) = &*self.flusher.lock().unwrap() {
                self.seen.lock().unwrap().push(flusher.check());
            }
        };
        look();
        Linux.rename(at, from, to)?;
        look();
        Ok(())
    }

    fn remove(&self, at: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        Linux.remove(at, name)
    }
}

struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        let (factor, step) = (6_364_136_223_846_793_005, 1_442_695_040_888_963_407);
        self.0 = self.0.wrapping_mul(factor).wrapping_add(step);
        (self.0 >> 33) % bound
    }
}

/// The core has a model of this directory for simulators and tests. The model and the directory
/// agree, whatever records, starts and boots come.
#[test]
fn directory_matches_core_model() {
    let mut draw = Draw(7);
    let mut kinds = HashMap::new();
    for _ in 0..60 {
        let world = World::new();
        let mut expected = Remembered::new(Instance(0), false);
        let mut boot = 0;
        for start in 0..12 {
            harm(&mut draw, &world, &mut expected, &mut boot);
            // Use `--new` only where it is right, because a wrong `--new` is refused.
            let begins = !expected.is_written() && expected.grants().is_none();
            let may_begin = begins || expected.durable().reserve.is_none();
            let first = may_begin && expected.grants().is_none() && draw.below(2) == 0;
            let opening = if first { Opening::New } else { Opening::Existing };
            let (mut state, recovered) = world.open(&format!("boot {boot}"), opening).unwrap();
            if !expected.is_written() {
                expected = Remembered::new(recovered.durable.instance, first);
            }
            expected.first = first;
            let memory = expected.memory(&config()).unwrap();
            assert_eq!(recovered.clone().into_core(&config()).unwrap(), memory, "start {start}");
            *kinds.entry(std::mem::discriminant(&memory.kept)).or_insert(0) += 1;
            if draw.below(8) != 0 {
                for record in life(&mut draw, &recovered) {
                    state.write(&record).unwrap();
                    expected.write(record);
                }
            }
        }
    }
    assert!(kinds.len() == 4 && kinds.values().all(|count| *count > 10), "{kinds:?}");
}

/// Sometimes restarts the machine, loses the grants, or loses the whole directory.
fn harm(draw: &mut Draw, world: &World, expected: &mut Remembered, boot: &mut u64) {
    match draw.below(8) {
        0 | 1 => {
            *boot += 1;
            expected.forget_grants();
        }
        2 => {
            let _ = fs::remove_file(world.grants());
            expected.forget_grants();
        }
        3 => {
            let _ = fs::remove_dir_all(world.path());
            *expected = Remembered::new(Instance(0), false);
        }
        _ => {}
    }
}

/// The records that a process writes before it ends at some moment.
fn life(draw: &mut Draw, recovered: &Recovered) -> Vec<Record> {
    let mut records = vec![identity(recovered, 1 + draw.below(20))];
    // The grantor grants nothing before it has read the fences.
    let mut may_grant = recovered.durable.reserve.is_some();
    let document = recovered.durable.standing.document();
    let mut entered = document.map(|document| document.number);
    for _ in 0..draw.below(6) {
        let election = format!("e{}", draw.below(3));
        match draw.below(6) {
            0 => {
                records.push(reserve(draw.below(1 << 20)));
                may_grant = true;
            }
            1 => {
                let number = entered.map_or(0, |number| number + 1);
                records.push(epochs::entry(number, Fence::new(draw.below(1 << 20))));
                // The process may end before it writes a new table.
                match draw.below(3) {
                    _ if number == 0 => {}
                    0 => return records,
                    _ => records.push(epochs::table(number, draw.below(100))),
                }
                entered = Some(number);
                may_grant = true;
            }
            2 => {
                let accepts = draw.below(2) == 0;
                records.push(epochs::vote(entered.unwrap_or(0), draw.below(9), accepts));
            }
            3 if may_grant => records.push(Record::Forget(election.parse().unwrap())),
            _ if may_grant => records.push(grant_record(&election, draw.below(100))),
            _ => {}
        }
    }
    records
}

/// A grantor itself replaces files: the table of the previous boot at the first grant, and the
/// identity at each flush. A check at any moment finds the files.
#[test]
fn own_replacement_loses_no_file() {
    let world = World::new();
    let mut state = world.first();
    state.write(&grant_record("billing", 1)).unwrap();
    drop(state);
    let disk = Arc::new(WatchfulDisk::default());
    let path = world.path();
    let grantor = grantor("a");
    let opened = open_on(&path, Opening::Existing, &grantor, "boot 2", disk.clone());
    let (mut state, recovered) = opened.unwrap();
    *disk.flusher.lock().unwrap() = Some(state.flusher());
    state.write(&identity(&recovered, 10)).unwrap();
    state.write(&grant_record("billing", 2)).unwrap();
    *disk.flusher.lock().unwrap() = None;
    let seen = disk.seen.lock().unwrap();
    assert!(seen.len() == 4 && seen.iter().all(Result::is_ok), "{seen:?}");
}

/// The grantor knows the whole identity, and writes it again at the next flush.
#[test]
fn removed_identity_is_written_anew() {
    let world = World::new();
    let mut state = world.first();
    state.write(&grant_record("billing", 1)).unwrap();
    fs::remove_file(world.path().join(IDENTITY.name)).unwrap();
    state.flusher().check().unwrap_err();
    state.flusher().flush(&reserve(2_048)).unwrap();
    state.flusher().check().unwrap();
    drop(state);
    assert_eq!(world.known("boot 1"), same_boot(vec![grant("billing", 1)]));
}
