//! What is done to the leader and to etcd, and how long the next leader may take.
//!
//! All bounds have [`NOISE`] in them. What is before it is the formula: a leader that says nothing
//! more keeps its lease at etcd for up to [`LEASE`], and etcd ends it within [`EXPIRY`]. A new
//! leader of etcd gives every lease its full length again. Until there is one nobody can renew, so
//! with a lease as short as this a leader may have to stop, although etcd is back soon.

use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;
use tenure::clock;
use tenure_core::{Fence, Time};
use tenure_services::etcd::{ClusterConfig, Version};

use crate::host::Host;
use crate::line::{Line, What};
use crate::team::{EXPIRY, GRACE, LEASE, NOISE, Team};
use crate::wait::eventually;
use crate::worker::Manner;

type Scene = fn(Version);

pub(crate) const ALL: &[(&str, Scene)] = &[
    ("runner_killed", runner_killed),
    ("runner_stopped_beyond_its_lease", runner_stopped_beyond_its_lease),
    ("leader_of_etcd_killed", leader_of_etcd_killed),
    ("no_quorum_for_longer_than_the_lease", no_quorum_for_longer_than_the_lease),
    ("lease_revoked_by_hand", lease_revoked_by_hand),
    ("compacted_while_others_wait", compacted_while_others_wait),
    ("no_space", no_space),
];

/// From the last sign of life of a leader to the begin of the next.
pub(crate) const TAKE_OVER: Duration = LEASE.saturating_add(EXPIRY).saturating_add(NOISE);
/// How long etcd may take for a new leader of its own: two time-outs of a second, and a vote.
pub(crate) const ELECTION_OF_ETCD: Duration = Duration::from_secs(3);

fn three(version: Version) -> ClusterConfig {
    ClusterConfig::new(version, 3)
}

fn runner_killed(version: Version) {
    let mut team = Team::start(three(version));
    let leader = team.await_any();
    let struck = clock::now();
    team.kill(Team::runner_of(&leader));
    team.next_within(leader.fence, struck, TAKE_OVER, "kill -9");
    team.works_again();
}

fn runner_stopped_beyond_its_lease(version: Version) {
    let mut team = Team::start(three(version));
    let leader = team.await_any();
    let runner = Team::runner_of(&leader);
    let struck = clock::now();
    team.freeze(runner);
    team.next_within(leader.fence, struck, TAKE_OVER, "SIGSTOP");
    sleep(LEASE / 2);
    team.signal(runner, Signal::CONT);
    team.works_again();
}

/// The leader may survive it, if etcd has a new one before its lease is over.
fn leader_of_etcd_killed(version: Version) {
    let mut team = Team::start(three(version));
    for _ in 0..3 {
        let leader = team.await_any();
        let struck = clock::now();
        let killed = eventually("etcd has a leader", || {
            let killed = team.etcd.leader().ok()??;
            killed.kill().ok()?;
            Some(killed.endpoint().to_owned())
        });
        // Longer than anybody can lead without a word from etcd.
        sleep(LEASE + LEASE / 4);
        let now = team.await_any();
        if now.fence > leader.fence {
            let bound = ELECTION_OF_ETCD + TAKE_OVER;
            team.next_within(leader.fence, struck, bound, "etcd's leader killed");
        } else {
            println!("etcd's leader killed: {leader} stayed");
        }
        let mut members = team.etcd.members();
        let killed = members.find(|member| member.endpoint() == killed).unwrap();
        killed.restart().unwrap();
        team.etcd.wait_ready().unwrap();
    }
    team.works_again();
}

fn no_quorum_for_longer_than_the_lease(version: Version) {
    let mut team = Team::start(three(version));
    let leader = team.await_any();
    let told = team.observed();
    assert_eq!(told.last().map(String::as_str), Some("leader"), "{told:?}");
    [0, 1].iter().for_each(|member| team.etcd.member(*member).kill().unwrap());
    let gone = eventually("the leader ends", || {
        let last = team.judged().with_fence(leader.fence).unwrap().last;
        (clock::now().since(last) > LEASE).then_some(last)
    });
    // Nobody knows, and nobody says that nobody leads.
    for _ in 0..2 {
        let (code, said) = team.ask();
        assert_eq!(code, Some(4), "unknown, not {said}");
    }
    eventually("the observer knows that it does not know", || {
        (team.observed().last()? == "unknown").then_some(())
    });
    assert_eq!(team.judged().current().unwrap().last, gone, "somebody works without a quorum");
    assert!(!team.observed()[told.len()..].contains(&"vacant".to_owned()));
    let back = clock::now();
    [0, 1].iter().for_each(|member| team.etcd.member(*member).restart().unwrap());
    team.etcd.wait_ready().unwrap();
    // Members need their time to start as well.
    let bound = ELECTION_OF_ETCD + TAKE_OVER + NOISE;
    team.next_within(leader.fence, back, bound, "quorum lost and back");
    team.works_again();
}

/// Whoever revokes a lease by hand breaks the promise: the next one may begin before this one has
/// heard of it. It stops as soon as it has, so that they overlap by no more than its grace.
fn lease_revoked_by_hand(version: Version) {
    let team = Team::start(three(version));
    for _ in 0..3 {
        team.await_keys(3);
        let before = leaderships(&team.journal()).len();
        let first = team.keys().remove(0);
        let (_, lease) = first.rsplit_once('/').unwrap();
        let struck = clock::now();
        team.etcd.etcdctl(&["lease", "revoke", lease]).unwrap();
        let [old, new] = eventually("the next leader", || {
            let all = leaderships(&team.journal());
            (all.len() > before).then(|| [all[before - 1], all[before]])
        });
        assert!(new.fence > old.fence, "the fence went back");
        let took = new.began.since(struck);
        println!("lease revoked: fence {} after {took:.2?}, at most {NOISE:?}", new.fence);
        assert!(took <= NOISE);
        sleep(GRACE);
    }
    team.await_keys(3);
    let all = leaderships(&team.journal());
    for pair in all.windows(2) {
        let overlap = pair[0].last.since(pair[1].began);
        println!("overlap of {} and {}: {overlap:.2?}", pair[0].fence, pair[1].fence);
        assert!(overlap <= GRACE + NOISE);
    }
}

/// From the first to the last line under one fence.
#[derive(Clone, Copy)]
struct Span {
    fence: Fence,
    began: Time,
    last: Time,
}

/// In the order of their begins.
fn leaderships(journal: &str) -> Vec<Span> {
    let mut all: Vec<Span> = Vec::new();
    // The last line may not be whole yet.
    for line in journal.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        let Line { what, at, fence, .. } = line.parse().unwrap();
        if what == What::Begin {
            all.push(Span { fence, began: at, last: at });
        }
        let own = all.iter_mut().find(|span| span.fence == fence).unwrap();
        own.last = own.last.max(at);
    }
    all
}

/// What happened before is lost to whoever must watch anew: so all members are restarted, and a
/// waiter that stood still meanwhile comes back.
fn compacted_while_others_wait(version: Version) {
    let mut team = Team::start(three(version));
    let leader = team.await_any();
    let frozen = Host::runners().find(|runner| *runner != Team::runner_of(&leader)).unwrap();
    team.freeze(frozen);
    for member in team.etcd.members() {
        compact(&team);
        member.kill().unwrap();
        member.restart().unwrap();
        team.etcd.wait_ready().unwrap();
    }
    compact(&team);
    team.signal(frozen, Signal::CONT);
    team.await_keys(3);
    let leader = team.await_any();
    let struck = clock::now();
    team.kill(Team::runner_of(&leader));
    team.next_within(leader.fence, struck, TAKE_OVER, "compacted, then kill -9");
    team.works_again();
}

/// Writes a little, so that there is something to forget.
fn compact(team: &Team) {
    for number in 0..20 {
        team.etcd.etcdctl(&["put", "other", &number.to_string()]).unwrap();
    }
    forget(team);
}

/// Has etcd forget all revisions but the last.
fn forget(team: &Team) {
    let status = team.etcd.members().filter_map(|member| member.status().ok());
    let revision = status.map(|status| status.revision).max().unwrap().to_string();
    team.etcd.etcdctl(&["compact", &revision]).unwrap();
}

/// Nobody can come any more, but whoever is there leads on, and the next takes over.
fn no_space(version: Version) {
    let mut team = Team::start(three(version).quota(16 << 20));
    let leader = team.await_any();
    let much = "x".repeat(100_000);
    let full = eventually("etcd is full", || team.etcd.etcdctl(&["put", "other", &much]).err());
    assert!(full.to_string().contains("database space exceeded"), "{full}");
    let since = clock::now().after(LEASE);
    sleep(LEASE);
    let same = team.await_leader(Fence::NONE, since);
    assert_eq!(same.fence, leader.fence, "renewals need no space");
    let (code, said) = team.ask();
    assert_eq!((code, said.contains("\"leader\"")), (Some(0), true), "{said}");
    let struck = clock::now();
    let killed = Team::runner_of(&leader);
    team.kill(killed);
    team.next_within(leader.fence, struck, TAKE_OVER, "no space, then kill -9");
    team.start_runner(killed, Manner::Polite);
    eventually("who cannot come says why", || {
        team.said(killed).contains("database space exceeded").then_some(())
    });
    // What an operator does about it.
    forget(&team);
    for member in team.etcd.members() {
        member.etcdctl(&["defrag"]).unwrap();
    }
    team.etcd.etcdctl(&["alarm", "disarm"]).unwrap();
    team.works_again();
}
