//! Several groups, several elections on one topic, and two clusters in one table.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::Signal;
use serde_json::Value;
use tenure_services::kafka::{SHARED_VERSION, quick};
use tenure_testkit::processes::RunningCommand;
use tenure_testkit::processes::wait::eventually as soon;

use crate::rolling::{Moment, all_work, gap, worked, worker};
use crate::{STRICT, run, shared_broker, words};

const ROLES: [&str; 4] = ["--partitions", "4", "--roles", "0..3"];

/// With these settings a process stops its work before it leaves, so a restart leaves a gap in its
/// own group.
const HASTY: [&str; 6] = ["--takeover", "40s", "--grace", "10s", "--on-stop", "at-once"];

const WORK: &str = "echo \"works $TENURE_ELECTION\"; exec sleep 600";

type Spans = BTreeMap<u32, Vec<(Moment, Moment)>>;

/// Each process of a group is replaced in turn: the other group works on at every moment.
#[test]
fn restarted_group_leaves_no_role_idle() {
    let (_broker, _, host) = shared_broker("groups");
    let journals = ["blue", "green"].map(|group| host.path(group));
    let works = [worker(&journals[0]), worker(&journals[1])];
    let start = |group: usize, id: &str| {
        let group_name = ["blue", "green"][group];
        let more = [&ROLES[..], &["--group", group_name, "--host", group_name]].concat();
        host.start(id, &run(id, &HASTY, &more, &works[group]))
    };
    let mut blue = Vec::from(["blue-1", "blue-2"].map(|id| (id, start(0, id))));
    let green = ["green-1", "green-2"].map(|id| (id, start(1, id)));
    journals.iter().for_each(|journal| all_work(journal, 4));
    for next in ["blue-3", "blue-4"] {
        let (id, before) = blue.remove(0);
        before.signal(Signal::TERM);
        assert_eq!(before.ended(), Some(143), "{}", host.log(id));
        let one = start(0, next);
        soon("the next one works", || one.log().contains("works ").then_some(()));
        blue.push((next, one));
        all_work(&journals[0], 4);
    }
    for (id, one) in blue.into_iter().chain(green) {
        one.signal(Signal::TERM);
        assert_eq!(one.ended(), Some(143), "{}", host.log(id));
    }
    // Each group has a host of its own, as far as its processes say.
    for id in ["blue-1", "blue-3", "green-1"] {
        assert!(!host.log(id).contains("on the same host"), "{}", host.log(id));
    }
    let [blue, green] = journals.map(|journal| -> Spans {
        let ended = |(begin, end): &(Moment, Option<Moment>)| (*begin, end.unwrap());
        let spans = worked(&journal).into_iter();
        spans.map(|(role, of)| (role, of.iter().map(ended).collect())).collect()
    });
    assert!(blue.values().any(|spans| gap(spans.clone()).is_some()), "it was restarted: {blue:?}");
    for role in 0..4 {
        let both = [&blue[&role][..], &green[&role]].concat();
        assert_eq!(gap(both), None, "of role {role}: {blue:?} {green:?}");
    }
}

/// Two groups have a leader each. An asker names a group, or sees both leaders.
#[test]
fn asker_without_group_sees_both() {
    let (_broker, election, host) = shared_broker("both");
    let role = ["--partitions", "2", "--role", "1"];
    let start = |group: &'static str| {
        let more = [&role[..], &["--group", group, "--host", group]].concat();
        host.start(group, &run(group, &STRICT, &more, WORK))
    };
    let [blue, green] = ["blue", "green"].map(start);
    let works = format!("works {election}/1");
    [&blue, &green].iter().for_each(|one| drop(one.line(&works, 1)));
    let ask = |more: &[&str]| {
        let words = words("leader", &STRICT, &[&role[..], &["--json"], more].concat());
        soon("the leaders are known", || {
            let answer = host.ask(&words);
            let told: Value = serde_json::from_str(&answer.out).ok()?;
            (told["state"] != "unknown").then_some((answer.code, told))
        })
    };
    let (code, told) = soon("both are heard", || {
        let asked = ask(&[]);
        asked.1["others"].is_array().then_some(asked)
    });
    assert_eq!(code, Some(0), "{told}");
    let ids = [&told["id"], &told["others"][0]["id"]].map(|id| id.as_str().unwrap());
    assert_eq!(BTreeSet::from(ids), BTreeSet::from(["blue", "green"]));
    let (code, told) = ask(&["--group", "green"]);
    assert_eq!((code, &told["id"], &told["others"]), (Some(0), &"green".into(), &Value::Null));
    let (code, told) = ask(&["--group", "red"]);
    assert_eq!((code, &told["state"]), (Some(3), &"vacant".into()), "{told}");
    for one in [blue, green] {
        one.signal(Signal::TERM);
        assert_eq!(one.ended(), Some(143));
    }
}

/// Claims, leaders and askers of one election take no notice of the other.
#[test]
fn elections_share_a_topic() {
    let (_broker, topic, host) = shared_broker("shared");
    let of = |name: &str| format!("{topic}-{name}");
    let [prices, bills] = ["prices", "bills"].map(of);
    let settings = |election| {
        ["--topic", topic.as_str(), "--election", election, "--partitions", "2", "--roles", "0..1"]
    };
    let start = |id: &str, election| host.start(id, &run(id, &STRICT, &settings(election), WORK));
    let one = start("one", &prices);
    let two = start("two", &bills);
    let all = |one: &RunningCommand, election: &str| {
        for role in 0..2 {
            one.line(&format!("works {election}/{role}"), 1);
        }
    };
    all(&one, &prices);
    all(&two, &bills);
    let leaders = |election| {
        let asks = words("leader", &STRICT, &settings(election));
        soon("both roles have a leader", || {
            let answer = host.ask(&[&asks[..], &["--json"]].concat());
            let table: Value = serde_json::from_str(&answer.out).ok()?;
            let rows = table["roles"].as_array()?.iter();
            let ids: Vec<_> = rows.map(|row| row["id"].clone()).collect();
            (answer.code == Some(0)).then_some(ids)
        })
    };
    assert_eq!(leaders(&prices), ["one", "one"]);
    assert_eq!(leaders(&bills), ["two", "two"]);
    one.signal(Signal::TERM);
    assert_eq!(one.ended(), Some(143));
    // The other election keeps its leaders, with their CMDs.
    assert_eq!(leaders(&bills), ["two", "two"]);
    assert!(!two.log().contains("CMD ended"), "{}", two.log());
    two.signal(Signal::TERM);
    assert_eq!(two.ended(), Some(143));
}

/// The observer shows each leader with its brokers, and one cluster while the other is down.
#[test]
fn two_clusters_share_a_table() {
    let (broker, _, host) = shared_broker("sides");
    let other = quick(SHARED_VERSION).start().unwrap();
    let here = broker.addresses();
    let there = other.addresses();
    let roles = ["--partitions", "2", "--roles", "0..1"];
    let one = host.start("one", &run("one", &STRICT, &roles, WORK));
    let more = [&roles[..], &["--brokers", &there]].concat();
    let two = host.start("two", &run("two", &STRICT, &more, WORK));
    // The topics exist once both lead.
    one.line("works ", 2);
    two.line("works ", 2);
    let asks = [&roles[..], &["--other-brokers", &there, "--json"]].concat();
    let observer = host.start("observer", &words("observe", &STRICT, &asks));
    let shows = |observer: &RunningCommand, leaders: [&str; 2], states: [&str; 2]| {
        soon("a table", || {
            let log = observer.log();
            let table: Value = serde_json::from_str(log.lines().last()?).ok()?;
            let rows = table["roles"].as_array()?;
            let is = |row: &Value| {
                let nth = usize::from(row["brokers"] == there.as_str());
                let leads = row["id"] == leaders[nth] || states[nth] != "leader";
                row["state"] == states[nth] && leads
            };
            let sides = [&here, &there]
                .map(|side| rows.iter().filter(|row| row["brokers"] == side.as_str()).count());
            (sides == [2, 2] && rows.iter().all(is)).then_some(())
        });
    };
    shows(&observer, ["one", "two"], ["leader", "leader"]);
    let people = host.ask(&words("leader", &STRICT, &[&asks[..6]].concat()));
    assert_eq!(people.code, Some(0), "{}{}", people.out, people.err);
    assert!(people.out.starts_with("ROLE  PARTITION  LEADER"), "{}", people.out);
    assert!(people.out.lines().next().unwrap().ends_with("BROKERS"), "{}", people.out);
    two.signal(Signal::TERM);
    assert_eq!(two.ended(), Some(143));
    shows(&observer, ["one", ""], ["leader", "vacant"]);
    drop(other);
    let late = host.start("late", &words("observe", &STRICT, &asks));
    shows(&late, ["one", ""], ["leader", "unknown"]);
    late.line(&format!("{there} is not in the table: "), 1);
    for one in [observer, late, one] {
        one.signal(Signal::TERM);
        assert_eq!(one.ended(), Some(143));
    }
}
