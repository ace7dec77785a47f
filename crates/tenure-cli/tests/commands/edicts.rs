//! Edicts of real leaders, and gates that recipients keep in files.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use serde_json::Value;
use tenure_testkit::processes::wait::eventually;
use tenure_testkit::processes::{Answer, Cluster, Machine, RunningCommand};

const TENURE: &str = env!("CARGO_BIN_EXE_tenure");

/// Writes two edicts into files with the name of the candidate.
const WORK: &str = r#"
    "$0" edict create >"first-$TENURE_ID" && "$0" edict create >"second-$TENURE_ID" &&
    echo "edicts with $TENURE_FENCE"; exec sleep 1000000"#;

/// An edict of one grantor, with this clock and counter.
fn edict(clock: u64, counter: u64) -> String {
    format!("0/{:032x}@1:{clock}.0#{counter}", 7)
}

#[track_caller]
fn admits(machine: &Machine, more: &[&str], edict: &str) {
    let answer = check(machine, more, edict);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    assert_eq!(answer.out, format!("admitted {edict}\n"));
}

#[track_caller]
fn refuses(machine: &Machine, edict: &str, code: i32, part: &str) {
    let answer = check(machine, &[], edict);
    assert_eq!((answer.code, &*answer.out), (Some(code), ""), "{edict}: {}", answer.err);
    assert!(answer.err.contains(part), "{part}: {}", answer.err);
}

fn check(machine: &Machine, more: &[&str], edict: &str) -> Answer {
    machine.ask(&[&["edict", "check", "--gate", "gate", edict], more].concat())
}

/// Asks the runner `name` for an edict, as its CMD with this fence does.
fn create(cluster: &Cluster, name: &str, fence: &str, more: &[&str]) -> Answer {
    let mut command = cluster.machine.command(&[&["edict", "create"], more].concat());
    command
        .env("TENURE_ELECTION", "billing")
        .env("TENURE_FENCE", fence)
        .env("TENURE_UNTIL_FILE", cluster.path(&format!("{name}.sock.until")));
    Answer::of(&mut command)
}

/// The fence of the CMD that `name` started as its `times`-th.
fn works(cluster: &Cluster, name: &str, times: usize) -> String {
    let line = cluster[name].line("edicts with ", times);
    line.rsplit(' ').next().unwrap().to_owned()
}

fn read(cluster: &Cluster, file: &str) -> String {
    fs::read_to_string(cluster.path(file)).unwrap().trim_end().to_owned()
}

/// Two candidates lead in turn. The gate admits the edicts in the order of their creation, and
/// refuses late edicts of the first leader.
#[test]
fn late_edicts_are_refused() {
    let settings = "election = \"billing\"\nlease = \"10s\"";
    let mut cluster = Cluster::new(TENURE, ["a", "b", "c"], settings);
    ["a", "b", "c"].iter().for_each(|name| cluster.node(name, &["--new"]));
    cluster.candidate("one", &[], &["sh", "-c", WORK, TENURE]);
    let old = works(&cluster, "one", 1);
    cluster.candidate("two", &["--priority", "200"], &["sh", "-c", WORK, TENURE]);
    cluster.says("two", "behind one");
    assert_eq!(cluster.tell("one", &["resign"]).code, Some(0));
    works(&cluster, "two", 1);

    let [first, second, third, fourth] =
        ["first-one", "second-one", "first-two", "second-two"].map(|file| read(&cluster, file));
    let machine = &cluster.machine;
    refuses(machine, &first, 74, "does not exist");
    admits(machine, &["--new-gate"], &first);
    admits(machine, &[], &third);
    refuses(machine, &second, 6, "is not later than edict");
    refuses(machine, &third, 6, "is not later than edict");
    admits(machine, &[], &fourth);

    // CMD of the first leadership may still run somewhere.
    let answer = create(&cluster, "one", &old, &[]);
    assert_eq!((answer.code, &*answer.out), (Some(6), ""), "{}", answer.err);
    assert!(answer.err.contains("one does not lead billing"), "{}", answer.err);
    cluster.stop("two");
    let new = works(&cluster, "one", 2);
    let answer = create(&cluster, "one", &old, &[]);
    assert_eq!((answer.code, &*answer.out), (Some(6), ""), "{}", answer.err);
    assert!(answer.err.contains(&format!("with fence {old} is over")), "{}", answer.err);
    let answer = create(&cluster, "two", &new, &[]);
    assert_eq!((answer.code, &*answer.out), (Some(69), ""), "{}", answer.err);

    let answer = create(&cluster, "one", &new, &["--json"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    let told: Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!((told["id"].as_str(), told["election"].as_str()), (Some("one"), Some("billing")));
    assert_eq!(told["fence"].as_u64().unwrap().to_string(), new);
    admits(&cluster.machine, &[], told["edict"].as_str().unwrap());
    refuses(&cluster.machine, &fourth, 6, "is not later than edict");
}

#[test]
fn lost_gate_admits_nothing() {
    let machine = Machine::new(TENURE);
    refuses(&machine, &edict(1, 0), 74, "does not exist: a new gate");
    admits(&machine, &["--new-gate"], &edict(2, 5));
    let again = check(&machine, &["--new-gate"], &edict(3, 0));
    assert_eq!(again.code, Some(74), "{}", again.err);
    assert!(again.err.contains("--new-gate is given"), "{}", again.err);
    // Each check is a process of its own: the file alone remembers.
    refuses(&machine, &edict(2, 4), 6, "is not later than edict");
    admits(&machine, &[], &edict(2, 6));
    refuses(&machine, &edict(2, 6), 6, "is not later than edict");
    fs::remove_file(machine.path("gate")).unwrap();
    refuses(&machine, &edict(9, 0), 74, "does not exist: a new gate");
}

/// The epochs of a cluster that is founded anew begin at 0 again.
#[test]
fn gate_outlives_no_cluster() {
    let machine = Machine::new(TENURE);
    admits(&machine, &["--new-gate"], &format!("12{}", &edict(1, 0)[1..]));
    refuses(&machine, &edict(2, 0), 6, "If the cluster was founded anew since");
}

#[test]
fn broken_gate_admits_nothing() {
    let machine = Machine::new(TENURE);
    admits(&machine, &["--new-gate"], &edict(2, 17));
    let gate = machine.path("gate");
    let whole = fs::read_to_string(&gate).unwrap();
    assert_eq!(whole, format!("tenure edict gate 1\n{}\n", edict(2, 17)));
    for broken in [
        String::new(),
        whole.replace("gate 1", "gate 2"),
        // The end of the counter is missing.
        whole[..whole.len() - 2].to_owned(),
        format!("{whole}{whole}"),
        whole.replace('@', ""),
        "x".repeat(1 << 20),
    ] {
        fs::write(&gate, &broken).unwrap();
        refuses(&machine, &edict(9, 0), 74, "cannot be read");
        assert_eq!(fs::read_to_string(&gate).unwrap(), broken, "the file stays as it is");
    }
    fs::remove_file(&gate).unwrap();
    std::os::unix::fs::symlink("elsewhere", &gate).unwrap();
    refuses(&machine, &edict(9, 0), 74, "not a regular file");
    fs::remove_file(&gate).unwrap();
    fs::create_dir(&gate).unwrap();
    refuses(&machine, &edict(9, 0), 74, "not a regular file");
}

/// A crash leaves the new file of a check that did not replace the gate.
#[test]
fn unfinished_check_admits_nothing() {
    let machine = Machine::new(TENURE);
    admits(&machine, &["--new-gate"], &edict(2, 0));
    let gate = machine.path("gate");
    fs::set_permissions(&gate, fs::Permissions::from_mode(0o640)).unwrap();
    // Root checks an edict against the gate of a service.
    if geteuid().is_root() {
        chown(&gate, Some(7), Some(7)).unwrap();
    }
    let rights = || {
        let about = fs::metadata(&gate).unwrap();
        (about.permissions().mode() & 0o777, about.uid(), about.gid())
    };
    let before = rights();
    fs::write(machine.path("gate.new"), "tenure edict gate 1\n").unwrap();
    admits(&machine, &[], &edict(2, 1));
    assert_eq!(rights(), before);
    assert_eq!(before.0, 0o640);
    let files = fs::read_dir(gate.parent().unwrap()).unwrap();
    let mut names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["gate", "gate.lock"], "nothing else is left");
    // A directory in the place of the new file: the edict is not admitted.
    fs::create_dir(machine.path("gate.new")).unwrap();
    refuses(&machine, &edict(2, 2), 74, "the edict counts as refused");
    fs::remove_dir(machine.path("gate.new")).unwrap();
    admits(&machine, &[], &edict(2, 2));
}

/// Many processes check one edict at once.
#[test]
fn repeated_edict_is_admitted_once() {
    let machine = Machine::new(TENURE);
    admits(&machine, &["--new-gate"], &edict(1, 0));
    for round in 2..6 {
        let edict = edict(round, 0);
        let words = ["edict", "check", "--gate", "gate", &edict];
        let names: Vec<_> = (0..8).map(|number| format!("check-{round}-{number}")).collect();
        let running: Vec<_> = names.iter().map(|name| machine.start(name, &words)).collect();
        let mut codes: Vec<_> = running.into_iter().map(|check| check.status().code()).collect();
        codes.sort_unstable();
        assert_eq!(codes, [[Some(0)].as_slice(), &[Some(6); 7]].concat());
    }
}

/// A check waits for the lock of another check. If another lock file is at the path once this lock
/// is free, the check waits for the new lock, too.
#[test]
fn checks_hold_the_present_lock() {
    let machine = Machine::new(TENURE);
    admits(&machine, &["--new-gate"], &edict(2, 0));
    let path = machine.path("gate.lock").canonicalize().unwrap();
    let hold = |lock: File| {
        // Two shared locks would not keep each other out.
        flock(&lock, FlockOperation::LockShared).unwrap();
        lock
    };
    let old = hold(File::open(&path).unwrap());
    let mut check = machine.start("check", &["edict", "check", "--gate", "gate", &edict(2, 1)]);
    waits_for(&mut check, &path);
    fs::remove_file(&path).unwrap();
    let new = hold(File::create(&path).unwrap());
    drop(old);
    waits_for(&mut check, &path);
    // The holder of the lock admits another edict.
    fs::write(machine.path("gate"), format!("tenure edict gate 1\n{}\n", edict(2, 5))).unwrap();
    drop(new);
    assert_eq!(check.ended(), Some(6), "{}", machine.log("check"));
    File::open(&path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    admits(&machine, &[], &edict(2, 6));
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    assert!(modified > SystemTime::UNIX_EPOCH, "no cleaner finds it old");
}

/// Waits until this process has the file at `path` open.
#[track_caller]
fn waits_for(check: &mut RunningCommand, path: &Path) {
    let opened = PathBuf::from(format!("/proc/{}/fd", check.pid().as_raw_nonzero()));
    eventually("it has the lock open", || {
        assert!(!check.has_ended(), "it does not wait: {}", check.log());
        // A file may be closed meanwhile.
        let files = opened.read_dir().into_iter().flatten().flatten();
        let mut names = files.filter_map(|file| fs::read_link(file.path()).ok());
        names.any(|name| name == path).then_some(())
    });
}

#[test]
fn unusable_settings_are_refused() {
    let machine = Machine::new(TENURE);
    for (words, part) in [
        (&["edict", "check", "--gate", "gate"][..], "no edict is given"),
        (&["edict", "check", "--gate", "gate", "0/x#1"], "does not have the form"),
        (&["edict", "check", "0/x#1"], "gate is required"),
        (&["edict", "create", "--election", "e"], "inside CMD of tenure run"),
        (&["edict", "create", "--election", "e", "--fence", "-1"], "error: "),
    ] {
        let answer = machine.ask(words);
        assert_eq!((answer.code, &*answer.out), (Some(2), ""), "{words:?}: {}", answer.err);
        assert!(answer.err.contains(part), "{part}: {}", answer.err);
    }
    let answer = machine.ask(&["edict", "check", "--gate", "no/gate", &edict(1, 0)]);
    assert_eq!(answer.code, Some(74), "{}", answer.err);
    assert!(answer.err.contains("No such file or directory"), "{}", answer.err);
}
