//! Grantors whose longest leases differ.

use std::time::Duration;

use tenure_core::nerio::{
    Config, Effect, Entry, Event, FenceRead, Instance, Message, OwnEvent, Raising, Refusal,
    Request, Roster, Sender, ToAsker, ToGrantor,
};

use crate::story::*;

/// Restart 1: a full quorum answers, and the largest δ_max among the answers bounds the forgotten
/// leases. The span counts from the time when the quorum had written down the new memory; then the
/// fences are read again.
#[test]
fn lost_memory_outwaits_others_leases() {
    let mut s = Story::new();
    s.configure(|config| config.delta_max = ms(1_000));
    s.lose_disk("a");
    s.run(ms(1_100));
    let remaining = ms(1_100);
    assert_eq!(refusal(&s.ask("q", "a", request(at(10)))), Some(Refusal::Quarantine { remaining }));
    s.run(ms(1_099));
    let remaining = ms(1);
    assert_eq!(refusal(&s.ask("q", "a", request(at(11)))), Some(Refusal::Quarantine { remaining }));
    s.pass(ms(1));
    let reads = |l: &&Letter| matches!(l.message, Message::Grantor(ToGrantor::FenceRead(_)));
    assert_eq!(s.letters.iter().filter(reads).count(), 2, "what was read before is too old");
    s.deliver_all();
    assert!(granted(&s.ask("q", "a", request(at(12)))).is_some());
}

/// Restart 1: the grantor also waits out its own largest δ_max, whatever the others answer.
#[test]
fn lost_memory_outwaits_own_leases() {
    let mut s = Story::new();
    s.configure(|config| config.delta_max = ms(4_000));
    s.lose_disk("a");
    s.run(ms(4_399));
    assert!(matches!(refusal(&s.ask("q", "a", request(at(10)))), Some(Refusal::Quarantine { .. })));
    s.run(ms(1));
    assert!(granted(&s.ask("q", "a", request(at(11)))).is_some());
}

/// Without this rule two candidates would lead: c, whose memory was lost, asked b while b gave only
/// short leases. An ok that c forgot and the first longer ok of b must not form a quorum.
#[test]
fn longer_leases_wait_for_forgotten_oks() {
    let short = |config: &mut Config| {
        (config.lease, config.delta_max, config.verify_max) = (ms(500), ms(500), ms(500));
    };
    let mut config = config(&GRANTORS);
    short(&mut config);
    let mut s = Story::with(config);
    s.configure(|config| (config.lease, config.delta_max) = (ms(1_500), ms(2_000)));
    s.reboot("c");
    s.run(ms(2_200));
    s.start("p", None);
    s.configure(short);
    s.start("q", None);
    s.campaign("p");
    s.deliver("p", "c");
    s.deliver("c", "p");
    // Candidate p now knows which fence to propose.
    s.slip(ms(100));
    s.step("p", tenure_core::Input::Timeout);
    s.deliver("p", "c");
    s.deliver("c", "p");
    s.drop_all();
    s.lose_disk("c");
    s.deliver_all();
    s.slip(ms(550));
    s.step("c", tenure_core::Input::Timeout);
    s.deliver_all();
    s.campaign("q");
    s.deliver("q", "a");
    s.deliver("q", "c");
    s.deliver("a", "q");
    s.deliver("c", "q");
    assert_eq!(s.leader(), Some("q"), "nothing of the lease that c forgot is left elsewhere");
    s.drop_all();
    s.configure(|config| config.delta_max = ms(2_000));
    s.has_granted("b");
    s.restart("b");
    s.slip(ms(10));
    s.step("p", tenure_core::Input::Timeout);
    s.deliver("p", "b");
    s.deliver("b", "p");
    assert_eq!(s.leader(), Some("q"), "p completes with what c has forgotten");
}

/// A grantor reports when longer leases begin, its longest lease until then, and the length of a
/// holder's leases.
#[test]
fn waiting_delta_max_is_reported() {
    let mut s = Story::new();
    s.has_granted("a");
    s.configure(|config| config.delta_max = ms(4_000));
    s.restart("a");
    let until = s.now("a").after(ms(4_400));
    let (before, delta_max) = (ms(2_000), ms(4_000));
    let waits = Event::Own(OwnEvent::RaiseWaits { before, delta_max, until });
    assert_eq!(s.events("a").last(), Some(&waits));
    s.pass(ms(1_000));
    let state = s.state("a");
    assert_eq!(
        (state.delta_max, state.raise),
        (delta_max, Some(Box::new(Raising { before, remaining: ms(3_400) })))
    );
    s.pass(ms(3_400));
    assert_eq!(s.events("a").last(), Some(&Event::Own(OwnEvent::Raised { delta_max })));
    s.ask("p", "a", for_span(at(10), ms(3_000)));
    let state = s.state("a");
    assert_eq!((state.holder.unwrap().lease, state.raise), (ms(3_000), None));
}

/// A grantor answers a larger δ_max at once, but gives leases of that length only after `(1 + ρ)`
/// times that length. If the grantor starts again before that, it waits anew.
#[test]
fn larger_delta_max_is_given_later() {
    let mut s = Story::new();
    s.has_granted("a");
    s.configure(|config| config.delta_max = ms(4_000));
    s.restart("a");
    let long = |start| for_span(at(start), ms(3_000));
    let refused = Some(Refusal::TooLong { lease: ms(3_000), delta_max: ms(2_000) });
    s.pass(ms(4_000));
    assert_eq!(refusal(&s.ask("p", "a", long(10))), refused);
    s.restart("a");
    s.pass(ms(4_399));
    assert_eq!(refusal(&s.ask("p", "a", long(20))), refused, "nothing of the wait was kept");
    assert!(granted(&s.ask("p", "a", request(at(21)))).is_some(), "the shorter ones go on");
    let read = Message::from(FenceRead { start: at(1), instance: Instance(9), record: true });
    let answer = s.tell("b", "a", read);
    let told = sent(&answer)
        .any(|m| matches!(m, Message::Asker(ToAsker::FenceSeen(f)) if f.delta_max == ms(4_000)));
    assert!(told, "{:?}", lines(&answer));
    s.pass(ms(1));
    assert!(granted(&s.ask("p", "a", long(30))).is_some());
    s.restart("a");
    s.pass(ms(10_000));
    assert!(granted(&s.ask("p", "a", long(40))).is_some(), "it was written down");
}

/// A grantor does not give a larger δ_max whose record failed, and writes the record again.
#[test]
fn larger_delta_max_waits_for_disk() {
    let mut s = Story::new();
    s.has_granted("a");
    s.configure(|config| config.delta_max = ms(4_000));
    s.slow_disks = true;
    s.restart("a");
    s.flush_one("a");
    s.pass(ms(4_400));
    let long = |start| for_span(at(start), ms(3_000));
    assert!(granted(&s.ask("p", "a", long(10))).is_none());
    let last = s.actor("a").flushes.pop_back().unwrap();
    s.step("a", tenure_core::Input::Failed(Some(last.0)));
    s.pass(ms(1_000));
    assert!(granted(&s.ask("p", "a", long(11))).is_none());
    let last = s.actor("a").flushes.pop_back().unwrap();
    s.flushed("a", last.0, last.1);
    assert!(granted(&s.ask("p", "a", long(12))).is_some());
}

/// A first lease is short. A candidate that cannot get a full lease after it would lead for a
/// moment, again and again.
#[test]
fn first_lease_needs_a_full_one() {
    let mut s = Story::new();
    let (lease, delta_max) = (ms(2_001), ms(2_000));
    let first = Request { lease, ..request(at(10)) };
    assert_eq!(refusal(&s.ask("p", "a", first)), Some(Refusal::TooLong { lease, delta_max }));
    assert_eq!(s.holder("a"), None);
}

/// A candidate whose lease no quorum gives waits, reports both lengths, and keeps no grantor from
/// other candidates; when a quorum gives its lease, it leads.
#[test]
fn too_long_lease_blocks_no_rival() {
    let mut s = Story::new();
    s.configure(|config| config.delta_max = ms(4_000));
    s.reboot("a");
    s.run(ms(4_400));
    s.configure(|config| (config.lease, config.delta_max) = (ms(3_000), ms(3_000)));
    s.start("p", None);
    s.campaign("p");
    s.run(ms(50));
    let refusal = Refusal::TooLong { lease: ms(3_000), delta_max: ms(2_000) };
    let obstacle = Event::Own(OwnEvent::Obstacle { grantor: name("b"), refusal });
    assert!(s.events("p").contains(&obstacle), "{:?}", s.events("p"));
    s.configure(|config| config.lease = ms(1_000));
    s.start("q", None);
    s.campaign("q");
    for _ in 0..20 {
        // Grantor c is down: q needs a, which gives p every lease.
        s.pass(ms(50));
        for (from, to) in [("p", "a"), ("p", "b"), ("q", "a"), ("q", "b")] {
            s.deliver(from, to);
            s.deliver(to, from);
        }
        s.drop_all();
    }
    assert_eq!(s.leader(), Some("q"));
    s.resign("q");
    s.run(ms(500));
    s.configure(|config| config.delta_max = ms(4_000));
    s.reboot("b");
    s.run(ms(4_600));
    assert_eq!(s.leader(), Some("p"), "a and b give 3 s");
}

/// Three grantors: one gives the lease, one does not, and one is down.
#[test]
fn down_grantor_frees_other_grants() {
    let mut s = Story::new();
    s.configure(|config| config.delta_max = ms(4_000));
    s.reboot("a");
    s.run(ms(4_400));
    s.actors.remove("c");
    s.configure(|config| (config.lease, config.delta_max) = (ms(3_000), ms(3_000)));
    s.start("p", None);
    s.campaign("p");
    s.run(ms(1_000));
    s.configure(|config| config.lease = ms(1_000));
    s.start("q", None);
    s.campaign("q");
    s.run(ms(5_000));
    assert_eq!(s.leader(), Some("q"), "{:?}", s.events("p"));
}

/// A repeated refusal has no effect after a later answer of the same grantor. Grantor b will give
/// longer leases, but waits first. The candidate does not give a's grant back because of the old
/// refusal.
#[test]
fn an_old_refusal_gives_nothing_back() {
    let mut s = Story::new();
    s.configure(|config| config.delta_max = ms(4_000));
    s.reboot("a");
    s.run(ms(4_400));
    s.configure(|config| config.lease = ms(3_000));
    s.start("p", None);
    s.campaign("p");
    s.deliver("p", "b");
    let old = s.take("b", "p");
    assert_eq!(old.len(), 1);
    s.drop_all();
    s.actors.remove("c");
    s.reboot("b");
    s.run(ms(500));
    assert_eq!(s.holder("a").as_deref(), Some("p"));
    for letter in old.iter().chain(&old) {
        s.put(letter);
        s.deliver("p", "a");
        assert_eq!(s.holder("a").as_deref(), Some("p"), "for what b said before");
    }
    s.run(ms(4_400));
    assert_eq!(s.leader(), Some("p"));
}

/// Restart 1: no grantor waits longer than the longest lease that any settings allow.
#[test]
fn answers_cost_a_day_at_most() {
    let mut s = Story::new();
    s.lose_disk("a");
    let entry = Entry::new(s.instance("a"));
    s.others_answer(Duration::MAX, &Roster::new(vec![Some(entry), None, None]));
    let Some(Refusal::Quarantine { remaining }) = refusal(&s.ask("q", "a", request(at(10)))) else {
        panic!("it waits");
    };
    assert!(remaining < ms(2 * 86_400_000), "{remaining:?}");
}

/// A grantor with another maximum is like a grantor that is down: a quorum that accepts suffices.
#[test]
fn quorum_for_the_lease_suffices() {
    let mut s = Story::new();
    s.configure(|config| config.delta_max = ms(500));
    s.reboot("a");
    s.configure(|config| config.delta_max = ms(2_000));
    s.run(ms(3_000));
    s.elect("p");
    s.run(ms(10_000));
    assert_eq!(s.leader(), Some("p"));
    assert_eq!(s.holder("a"), None);
}

/// A member that reads may be behind a relay, like a member whose state directory was lost: its
/// question comes from another address than its own. Answers count from a member only.
#[test]
fn relayed_read_is_answered() {
    let mut s = Story::new();
    let relayed = Sender { who: s.who("b"), address: address("z"), proved: false, ..s.sender("b") };
    let read = Message::from(FenceRead { start: at(1), instance: Instance(9), record: true });
    let answer = s.tell_as(&relayed, "a", read);
    let [Effect::Send { to, message: Message::Asker(ToAsker::FenceSeen(_)) }] = &answer[..] else {
        panic!("{answer:?}");
    };
    assert_eq!(to.recipient, relayed.address.into());
}
