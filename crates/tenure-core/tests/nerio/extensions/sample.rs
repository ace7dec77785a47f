//! A single clock sample for each decision.

use crate::story::*;

/// The sample that the free test uses is taken after the message was received, and is also T_q.
#[test]
fn free_test_sample_is_t_q() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    s.slip(ms(500));
    let effects = s.ask("p", "a", request(at(20)));
    let ok = granted(&effects).unwrap();
    assert_eq!(ok.stamp.clock, at(10_500));
    let finish = at(10_500).after(ms(1_100));
    assert_eq!(s.state("a").holder.unwrap().remaining, finish.since(at(10_500)));
}

/// A Start may serve many elections in one datagram: all state is per election.
#[test]
fn shared_start_serves_many_elections() {
    let mut s = Story::new();
    for election in ["x", "y", "z"] {
        let mut request = request(at(10));
        request.election = election.parse().unwrap();
        assert!(granted(&s.ask("p", "a", request)).is_some());
    }
    s.tell("p", "a", release(at(10)));
    assert_eq!(s.holder("a"), None);
    let mut repeated = request(at(10));
    repeated.election = "y".parse().unwrap();
    assert!(granted(&s.ask("p", "a", repeated)).is_some(), "y is still granted");
}

#[test]
fn an_early_timeout_does_nothing() {
    let mut s = Story::new();
    s.elect("p");
    for who in ["a", "p", "q"] {
        let before = s.actor(who).core.clone();
        assert_eq!(s.step(who, tenure_core::Input::Timeout), []);
        assert_eq!(s.actor(who).core, before, "{who}");
    }
}
