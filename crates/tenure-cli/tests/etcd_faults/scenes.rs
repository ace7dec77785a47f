//! What is done to the leader and to etcd, and how long the next leader may take.
//!
//! The soak judges bounds: a formula, and [`NOISE`]. A silent leader keeps its lease at etcd for up
//! to [`lease`], and etcd ends it within [`EXPIRY`]. A new leader of etcd gives each lease its full
//! length again. Until there is one nobody can renew, so with a lease as short as this a leader may
//! have to stop, although etcd is back soon.

use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;
use tenure::clock;
use tenure_core::{Fence, Time};
use tenure_services::Error;
use tenure_services::etcd::{ClusterConfig, Member, Version};
use tenure_testkit::processes::etcd::{
    ELECTION_OF_ETCD, EXPIRY, Etcd, NOISE, PROMPT, lease, take_over, timing,
};
use tenure_testkit::processes::rounds::{self, is_soak};
use tenure_testkit::processes::{Fleet, Line, Manner, What, eventually};

type Scene = fn(Version);

/// Each with the version that it is always played on. Whether a candidate looks again after a
/// compaction shows in a span alone.
pub(crate) const ALL: &[(&str, Scene, Option<Version>)] = &[
    ("rounds_of_faults", rounds_of_faults, Some(Version::Newest)),
    ("leader_of_etcd_killed", leader_of_etcd_killed, Some(Version::Newest)),
    ("leader_of_etcd_stopped", leader_of_etcd_stopped, Some(Version::Oldest)),
    ("no_quorum_for_longer_than_the_lease", no_quorum, Some(Version::Newest)),
    ("lease_revoked_by_hand", lease_revoked_by_hand, Some(Version::Newest)),
    ("compacted_while_others_wait", compacted_while_others_wait, None),
    ("no_space", no_space, Some(Version::Newest)),
];

/// Of [`rounds_of_faults`], in the soak: each kind of fault five times.
const LONG_ROUNDS: usize = 40;

fn start(config: ClusterConfig) -> Fleet<Etcd> {
    Fleet::start(env!("CARGO_BIN_EXE_tenure"), Etcd::start(config))
}

fn three(version: Version) -> ClusterConfig {
    ClusterConfig::new(version, 3)
}

fn rounds_of_faults(version: Version) {
    let command = "TESTS_SEED={} cargo test -p tenure-cli --features etcd --test etcd_faults";
    rounds::play(LONG_ROUNDS, &format!("{command} -- '{version}'"), |_| start(three(version)));
}

/// The leader may survive it, if etcd has a new one before its lease is over.
fn leader_of_etcd_killed(version: Version) {
    let mut team = start(three(version));
    for _ in 0..if is_soak() { 3 } else { 1 } {
        let leader = team.await_any();
        let struck = clock::now();
        let killed = eventually("etcd has a leader", || {
            let killed = team.etcd().leader().ok()??;
            killed.kill().ok()?;
            Some(killed.endpoint().to_owned())
        });
        // Longer than anybody can lead without a word from etcd.
        sleep(lease() + lease() / 4);
        team.someone_leads(&leader, struck, "etcd's leader killed");
        let mut members = team.etcd().members();
        let killed = members.find(|member| member.endpoint() == killed).unwrap();
        killed.restart().unwrap();
        team.etcd().wait_ready().unwrap();
    }
    team.works_again();
}

/// A leader of etcd's that slept ends leases, when it goes on, that were renewed with its successor
/// meanwhile (`docs/decisions/late-revocations.md`). Ours have moved their keys to others by then.
fn leader_of_etcd_stopped(version: Version) {
    let rounds = if is_soak() { 49 } else { 2 };
    let mut team = start(three(version));
    let (mut stayed, mut late) = (0, 0);
    for round in 0..rounds {
        let leader = team.await_any();
        // Its renewals go on, with the next leader of etcd.
        let endpoint = team.asked_by(Fleet::runner_of(&leader)).endpoint().to_owned();
        lead_elsewhere(&team, &endpoint);
        // Renewed at least once, on the lease of this term, and stopped at any moment after.
        sleep(lease() / 2 + lease() * (round % 7) / 21);
        let leader = team.await_any();
        let is_it = |member: &Member| member.status().is_ok_and(|status| status.leads());
        let stopped = eventually("etcd has a leader", || team.etcd().members().position(is_it));
        let before = refused_revocations(team.etcd().member(stopped));
        let struck = clock::now();
        team.etcd().member(stopped).stop().unwrap();
        sleep(lease() * 7 / 8 + Duration::from_millis(u64::from(round * 977 % 2_500)));
        team.etcd().member(stopped).cont().unwrap();
        // For what it has in hand, and for whoever follows to begin.
        sleep(lease() / 2);
        team.someone_leads(&leader, struck, "etcd's leader stopped");
        stayed += u32::from(team.judged().fence() == leader.fence);
        team.etcd().wait_ready().unwrap();
        late += u32::from(refused_revocations(team.etcd().member(stopped)) > before);
    }
    println!(
        "etcd's leader stopped {rounds} times: the leader stayed {stayed} times; {late} times etcd \
         would have ended a lease late that was empty and gone"
    );
    team.works_again();
}

/// How many leases a member wanted to end that were gone already.
fn refused_revocations(member: &Member) -> usize {
    let log = member.log();
    let is_it = |line: &&str| line.contains("failed to revoke") && line.contains("not found");
    log.lines().filter(is_it).count()
}

fn no_quorum(version: Version) {
    let mut team = start(three(version));
    team.await_any();
    team.await_observed();
    let told = team.observed().len();
    [0, 1].iter().for_each(|member| team.etcd().member(*member).kill().unwrap());
    let struck = clock::now();
    // Longer than a lease that was renewed just before, and than etcd takes to end one.
    while clock::now() < struck.after(lease() + EXPIRY) {
        team.judged();
        sleep(lease() / 8);
    }
    let gone = team.judged().current().cloned().unwrap();
    let (worked, within) = (gone.last.since(struck), lease());
    println!("no quorum: the last work after {worked:.2?}, within {within:?}");
    assert!(gone.until <= struck.after(within), "a renewal that no quorum granted");
    // In the gate the judge decides: it allows for a machine that stands still.
    let ended = gone.last <= gone.until || !is_soak();
    assert!(ended, "work beyond the last lease that a quorum granted");
    // Nobody knows, and nobody says that nobody leads.
    eventually("the observer knows that it does not know", || {
        (team.observed().last()? == "unknown").then_some(())
    });
    for _ in 0..2 {
        let (code, said) = team.ask();
        assert_eq!((code, said.contains("vacant")), (Some(4), false), "{said}");
    }
    assert_eq!(team.observed().pop().unwrap(), "unknown", "without a quorum nobody knows more");
    assert!(!team.observed()[told..].contains(&"vacant".to_owned()));
    assert_eq!(team.judged().current().unwrap().last, gone.last, "somebody works");
    let back = clock::now();
    [0, 1].iter().for_each(|member| team.etcd().member(*member).restart().unwrap());
    team.etcd().wait_ready().unwrap();
    // Members need their time to start as well.
    let bound = ELECTION_OF_ETCD + take_over() + NOISE;
    team.next_within(gone.fence, back, bound, "quorum lost and back");
    team.works_again();
}

/// Whoever revokes a lease by hand breaks the promise: the next one may begin before this one has
/// heard of it. It stops as soon as it has, so that they overlap by no more than its grace. With
/// leases so long that renewals come too late to be how it hears of it.
fn lease_revoked_by_hand(version: Version) {
    let team = {
        let etcd = Etcd::start(three(version)).with_lease(Duration::from_secs(120));
        Fleet::start(env!("CARGO_BIN_EXE_tenure"), etcd)
    };
    let revoked = if is_soak() { 3 } else { 1 };
    for _ in 0..revoked {
        let first = team.await_keys(3).swap_remove(0);
        let before = leaderships(&team.journal()).len();
        let (_, lease) = first.rsplit_once('/').unwrap();
        let struck = clock::now();
        done(Some("not found"), || team.etcd().etcdctl(&["lease", "revoke", lease]));
        let [old, new] = eventually("the next leader", || {
            let all = leaderships(&team.journal());
            (all.len() > before).then(|| [all[before - 1], all[before]])
        });
        assert!(new.fence > old.fence, "the fence went back");
        let took = new.began.since(struck);
        println!("lease revoked: fence {} after {took:.2?}, at most {NOISE:?}", new.fence);
        assert!(took <= NOISE || !is_soak());
        // The old one is done when its runner contends again.
        team.await_keys(3);
    }
    let all = leaderships(&team.journal());
    assert_eq!(all.len(), 1 + revoked, "only who was revoked was followed by another");
    for pair in all.windows(2) {
        let overlap = pair[0].last.since(pair[1].began);
        let bound = timing().grace + NOISE;
        println!(
            "overlap of {} and {}: {overlap:.2?}, at most {bound:?}",
            pair[0].fence, pair[1].fence
        );
        assert!(overlap <= bound || !is_soak());
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

/// The next in line stands still for less than a lease. Meanwhile the leader goes, that is
/// forgotten, and so is the member that would have told: whoever watches anew, from where it was,
/// has lost it for ever. So it has to look. Then the same with the observer.
fn compacted_while_others_wait(version: Version) {
    let mut team = start(three(version));
    let mut took = Vec::new();
    for _ in 0..3 {
        team.await_keys(3);
        let leader = team.await_any();
        let next = team.next_in_line();
        let endpoint = team.asked_by(next).endpoint().to_owned();
        lead_elsewhere(&team, &endpoint);
        let gone = team.etcd().members().position(|member| member.endpoint() == endpoint).unwrap();
        team.freeze(next);
        team.etcd().member(gone).kill().unwrap();
        team.resign(&leader);
        compact(team.etcd().member((gone + 1) % 3));
        let thawed = clock::now();
        team.signal(next, Signal::CONT);
        took.push(team.next_within(leader.fence, thawed, take_over(), "compacted meanwhile"));
        team.etcd().member(gone).restart().unwrap();
        team.etcd().wait_ready().unwrap();
    }
    took.sort();
    assert!(took[1] <= PROMPT, "nobody has looked again: {took:?}");

    team.await_keys(3);
    team.freeze("observer");
    for member in team.etcd().members() {
        member.kill().unwrap();
        member.restart().unwrap();
        team.etcd().wait_ready().unwrap();
    }
    let leader = team.await_any();
    team.hand_over(&leader);
    compact(team.etcd().member(0));
    team.signal("observer", Signal::CONT);
    team.await_observed();
    team.works_again();
}

/// Has etcd be led by another member than the one at `endpoint`.
fn lead_elsewhere(team: &Fleet<Etcd>, endpoint: &str) {
    let moved = || {
        let leader = team.etcd().leader().ok()??;
        if leader.endpoint() == endpoint {
            let mut others = team.etcd().members().filter(|other| other.endpoint() != endpoint);
            let other = format!("{:x}", others.next()?.status().ok()?.member);
            leader.etcdctl(&["move-leader", &other]).ok()?;
            return None;
        }
        Some(())
    };
    eventually("another member leads", moved);
}

/// Writes a little, so that there is something to forget. Asks one member: `etcdctl` takes
/// seconds when one of several is gone.
fn compact(member: &Member) {
    for number in ["1", "2"] {
        done(None, || member.etcdctl(&["put", "other", number]));
    }
    forget(member);
}

/// Has etcd forget all revisions but the last.
fn forget(member: &Member) {
    done(Some("has been compacted"), || {
        let revision = member.status()?.revision.to_string();
        member.etcdctl(&["compact", &revision])
    });
}

/// Repeats a command until etcd confirms it: a leader of etcd that stands still may lose the
/// command or the answer. etcd says `before` of a command that it does not carry out twice.
fn done(before: Option<&str>, ask: impl Fn() -> Result<String, Error>) {
    eventually("etcd does what it is asked", || match ask() {
        Ok(_) => Some(()),
        Err(error) => error.to_string().contains(before?).then_some(()),
    });
}

/// Nobody can come any more, but whoever is there leads on, and the next takes over.
fn no_space(version: Version) {
    let lease = Duration::from_secs(20);
    let etcd = Etcd::start(three(version).quota(4 << 20)).with_lease(lease);
    let mut team = Fleet::start(env!("CARGO_BIN_EXE_tenure"), etcd);
    let much = "x".repeat(100_000);
    eventually("etcd is full", || {
        let refused = team.etcd().etcdctl(&["put", "other", &much]).err()?;
        refused.to_string().contains("database space exceeded").then_some(())
    });
    let leader = team.await_any();
    let same = eventually("renewals need no space", || {
        let now = team.judged().current().cloned()?;
        (now.until > leader.until).then_some(now)
    });
    assert_eq!(same.fence, leader.fence, "renewals need no space");
    let (code, said) = team.ask();
    assert_eq!((code, said.contains("\"leader\"")), (Some(0), true), "{said}");
    let struck = clock::now();
    let killed = Fleet::runner_of(&leader);
    team.kill(killed);
    let bound = lease + EXPIRY + NOISE;
    team.next_within(leader.fence, struck, bound, "no space, then kill -9");
    team.start_runner(killed, Manner::Polite);
    eventually("who cannot come says why", || {
        team.said(killed).contains("database space exceeded").then_some(())
    });
    // What an operator does about it.
    forget(team.etcd().member(0));
    for member in team.etcd().members() {
        done(None, || member.etcdctl(&["defrag"]));
    }
    done(None, || team.etcd().etcdctl(&["alarm", "disarm"]));
    team.works_again();
}
