//! Foundings by a document: a memory that is replaced meanwhile, a directory that began while its
//! clock was ahead, and processes that ask before the founding has ended.

use tenure_core::Fence;
use tenure_core::nerio::epoch::Ballot;
use tenure_core::nerio::{
    Acceptor, Detector, Entry, EpochId, FenceRead, FenceSeen, Found, FoundingTrouble, Inc,
    Instance, Message, OwnEvent, Ping, Promise, PromiseOutcome, Remembered, Roster, ToAsker,
    ToGrantor,
};

use super::founding_document::*;
use crate::story::*;

/// Memories that are later than all memories of a story, and began before its clocks.
const LATER: Instance = Instance::new(1 << 40, 7);

/// The `others` write down another memory of a member, which is later than the present one.
fn another_memory(s: &mut Story, of: &str, others: &[&'static str]) {
    for other in others {
        let (start, instance) = (at(1), LATER);
        s.tell(of, other, Message::from(FenceRead { start, instance, record: true }));
    }
    s.drop_all();
}

/// 3.11: blanks confirm a release, but a node must not take that for a confirmation of its own
/// list.
#[test]
fn early_release_confirms_no_list() {
    let mut s = begun(&GRANTORS);
    s.campaign("p");
    s.run(ms(500));
    s.resign("p");
    s.run(ms(500));
    assert!(!s.actors["p"].core.is_confirmed());
    s.run(ms(4_000));
    s.campaign("p");
    s.run(ms(4_000));
    assert_eq!(s.leader(), Some("p"), "{:?}", s.events("p"));
}

/// 3.11: a blank answers no ping: an answer would confirm the list of the settings.
#[test]
fn early_pings_confirm_no_list() {
    let mut s = Story::empty(on_ring(&GRANTORS, Detector::Ping));
    s.wall = Some(WALL);
    for member in GRANTORS {
        s.start_empty(member);
    }
    s.start("p", None);
    let effects = s.tell("p", "a", Message::from(Ping { start: at(1) }));
    assert!(!sent(&effects).any(|m| matches!(m, Message::Asker(ToAsker::Pong(_)))));
    s.run(ms(6_000));
    s.campaign("p");
    s.run(ms(4_000));
    assert_eq!(s.leader(), Some("p"), "{:?}", s.events("p"));
    assert!(s.all_name(&GRANTORS, "a"));
}

/// A late member enters although a leader of the founded epoch renews all the time.
#[test]
fn leader_of_epoch_delays_no_entry() {
    let mut s = begun(&GRANTORS);
    s.campaign("p");
    run_untold(&mut s, "a", ms(6_000));
    assert!(s.leads("p") && serves(&s, "b") && !serves(&s, "a"), "{:?}", s.events("a"));
    s.run(ms(2_500));
    assert!(s.leads("p") && serves(&s, "a"), "{:?}", s.events("a"));
}

/// 3.9: the clock of c was a year ahead when its directory began, and has shown the right time
/// since then.
#[test]
fn directory_begun_ahead_founds_nothing() {
    let mut s = begun(&["a", "b"]);
    let ahead = Instance::new(WALL + 365 * 86_400_000, 7);
    s.start("c", Some(Remembered::new(ahead, false)));
    s.run(ms(20_000));
    assert!(GRANTORS.iter().all(|member| !serves(&s, member)));
    let is_ahead = |event: &OwnEvent| {
        matches!(event, OwnEvent::Founding(FoundingTrouble::Ahead { floor, own })
            if floor.number() >= ahead.born() && *own < WALL + 60_000)
    };
    assert!(told(&s, "a", is_ahead) && told(&s, "c", is_ahead), "{:?}", s.events("a"));
    // The operator moves the directories of all members away.
    s.drop_all();
    s.actors.clear();
    for member in GRANTORS {
        s.start_empty(member);
    }
    s.run(ms(8_000));
    assert!(GRANTORS.iter().all(|member| serves(&s, member)), "{:?}", s.events("a"));
    let floor = entered(&s, "a").unwrap().floor;
    assert!(floor.number() < WALL + 60_000, "{floor}");
}

/// The member b proposes a document. Its question to a has this ballot.
fn proposed(s: &mut Story) -> Ballot {
    until_asked(s, "b", "a");
    let ballot = s.letters.iter().find_map(|letter| match &letter.message {
        Message::Grantor(ToGrantor::Found(found)) => Some(found.ballot),
        _ => None,
    });
    ballot.unwrap()
}

/// A member promises the ballot of b. Returns whether b then asks for accepts.
fn goes_on_after_promise(
    s: &mut Story,
    ballot: Ballot,
    member: &'static str,
    accepted: Option<(Ballot, EpochId)>,
) -> bool {
    let acceptor = Acceptor { instance: s.instance(member), memories: Vec::new() };
    let (asker, epoch) = (s.who("b").inc, EpochId::NONE);
    let outcome = PromiseOutcome::Promised { accepted };
    let from = s.sender(member);
    let answer = Promise { asker, epoch, ballot, acceptor, outcome };
    let effects = s.tell_as(&from, "b", answer.into());
    sent(&effects).any(|m: &Message| matches!(m, Message::Grantor(ToGrantor::Accept(_))))
}

/// 3.4: b proposes, and knows a later memory of a. The earlier memory answers, with a document that
/// it has accepted.
#[test]
fn answers_of_replaced_memory_are_ignored() {
    let mut s = begun(&GRANTORS);
    let ballot = proposed(&mut s);
    another_memory(&mut s, "a", &["b"]);
    let other = EpochId { number: 0, digest: 77 };
    let asks = ["b", "c", "a"].map(|member| {
        let accepted = (member == "a").then_some((Ballot { counter: 0, inc: Inc(9) }, other));
        goes_on_after_promise(&mut s, ballot, member, accepted)
    });
    assert_eq!(asks, [false; 3], "b needs a promise of the later memory of a");
}

/// The memories of b and c are a quorum, and promise; b goes on once a has promised as well.
#[test]
fn founding_needs_each_promise() {
    let mut s = begun(&GRANTORS);
    let ballot = proposed(&mut s);
    let asks = ["b", "c", "a"].map(|member| goes_on_after_promise(&mut s, ballot, member, None));
    assert_eq!(asks, [false, false, true]);
}

/// An accepted founding names the memory of a by its number, so that number stays.
#[test]
fn accepted_memory_keeps_its_number() {
    let mut s = begun(&GRANTORS);
    s.run(ms(1_000));
    s.drop_all();
    let good = document(&mut s);
    let named = s.instance("a");
    assert!(accepts(&mut s, &good));
    another_memory(&mut s, "a", &["b", "c"]);
    s.run(ms(5_000));
    assert_eq!(s.instance("a"), named);
}

/// A memory that has only promised takes a later number, as no document names it: otherwise no
/// member would count its answers, and the founding would wait for ever.
#[test]
fn promised_memory_becomes_later() {
    let mut s = begun(&GRANTORS);
    until_asked(&mut s, "a", "b");
    another_memory(&mut s, "b", &["a", "c"]);
    s.lose_disk("b");
    s.pass(ms(1));
    let before = s.instance("b");
    s.drop_all();
    let ballot = Ballot { counter: 9, inc: Inc(9) };
    let (from, instance) = (s.sender("c"), s.instance("c"));
    let asked = Found { ballot, instance, wall: WALL };
    s.tell_as(&from, "b", asked.into());
    let promised = s.actors["b"].disk.as_ref().unwrap().durable().standing.vote().promised;
    assert!(promised == ballot && before < LATER);
    s.run(ms(20_000));
    assert!(s.instance("b") > LATER);
    assert!(GRANTORS.iter().all(|member| serves(&s, member)), "{:?}", s.events("b"));
}

/// 3.7: a has accepted a document, and others name its memory as a founder of another founding.
#[test]
fn accepted_document_outlasts_restart() {
    let mut s = begun(&GRANTORS);
    s.run(ms(1_000));
    s.drop_all();
    let good = document(&mut s);
    assert!(accepts(&mut s, &good));
    let entry = |s: &mut Story, of| Some(Entry { instance: s.instance(of), founder: true });
    let roster = Roster::new(GRANTORS.map(|member| entry(&mut s, member)).to_vec());
    let (asker, start, seen) = (s.who("a").inc, at(1), Fence::NONE);
    let (delta_max, whole, leader) = (ms(1_000), true, ms(0));
    let answer = FenceSeen { asker, start, seen, delta_max, whole, leader, roster };
    let from = s.sender("b");
    s.tell_as(&from, "a", answer.into());
    s.restart("a");
    s.drop_all();
    s.pass(ms(5_000));
    let durable = s.actors["a"].disk.as_ref().unwrap().durable();
    assert!(durable.roster.iter().any(|(of, entry)| *of == name("a") && entry.founder));
    assert!(durable.standing.vote().accepted.is_some() && durable.standing.document().is_none());
    assert!(!serves(&s, "a"), "{:?}", s.events("a"));
}
