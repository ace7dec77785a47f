//! A disk that cannot be written, for one record or for all.

use tenure_core::Input;
use tenure_core::nerio::{Effect, Record, Refusal, Request};

use crate::story::*;

fn of(election: &str, request: Request) -> Request {
    Request { election: election.parse().unwrap(), ..request }
}

/// The elections whose records these effects write.
fn written(effects: &[Effect]) -> Vec<String> {
    let election = |effect: &Effect| match effect {
        Effect::Persist(Record::Grant(record)) => Some(record.election.to_string()),
        Effect::Persist(Record::Forget(election)) => Some(election.to_string()),
        _ => None,
    };
    effects.iter().filter_map(election).collect()
}

/// Restart 4: a full disk has no room for another record; known records are replaced.
#[test]
fn full_disk_renews_known_records() {
    let mut s = Story::new();
    assert!(granted(&s.ask("p", "a", renewal(at(10), 1))).is_some());
    s.failing = Some("a");
    s.ask("q", "a", of("new", request(at(10))));
    s.slip(ms(100));
    assert!(granted(&s.ask("p", "a", renewal(at(20), 1))).is_some(), "the leader stays");
    for election in ["new", "newer"] {
        let refused = refusal(&s.ask("q", "a", of(election, request(at(20)))));
        assert_eq!(refused, Some(Refusal::Disk), "{election}");
    }
    // A record that could not be replaced shows nothing about other records.
    s.failing = Some("a");
    s.slip(ms(900));
    s.ask("p", "a", renewal(at(30), 1));
    assert_eq!(refusal(&s.ask("p", "a", renewal(at(40), 1))), Some(Refusal::Disk));
    assert!(granted(&s.ask("q", "a", of("newer", request(at(40))))).is_some());
}

/// Restart 4: the record that is tried again may fail again. If other records were written with the
/// same input, these would then count as unwritten, too.
#[test]
fn repeated_record_is_alone() {
    let mut s = Story::new();
    s.ask("p", "a", of("held", request(at(10))));
    s.failing = Some("a");
    s.ask("p", "a", of("bad", request(at(10))));
    s.slip(ms(1_000));
    s.ask("q", "a", of("held", request(at(10))));
    s.slip(ms(100));
    assert_eq!(written(&s.step("a", Input::Timeout)), ["held"], "it is q's now");
    s.slip(ms(1));
    assert_eq!(written(&s.step("a", Input::Timeout)), ["bad"]);
}

/// A grantor never reports an unwritten grant, even when more records are missing than the grantor
/// has elections: records of forgotten elections give way.
#[test]
fn unwritten_grants_are_never_reported() {
    let mut config = config(&GRANTORS);
    config.limits.elections = 2;
    let mut s = Story::with(config);
    for election in ["one", "two"] {
        s.failing = Some("a");
        s.ask("p", "a", of(election, request(at(10))));
        s.slip(ms(1_000));
    }
    let mut forgotten = 0;
    for _ in 0..200 {
        s.failing = Some("a");
        let effects = s.step("a", Input::Timeout);
        let is_forget = |effect: &&Effect| matches!(effect, Effect::Persist(Record::Forget(_)));
        forgotten += effects.iter().filter(is_forget).count();
        s.slip(ms(100));
    }
    assert!(forgotten > 2, "they are forgotten, and that is not written either");
    s.failing = Some("a");
    s.ask("p", "a", request(at(20)));
    assert_eq!(s.holder("a"), None, "its record is not written");
}

/// A disk flushes slowly, and has no room for one record: the reserve under way counts when it is
/// durable, and the grantor asks for no other meanwhile.
#[test]
fn failed_record_keeps_the_reserve() {
    let mut s = Story::new();
    s.slow_disks = true;
    s.ask("p", "a", proposal(at(10), 1_000));
    assert_eq!(s.actor("a").flushes.len(), 1);
    for n in 0..5 {
        s.failing = Some("a");
        s.ask("q", "a", of("new", request(at(20 + n))));
        s.slip(ms(1_000));
        s.ask("p", "a", proposal(at(30 + n), 1_000));
        assert_eq!(s.actor("a").flushes.len(), 1, "{n}");
    }
    s.flush_one("a");
    let said = s.ask("p", "a", proposal(at(40), 1_500));
    assert!(granted(&said).is_some_and(|ok| ok.accepted), "{said:?}");
}

/// The identity file is gone, and only a flush brings it back: a failed record must not delay this
/// flush.
#[test]
fn failed_record_delays_no_flush() {
    let mut s = Story::new();
    s.slow_disks = true;
    s.ask("p", "a", proposal(at(10), 1_000));
    let ticket = s.actor("a").flushes[0].0;
    s.actor("a").flushes.clear();
    s.failing = Some("a");
    s.ask("q", "a", of("new", request(at(20))));
    s.step("a", Input::Failed(Some(ticket)));
    for n in 0..5 {
        s.slip(ms(1_001));
        s.failing = Some("a");
        s.step("a", Input::Timeout);
        assert_eq!(s.actor("a").flushes.len(), 1, "{n}");
    }
}
