//! Succession.

use tenure_core::NodeName;
use tenure_core::nerio::{Command, Event, Ignored, OwnEvent, Request};

use crate::story::*;

/// Rule 1: after a release `F := C`, and the grantor handles `next` if it waits and is fresh, else
/// the best by the common order, at once.
#[test]
fn a_release_hands_over_to_next() {
    for next in ["q", "r"] {
        let mut s = Story::new();
        s.ask("p", "a", request(at(10)));
        s.ask("q", "a", request(at(20)));
        s.ask("r", "a", request(at(20)));
        let effects = s.tell("p", "a", release_for(10, next));
        assert!(granted(&effects).is_some(), "at once");
        assert_eq!(s.holder("a").as_deref(), Some(next));
    }
}

/// Rule 2: the common order is the same at all grantors, and never the order of arrival.
#[test]
fn common_order_ignores_arrival() {
    let mut winners = Vec::new();
    for order in [["p", "q"], ["q", "p"]] {
        let mut s = Story::new();
        for grantor in GRANTORS {
            s.ask("r", grantor, request(at(10)));
            for candidate in order {
                s.ask(candidate, grantor, request(at(20)));
            }
            s.tell("r", grantor, release(at(10)));
            winners.push(s.holder(grantor));
        }
    }
    winners.dedup();
    assert_eq!(winners.len(), 1, "{winners:?}");
}

#[test]
fn the_higher_priority_goes_first() {
    for urgent in ["p", "q"] {
        let mut s = Story::new();
        s.ask("r", "a", request(at(10)));
        for candidate in ["p", "q"] {
            let mut request = request(at(20));
            request.priority = u8::from(candidate == urgent);
            s.ask(candidate, "a", request);
        }
        s.tell("r", "a", release(at(10)));
        assert_eq!(s.holder("a").as_deref(), Some(urgent));
    }
}

/// A leader that waits for a grantor goes before candidates that do not lead.
#[test]
fn leader_goes_before_other_candidates() {
    let mut s = Story::new();
    s.ask("r", "a", request(at(10)));
    let mut urgent = request(at(20));
    urgent.priority = 200;
    s.ask("q", "a", urgent);
    let mut renewal = request(at(20));
    renewal.leading = true;
    s.ask("p", "a", renewal);
    s.tell("r", "a", release(at(10)));
    assert_eq!(s.holder("a").as_deref(), Some("p"));
}

/// Rule 3: a first lease is short, and is renewed at once on completion.
#[test]
fn first_lease_is_short() {
    let mut s = Story::new();
    let begin = s.campaign("p");
    assert!(requests(&begin).iter().all(|request| request.delta == ms(1_000)), "at most a lease");
    let mut config = config(&GRANTORS);
    config.lease = ms(2_000);
    let mut s = Story::with(config);
    let begin = s.campaign("p");
    let first = s.config.lease_first();
    assert_eq!(first, ms(1_000));
    assert!(requests(&begin).iter().all(|request| request.delta == first && !request.leading));
    s.slip(ms(1));
    s.deliver("p", "a");
    s.deliver("p", "b");
    s.deliver("a", "p");
    let completion = s.deliver("b", "p");
    let renewal = requests(&completion);
    assert_eq!(renewal.len(), 3, "renewed at once");
    assert!(renewal.iter().all(|request| request.delta == ms(2_000) && request.leading));
}

/// Rule 4: a candidate never counts votes: it does not yield while it may still win.
#[test]
fn possible_winner_does_not_yield() {
    let mut s = Story::new();
    s.ask("q", "a", request(at(10)));
    s.campaign("p");
    s.deliver("p", "a");
    s.deliver("p", "b");
    s.deliver("b", "p");
    let effects = s.deliver("a", "p");
    assert_eq!(releases(&effects), [], "b and c would be a quorum");
}

/// Rule 2: a change of holder clears `next`, which the earlier holder had named.
#[test]
fn next_ends_with_its_holder() {
    let mut s = Story::new();
    s.ask("p", "a", Request { next: Some(name("q")), ..request(at(10)) });
    s.ask("r", "a", request(at(20)));
    s.tell("p", "a", release(at(10)));
    assert_eq!(s.holder("a").as_deref(), Some("r"), "q did not wait");
    s.ask("q", "a", request(at(30)));
    s.ask("p", "a", Request { priority: 1, ..request(at(30)) });
    s.tell("r", "a", release(at(20)));
    assert_eq!(s.holder("a").as_deref(), Some("p"), "r named nobody");
}

/// Rule 3: a leader names only a candidate heard from within 2 R.
#[test]
fn leader_names_only_fresh_candidates() {
    let mut s = Story::new();
    s.elect("p");
    s.campaign("q");
    s.run(ms(400));
    s.actors.remove("q");
    s.run(ms(1_000));
    let releases = releases(&s.resign("p"));
    assert_eq!(releases.len(), 3);
    assert!(releases.iter().all(|release| release.next.is_none()), "{releases:?}");
}

/// Three candidates hold one grantor each. Returns the yielding candidates, their grantors, and the
/// candidates named as next.
fn split_vote(s: &mut Story) -> Vec<(&'static str, &'static str, Option<NodeName>)> {
    for candidate in CANDIDATES {
        s.campaign(candidate);
    }
    for (candidate, grantor) in CANDIDATES.into_iter().zip(GRANTORS) {
        s.deliver(candidate, grantor);
    }
    for candidate in CANDIDATES {
        for grantor in GRANTORS {
            s.deliver(candidate, grantor);
        }
    }
    let mut yields = Vec::new();
    for (candidate, own) in CANDIDATES.into_iter().zip(GRANTORS) {
        for grantor in GRANTORS {
            let released = releases(&s.deliver(grantor, candidate));
            yields.extend(released.into_iter().map(|release| (candidate, own, release.next)));
        }
    }
    yields
}

/// Rule 4: exactly one of the rivals does not yield, and the others yield to it.
#[test]
fn all_yield_to_the_highest() {
    let yields = split_vote(&mut Story::new());
    assert_eq!(yields.len(), 2, "{yields:?}");
    let yielded = |who: &&str| yields.iter().any(|(candidate, ..)| candidate == who);
    let highest = CANDIDATES.into_iter().find(|who| !yielded(who)).unwrap();
    assert!(yields.iter().all(|(.., next)| *next == Some(name(highest))), "{yields:?}");
}

/// Rule 4: a refusal from before the last grant is no reason to give that grant away: the holder
/// that the refusal names may have gone since.
#[test]
fn older_refusal_causes_no_yield() {
    let mut s = Story::new();
    s.ask("p", "a", request(at(10)));
    for grantor in ["b", "c"] {
        s.ask("r", grantor, Request { priority: 1, ..request(at(10)) });
    }
    s.campaign("q");
    s.deliver_all();
    s.slip(ms(1));
    assert!(granted(&s.tell("p", "a", release(at(10)))).is_some());
    assert_eq!(releases(&s.deliver("a", "q")), [], "b and c have named r, but before");
    s.pass(ms(100));
    s.deliver("q", "b");
    s.deliver("q", "c");
    s.deliver("b", "q");
    assert_eq!(releases(&s.deliver("c", "q")).len(), 1, "now they say so again");
}

/// Rule 4: after it has yielded, a candidate waits for `remaining` plus a random time.
#[test]
fn candidate_pauses_after_yielding() {
    let mut s = Story::new();
    let yields = split_vote(&mut s);
    s.drop_all();
    s.pass(ms(300));
    for (candidate, own, _) in yields {
        assert!(s.take(candidate, own).is_empty(), "{candidate} asks {own} again");
        assert!(!s.letters.is_empty(), "though it goes on asking the others");
    }
}

/// Rule 4: a candidate does not yield to a leader without a renewal. Such a leader may be dead:
/// then its grants end one after the other, and the candidate needs its first grant.
#[test]
fn dead_leader_gains_no_yield() {
    let mut s = Story::new();
    let leads = |start| Request { leading: true, ..request(at(start)) };
    for grantor in GRANTORS {
        s.ask("p", grantor, leads(10));
    }
    s.campaign("q");
    s.run(ms(50));
    let handed = s.tell("p", "a", release(at(10)));
    assert!(granted(&handed).is_some(), "as if the clock of a were the fastest");
    s.run(ms(300));
    assert_eq!(s.holder("a").as_deref(), Some("q"), "b and c say that p led, and no more");
    s.ask("p", "b", leads(20));
    s.run(ms(100));
    assert_eq!(s.holder("a"), None, "b says that p has renewed");
}

/// Two candidates block each other: q holds a and waits at b and c, p holds b and c, and p ranks
/// above q. Then q yields a, p gets a as well, and p leads. Returns the ok of a to q.
fn yielded(s: &mut Story) -> Letter {
    s.command("p", Command::Campaign { value: "".parse().unwrap(), priority: 1 });
    s.campaign("q");
    s.deliver("q", "a");
    s.deliver("p", "b");
    s.deliver("p", "c");
    let ok = s.letters.iter().find(|letter| letter.by == "a").cloned().unwrap();
    s.deliver_all();
    assert!(s.leads("p"));
    assert_eq!(s.holder("a").as_deref(), Some("p"), "q yielded");
    ok
}

/// Parked requests 4: an ok that arrives again does not take back a yielded grant.
#[test]
fn ok_after_yield_does_not_count() {
    let mut s = Story::new();
    let ok = yielded(&mut s);
    assert_eq!(emitted(&s.put(&ok)), [Event::Own(OwnEvent::Ignored(Ignored::Unasked))]);
}

/// Rule 4: the rival has gone, and with it the reason to wait.
#[test]
fn candidate_asks_again_after_rival() {
    let mut s = Story::new();
    yielded(&mut s);
    s.slip(ms(1));
    s.resign("p");
    s.deliver("p", "a");
    s.deliver("p", "c");
    s.drop_all_but("c", "q");
    s.deliver("c", "q");
    let asked: Vec<_> = GRANTORS.iter().filter(|to| !s.take("q", to).is_empty()).collect();
    assert_eq!(asked, [&"a", &"b", &"c"], "at once, not when the lease of p would have ended");
}

/// Rule 4: two candidates that hold one grant each, and wait for a third grantor that is dead, do
/// not wait for ever.
#[test]
fn candidates_skip_silent_grantor() {
    let mut s = Story::new();
    s.actors.remove("c");
    s.campaign("p");
    s.campaign("q");
    s.deliver("p", "a");
    s.deliver("q", "b");
    let parked_for = s.config.parked_for();
    s.run(parked_for + REFRESH * 2);
    let leader = s.leader();
    assert!(leader.is_some(), "of the two that are left a quorum can be made");
    s.run(ms(2_000));
    assert_eq!(s.leader(), leader, "and it lasts");
}

/// Rule 4: candidates do not wait for a grantor that answers that it cannot grant.
#[test]
fn candidates_skip_grantor_in_quarantine() {
    let mut s = Story::new();
    s.reboot("c");
    s.campaign("p");
    s.campaign("q");
    s.deliver("p", "a");
    s.deliver("q", "b");
    s.run(REFRESH * 3);
    assert!(s.leader().is_some(), "long before the quarantine ends");
}
