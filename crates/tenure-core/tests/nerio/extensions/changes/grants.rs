//! 2.4: grants in an epoch while leases of the previous epoch may last.

use tenure_core::nerio::epoch::RestBounds;
use tenure_core::nerio::{Acceptor, AcceptorState, Query, Record, Refusal, Service, State};
use tenure_core::{Input, Ticket, Time};

use super::*;

/// Epoch 1, right after the change. p died just before the change, and its lease lasts.
fn orphaned() -> (Story, EpochId) {
    let mut s = Story::new();
    s.elect("p");
    blank(&mut s, "d");
    ask(&mut s, "a", 7, add("d"));
    s.run(ms(150));
    s.actors.remove("p");
    s.run(ms(60));
    let epoch = document(&s, "a").id();
    assert!(epoch.number == 1 && has_entered(&s, "d", 1), "{:?}", s.events("d"));
    (s, epoch)
}

fn holder(refused: Option<Refusal>) -> Option<String> {
    match refused {
        Some(Refusal::Held { holder, .. }) => Some(holder.who.name.to_string()),
        _ => None,
    }
}

fn state_in(s: &mut Story, epoch: EpochId, grantor: &'static str) -> State {
    let query = Query { election: x(), start: at(1) };
    let effects = tell_in(s, epoch, "r", grantor, query);
    sent(&effects)
        .find_map(|message| match message {
            Message::Asker(ToAsker::State(state)) => Some(state.clone()),
            _ => None,
        })
        .unwrap()
}

/// 2.4.5: d, which granted nothing to p, keeps q out until p's lease has ended.
#[test]
fn inherited_holder_keeps_others_out() {
    let (mut s, epoch) = orphaned();
    for grantor in ["a", "b", "c", "d"] {
        let effects = ask_in(&mut s, epoch, "q", grantor, request(at(1)));
        assert_eq!(holder(refusal(&effects)).as_deref(), Some("p"), "{grantor}");
    }
    // This is (1 + ρ)δ after the last renewal.
    s.pass(ms(1_100));
    let effects = ask_in(&mut s, epoch, "q", "d", request(at(2)));
    assert!(granted(&effects).is_some());
}

/// 2.4.5: q waits at d, and is granted when p's lease has ended.
#[test]
fn waiting_request_follows_inherited_lease() {
    let (mut s, epoch) = orphaned();
    s.campaign("q");
    s.run(ms(1_500));
    assert!(s.leads("q"));
    assert!(state_in(&mut s, epoch, "d").holder.is_some());
}

/// 2.4.6: p renews in epoch 1 with a shorter lease.
#[test]
fn grant_outlasts_inherited_lease() {
    let (mut s, epoch) = orphaned();
    s.start("p", None);
    let inherited = refused(&ask_in(&mut s, epoch, "q", "d", request(at(1)))).unwrap();
    let Refusal::Held { holder, .. } = inherited.refusal else { panic!() };
    let from = Sender { who: holder.who.clone(), ..sender_in(&s, "p", epoch) };
    let short = Request { lease: ms(100), ..for_span(at(900_000), ms(100)) };
    let effects = s.tell_as(&from, "d", short.into());
    let finish = effects.iter().find_map(|effect| match effect {
        Effect::Persist(Record::Grant(grant)) => Some(grant.finish),
        _ => None,
    });
    let rest = finish.unwrap().since(s.now("d"));
    assert!(rest >= holder.remaining && rest > ms(110), "{rest:?}");
}

/// 2.4.8: the process of d starts again, and has forgotten the names of holders.
#[test]
fn restart_waits_for_inherited_leases() {
    let (mut s, epoch) = orphaned();
    s.drop_all();
    s.restart("d");
    let effects = ask_in(&mut s, epoch, "q", "d", request(at(1)));
    let refused = refusal(&effects);
    assert!(matches!(refused, Some(Refusal::Quarantine { .. })), "{refused:?}");
    let into = document(&s, "a").id();
    let answer = rests(&mut s, "a", "d", RestsRead { into, after: None }).unwrap();
    assert!(!answer.bounds.unknown.is_zero(), "its answers say so");
    s.pass(ms(1_100));
    assert!(granted(&ask_in(&mut s, epoch, "q", "d", request(at(2)))).is_some());
}

/// 2.4.8: after a restart, an election with a record has its holder again.
#[test]
fn restart_keeps_grants_of_the_epoch() {
    let mut s = grown();
    let epoch = document(&s, "a").id();
    s.drop_all();
    s.restart("d");
    let state = state_in(&mut s, epoch, "d");
    assert_eq!(state.holder.unwrap().who.name, name("p"));
    s.run(ms(500));
    assert!(s.leads("p"));
}

/// 2.4.9: the machine of d restarts. p's lease of epoch 0 may be longer than the leases of d.
#[test]
fn quarantine_covers_inherited_leases() {
    let mut s = Story::new();
    blank(&mut s, "d");
    s.drop_all();
    let next = successor(&mut s, &["a", "b", "c", "d"]);
    decide(&mut s, "a", "d", Some(ballot(1)), &next);
    let (epoch, into) = (zero(&s), next.id());
    for member in ["a", "b"] {
        let state = AcceptorState::Wedged { epoch, ballot: ballot(1), into };
        let (rest, unknown) = (ms(9_000), ms(9_000));
        let bounds = RestBounds { rest, unknown, floor: Fence::NONE };
        let acceptor = Acceptor { instance: s.instance(member), memories: vec![] };
        let (asker, rests) = (s.who("d").inc, vec![]);
        let answer =
            Rests { asker, into, acceptor, state, bounds, after: None, rests, more: false };
        tell_in(&mut s, epoch, member, "d", answer);
    }
    assert!(has_entered(&s, "d", 1));
    s.reboot("d");
    let refused = refusal(&ask_in(&mut s, into, "q", "d", request(at(1))));
    assert_eq!(refused, Some(Refusal::Quarantine { remaining: ms(9_000) }));
    s.pass(ms(9_000));
    let effects = ask_in(&mut s, into, "q", "d", request(at(2)));
    assert!(granted(&effects).is_some());
    s.drop_all();
    s.restart("d");
    let effects = ask_in(&mut s, into, "r", "d", request(at(1)));
    assert_eq!(holder(refusal(&effects)).as_deref(), Some("q"), "its new table is one of epoch 1");
}

/// 2.4.9: at the end of a quarantine the grantor begins a new table of grants. Its disk is full at
/// that instant, and the driver drops every effect after the record of the table.
#[test]
fn failed_table_drops_no_vote() {
    let mut s = grown();
    s.drop_all();
    s.reboot("a");
    let service = s.actors["a"].core.service(s.now("a"));
    let Some(Service::Quarantine { remaining }) = service else { panic!("{service:?}") };
    s.pass(remaining - ms(1_000));
    s.slow_disks = true;
    let epoch = document(&s, "a").id();
    tell_in(&mut s, epoch, "b", "a", Prepare { epoch, ballot: ballot(1) });
    let (ticket, _) = s.actor("a").flushes.pop_front().unwrap();
    s.step("a", Input::Failed(Some(ticket)));
    s.failing = Some("a");
    s.pass(ms(1_000));
    assert_eq!(s.failing, None, "the record of the table has failed");
    let is_vote = |(_, record): &(Ticket, Record)| matches!(record, Record::Vote { .. });
    assert!(s.actors["a"].flushes.iter().any(is_vote));
}

/// 2.4.10: p's release of epoch 0 arrives after the change. A release of an earlier Start, or from
/// another address, ends nothing.
#[test]
fn release_ends_inherited_lease() {
    let (mut s, epoch) = orphaned();
    let q = |s: &mut Story, start| refusal(&ask_in(s, epoch, "q", "d", request(at(start))));
    let Some(Refusal::Held { holder, .. }) = q(&mut s, 1) else { panic!() };
    let from = |address| Sender {
        who: holder.who.clone(),
        address,
        proved: false,
        epoch: s.config.membership().id(),
    };
    let (own, other) = (from(address("p")), from(address("q")));
    let early = Time::from_nanos(holder.start.as_nanos() - 1);
    s.tell_as(&own, "d", release(early));
    assert!(q(&mut s, 2).is_some(), "an earlier Start");
    s.tell_as(&other, "d", release(holder.start));
    assert!(q(&mut s, 3).is_some(), "another address");
    let effects = s.tell_as(&own, "d", release(holder.start));
    let granted = granted(&effects).map(|granted| granted.start);
    assert_eq!(granted, Some(at(3)), "q has waited; the release names epoch 0");
}

/// 2.4.11: while p's lease may last, d reports no time in which the election was free.
#[test]
fn inherited_election_is_not_free() {
    let (mut s, epoch) = orphaned();
    let state = state_in(&mut s, epoch, "d");
    assert_eq!((state.holder, state.free_for), (None, ms(0)));
    s.pass(ms(1_500));
    let state = state_in(&mut s, epoch, "d");
    assert!(state.free_for > ms(0) && state.free_for < ms(1_500), "{:?}", state.free_for);
}

/// 2.4.7: when all inherited leases have ended, d keeps none of them.
#[test]
fn settled_grantor_forgets_the_epoch_before() {
    let (mut s, _) = orphaned();
    let inherited = |s: &Story| s.actors["d"].disk.as_ref().unwrap().durable().inherited;
    assert!(inherited(&s) > ms(0));
    s.pass(ms(2_500));
    assert_eq!(inherited(&s), ms(0));
}
