//! In at-least-one, a process that must end leads on until another process leads.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rustix::process::Signal;
use tenure_testkit::processes::RunningCommand;
use tenure_testkit::processes::wait::eventually as soon;

use crate::{LOOSE, run, shared_broker};

const ROLES: [&str; 4] = ["--partitions", "4", "--roles", "0..3"];

/// Leaves CMD time to write that it ends, also on a busy machine.
const ROOMY: [&str; 4] = ["--takeover", "40s", "--grace", "10s"];

const SINGLE: [&str; 2] = ["--partitions", "1"];

/// Hundredths of a second since the machine started.
pub(crate) type Moment = u64;

/// A worker that writes a line with its role at its start, and another at its end.
pub(crate) fn worker(journal: &Path) -> String {
    let journal = journal.display();
    let tell = |what: &str| {
        format!("read -r now _ </proc/uptime; echo \"{what} {{role}} $$ $now\" >> {journal}")
    };
    let (begin, end) = (tell("begin"), tell("end"));
    format!("trap '{end}; exit 0' TERM; {begin}; echo works {{role}}; while :; do sleep 0.05; done")
}

/// Start and end of each worker, by role; a worker without an end still works.
pub(crate) fn worked(journal: &Path) -> BTreeMap<u32, Vec<(Moment, Option<Moment>)>> {
    let mut worked: BTreeMap<u32, BTreeMap<u32, (Moment, Option<Moment>)>> = BTreeMap::new();
    let text = fs::read_to_string(journal).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    for line in whole.lines() {
        let words: Vec<_> = line.split(' ').collect();
        let [what, role, process, at] = words[..] else { panic!("{line}") };
        let at = at.replace('.', "").parse().unwrap();
        let of = worked.entry(role.parse().unwrap()).or_default();
        match what {
            "begin" => drop(of.insert(process.parse().unwrap(), (at, None))),
            _ => of.get_mut(&process.parse().unwrap()).unwrap().1 = Some(at),
        }
    }
    worked.into_iter().map(|(role, of)| (role, of.into_values().collect())).collect()
}

/// The first moment without a worker, after the first worker has begun.
pub(crate) fn gap(mut spans: Vec<(Moment, Moment)>) -> Option<Moment> {
    spans.sort_unstable();
    let mut until = spans.first()?.0;
    for (begin, end) in spans {
        if begin > until {
            return Some(until);
        }
        until = until.max(end);
    }
    None
}

pub(crate) fn all_work(journal: &Path, by: usize) {
    soon("work for all roles", || {
        let worked = worked(journal);
        let works = |role| worked.get(&role).is_some_and(|of| of.iter().any(|one| one.1.is_none()));
        let begun: usize = worked.values().map(Vec::len).sum();
        ((0..4).all(works) && begun >= by).then_some(())
    });
}

fn begins(one: &RunningCommand) {
    soon("it works", || one.log().contains("works ").then_some(()));
}

/// Each process is replaced in turn: every role has a worker at every moment.
#[test]
fn rolling_restart_leaves_no_role_idle() {
    let (_broker, election, host) = shared_broker("rolling");
    let journal = host.path("journal");
    let work = worker(&journal);
    let mut running = Vec::new();
    for name in ["one", "two"] {
        running.push((name, host.start(name, &run(name, &ROOMY, &ROLES, &work))));
    }
    running.iter().for_each(|(_, one)| begins(one));
    all_work(&journal, 4);
    for next in ["three", "four"] {
        let (name, before) = running.remove(0);
        before.signal(Signal::TERM);
        assert_eq!(before.ended(), Some(143), "{}", host.log(name));
        let log = host.log(name);
        assert!(log.contains(&format!("{name} leads {election}/")), "{log}");
        assert!(log.contains("until another candidate leads"), "{log}");
        all_work(&journal, 4);
        let one = host.start(next, &run(next, &ROOMY, &ROLES, &work));
        begins(&one);
        running.push((next, one));
    }
    for (name, one) in running {
        one.signal(Signal::TERM);
        assert_eq!(one.ended(), Some(143), "{}", host.log(name));
    }
    for (role, spans) in worked(&journal) {
        let logs = || ["one", "two", "three", "four"].map(|name| host.log(name)).join("\n");
        let whole: Option<_> = spans.iter().map(|(begin, end)| Some((*begin, (*end)?))).collect();
        let whole = whole.unwrap_or_else(|| panic!("role {role} without end: {spans:?}"));
        assert_eq!(gap(whole), None, "of role {role}: {spans:?}: {}", logs());
    }
}

#[test]
fn judge_sees_gaps() {
    assert_eq!(gap(vec![(1, 4), (3, 6), (2, 3), (5, 9)]), None);
    assert_eq!(gap(vec![(5, 9), (1, 4)]), Some(4));
}

/// After a signal, a process without a possible successor does not lead on.
#[test]
fn lone_process_stops_after_listening() {
    let (_broker, _, host) = shared_broker("lonely");
    let one = host.start("one", &run("one", &LOOSE, &SINGLE, "echo works; exec sleep 600"));
    one.line("works", 1);
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143));
    let log = host.log("one");
    assert!(log.contains("CMD ended: ") && !log.contains("until another candidate leads"), "{log}");
}

/// A second signal stops a process at once. With `--on-stop at-once` the first signal does.
#[test]
fn second_signal_stops_at_once() {
    let (_broker, election, host) = shared_broker("hasty");
    let work = "echo works; exec sleep 600";
    let apart = [&SINGLE[..], &["--group", "apart"]].concat();
    let one = host.start("one", &run("one", &LOOSE, &apart, work));
    one.line("works", 1);
    // `two`, which is in another group, already leads, so it does not count as the next leader.
    let two = host.start("two", &run("two", &LOOSE, &SINGLE, work));
    one.line("is on the same host and leads", 1);
    one.signal(Signal::USR1);
    one.line(&format!("one leads {election}/0 until another candidate leads"), 1);
    one.signal(Signal::TERM);
    // The first signal decides the code.
    assert_eq!(one.ended(), Some(138), "{}", host.log("one"));
    assert!(host.log("one").contains(", it was stopped"), "{}", host.log("one"));
    two.line("works", 1);
    let more = [&SINGLE[..], &["--on-stop", "at-once"]].concat();
    let three = host.start("three", &run("three", &LOOSE, &more, work));
    three.line("three waits: behind another member", 1);
    two.signal(Signal::TERM);
    assert_eq!(two.ended(), Some(143));
    three.line("works", 1);
    let four = host.start("four", &run("four", &LOOSE, &SINGLE, work));
    four.line("four waits: behind another member", 1);
    three.signal(Signal::TERM);
    assert_eq!(three.ended(), Some(143));
    assert!(!host.log("three").contains("until another candidate leads"), "{}", host.log("three"));
    four.signal(Signal::TERM);
    assert_eq!(four.ended(), Some(143));
}
