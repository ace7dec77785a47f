//! Supervised release: a member reports the end of a process that it watches.

use tenure_core::nerio::{
    Effect, Event, Gone, Ignored, Inc, Message, OwnEvent, Record, Refusal, Sender, Supervisor,
    ToAsker, Who,
};

use crate::story::*;

/// A story in which member a watches the process of p.
fn story() -> Story {
    let mut s = Story::new();
    let p = s.actor("p");
    p.core = p.core.clone().supervised_by(Some(name("a")));
    s
}

fn supervisor(by: &str) -> Message {
    Message::from(Supervisor { name: name(by) })
}

fn gone(who: &Who) -> Message {
    Message::from(Gone { who: who.clone() })
}

/// p ends without a message, and its letters under way are lost.
fn kill(s: &mut Story) -> Who {
    let who = s.who("p");
    s.actors.remove("p");
    s.letters.retain(|letter| letter.by != "p");
    who
}

fn reports(s: &mut Story, by: &str, who: &Who) {
    for grantor in GRANTORS {
        s.tell(by, grantor, gone(who));
    }
}

fn ignored(effects: &[Effect]) -> Vec<Ignored> {
    let reason = |event| match event {
        Event::Own(OwnEvent::Ignored(reason)) => Some(reason),
        _ => None,
    };
    emitted(effects).into_iter().filter_map(reason).collect()
}

#[test]
fn end_of_process_frees_election() {
    let mut s = story();
    s.elect("p");
    s.campaign("q");
    s.run(ms(50));
    let who = kill(&mut s);
    reports(&mut s, "a", &who);
    s.deliver_all();
    assert_eq!(s.leader(), Some("q"));
    assert!(s.fence("q") > 1);
    let event = Event::Own(OwnEvent::Gone { who, by: name("a") });
    assert!(s.events("b").contains(&event));
}

/// A release would have to name a Start at or above the highest granted Start; the report names no
/// Start.
#[test]
fn report_ends_any_start() {
    let mut s = Story::new();
    s.tell("p", "b", supervisor("a"));
    s.ask("p", "b", request(at(10)));
    s.ask("p", "b", renewal(at(500), 1));
    let who = s.who("p");
    s.tell("a", "b", gone(&who));
    assert_eq!(s.holder("b"), None);
}

#[test]
fn only_the_supervisor_reports() {
    let mut s = story();
    s.elect("p");
    let who = s.who("p");
    assert_eq!(ignored(&s.tell("c", "b", gone(&who))), [Ignored::NotTheSupervisor]);
    let unproved = Sender { proved: false, ..s.sender("a") };
    assert_eq!(ignored(&s.tell_as(&unproved, "b", gone(&who))), [Ignored::NotAMember]);
    let stranger = Sender { proved: true, ..s.sender("q") };
    assert_eq!(ignored(&s.tell_as(&stranger, "b", gone(&who))), [Ignored::NotAMember]);
    assert_eq!(s.holder("b").as_deref(), Some("p"));
}

#[test]
fn unwatched_process_keeps_its_grants() {
    let mut s = Story::new();
    s.elect("p");
    let who = s.who("p");
    assert_eq!(ignored(&s.tell("a", "b", gone(&who))), [Ignored::NotTheSupervisor]);
    assert_eq!(s.holder("b").as_deref(), Some("p"));
}

/// A forger that overhears an incarnation must not be able to name a supervisor for it.
#[test]
fn first_supervisor_stays() {
    let mut s = story();
    s.elect("p");
    let who = s.who("p");
    let forger = Sender { address: address("z"), proved: false, ..s.sender("p") };
    s.tell_as(&forger, "b", supervisor("c"));
    s.tell("p", "b", supervisor("c"));
    assert_eq!(ignored(&s.tell("c", "b", gone(&who))), [Ignored::NotTheSupervisor]);
    assert_eq!(s.holder("b").as_deref(), Some("p"));
}

/// Here the forger comes first, as p is not watched. But p holds its grant from p's own address.
#[test]
fn report_for_another_address_frees_nothing() {
    let mut s = Story::new();
    let forger = Sender { address: address("z"), proved: false, ..s.sender("p") };
    s.tell_as(&forger, "b", supervisor("c"));
    s.elect("p");
    let who = s.who("p");
    s.tell("c", "b", gone(&who));
    assert_eq!(s.holder("b").as_deref(), Some("p"));
}

/// A member reports the end of the process at the forger's address: p leads on from its own
/// address.
#[test]
fn forged_end_stops_no_leader() {
    let mut s = Story::new();
    s.elect("p");
    let forger = Sender { address: address("z"), proved: false, ..s.sender("p") };
    let who = s.who("p");
    for grantor in GRANTORS {
        s.tell_as(&forger, grantor, supervisor("c"));
        s.tell("c", grantor, gone(&who));
    }
    s.run(ms(5_000));
    assert!(s.leads("p"), "{:?}", s.events("p"));
    let ended = |event: &Event| matches!(event, Event::Ended(_));
    assert!(!s.events("p").iter().any(ended));
    let forged = s.tell_as(&forger, "b", Message::from(request(at(9_000))));
    assert_eq!(ignored(&forged), [Ignored::Gone]);
}

/// The waiting request of p came from another address than the forger's, and stays.
#[test]
fn forged_end_drops_no_request() {
    let mut s = Story::new();
    s.ask("q", "b", request(at(5)));
    s.ask("p", "b", request(at(10)));
    let forger = Sender { address: address("z"), proved: false, ..s.sender("p") };
    s.tell_as(&forger, "b", supervisor("c"));
    let who = s.who("p");
    s.tell("c", "b", gone(&who));
    assert_eq!(s.state("b").waiting, 1);
}

#[test]
fn report_drops_the_parked_request() {
    let mut s = Story::new();
    s.ask("q", "b", request(at(5)));
    s.tell("p", "b", supervisor("a"));
    assert!(matches!(
        refusal(&s.ask("p", "b", request(at(10)))),
        Some(Refusal::Held { parked: true, .. })
    ));
    let who = s.who("p");
    s.tell("a", "b", gone(&who));
    assert_eq!(s.state("b").waiting, 0);
    s.tell("q", "b", release(at(5)));
    assert_eq!(s.holder("b"), None);
}

#[test]
fn later_request_is_ignored() {
    let mut s = Story::new();
    s.tell("p", "b", supervisor("a"));
    s.ask("p", "b", request(at(10)));
    let who = s.who("p");
    s.tell("a", "b", gone(&who));
    s.tell("p", "b", supervisor("a"));
    assert_eq!(ignored(&s.ask("p", "b", request(at(20)))), [Ignored::Gone]);
    assert_eq!(s.holder("b"), None);
}

/// Another process may have the number of the ended process by now, but never its incarnation.
#[test]
fn repeated_report_ends_no_successor() {
    let mut s = story();
    s.elect("p");
    let old = s.who("p");
    s.drop_all();
    s.restart("p");
    let p = s.actor("p");
    p.core = p.core.clone().supervised_by(Some(name("a")));
    reports(&mut s, "a", &old);
    s.elect("p");
    let fence = s.fence("p");
    for grantor in GRANTORS {
        assert_eq!(ignored(&s.tell("a", grantor, gone(&old))), [Ignored::Duplicate]);
    }
    s.run(ms(2_000));
    assert_eq!((s.leader(), s.fence("p")), (Some("p"), fence));
}

/// A grantor that has started again knows no supervisor until the next request names it.
#[test]
fn restarted_grantor_waits_for_the_name() {
    let mut s = story();
    s.elect("p");
    let who = s.who("p");
    s.restart("b");
    s.deliver_all();
    assert_eq!(ignored(&s.tell("a", "b", gone(&who))), [Ignored::NotTheSupervisor]);
    assert_eq!(s.holder("b").as_deref(), Some("p"));
    s.run(ms(400));
    s.tell("a", "b", gone(&who));
    assert_eq!(s.holder("b"), None);
}

#[test]
fn report_ends_no_quarantine() {
    let mut s = story();
    s.elect("p");
    let who = s.who("p");
    s.reboot("b");
    s.tell("p", "b", supervisor("a"));
    s.tell("a", "b", gone(&who));
    let refused = refusal(&s.ask("q", "b", request(at(20))));
    assert!(matches!(refused, Some(Refusal::Quarantine { .. })), "{refused:?}");
}

#[test]
fn promise_precedes_its_answer() {
    let mut s = story();
    s.elect("p");
    let promise = |effect: &Effect| match effect {
        Effect::Persist(Record::Promise { until }) => Some(*until),
        _ => None,
    };
    let answers = |effect: &Effect| {
        let Effect::Send { message, .. } = effect else { return false };
        matches!(message, Message::Asker(ToAsker::Remainder(_)))
    };
    let now = s.now("p");
    let effects = s.tell("q", "p", verify(at(7)));
    let written = effects.iter().position(|effect| promise(effect).is_some());
    let answered = effects.iter().position(answers);
    assert!(written < answered && written.is_some(), "{effects:?}");
    let remaining = remainder(&effects).unwrap().remaining;
    let until = effects.iter().find_map(promise).unwrap();
    assert!(until >= now.after(s.config.drift.stretch(remaining).saturating_sub(ms(1))));

    let sent = |s: &Story| s.letters.iter().filter(|letter| letter.by == "p").count();
    let before = sent(&s);
    s.failing = Some("p");
    s.tell("q", "p", verify(at(8)));
    assert_eq!(sent(&s), before, "no answer without the promise");
}

#[test]
fn unwatched_leader_writes_no_promise() {
    let mut s = Story::new();
    s.elect("p");
    let effects = s.tell("q", "p", verify(at(7)));
    assert!(remainder(&effects).is_some());
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Persist(_))));
}

/// Any sender can name incarnations and supervisors.
#[test]
fn watched_processes_are_bounded() {
    let mut s = story();
    let printed = |s: &mut Story| format!("{:?}", s.actor("b").core).len();
    let forge = |s: &mut Story, from: u128, to: u128| {
        for inc in from..to {
            let forged = Sender { who: Who { name: name("z"), inc: Inc(inc) }, ..s.sender("q") };
            s.tell_as(&forged, "b", supervisor("a"));
            let who = forged.who.clone();
            if inc % 2 == 0 {
                s.tell("a", "b", gone(&who));
            }
        }
    };
    forge(&mut s, 1_000, 5_000);
    let full = printed(&mut s);
    forge(&mut s, 5_000, 9_000);
    assert!(printed(&mut s) <= full + 64, "{full} and more");
    s.elect("p");
    let who = s.who("p");
    s.tell("a", "b", gone(&who));
    assert_eq!(s.holder("b"), None, "a new one is watched all the same");
}
