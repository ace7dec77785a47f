//! 2.5: candidates and observers over a change of members.

use std::cmp::Ordering;

use tenure_core::nerio::{
    Boot, Command, EdictTimestamp, Granted, Ignored, QuorumTimestamp, Stamp, ToCandidate, ToGrantor,
};

use super::*;

fn ignored(reason: Ignored) -> impl Fn(&OwnEvent) -> bool {
    move |event| *event == OwnEvent::Ignored(reason)
}

fn releases_in(s: &Story, epoch: EpochId) -> usize {
    let is_release = |letter: &&Letter| {
        let is_it = matches!(letter.message, Message::Grantor(ToGrantor::Release(_)));
        is_it && letter.from.epoch == epoch
    };
    s.letters.iter().filter(is_release).count()
}

/// 2.5.1: c has another memory than the document names, and has forgotten to whom it granted.
#[test]
fn ok_of_other_memory_is_ignored() {
    let mut s = grown();
    let epoch = document(&s, "p").id();
    s.drop_all();
    s.pass(ms(400));
    let mut letters = vec![];
    for grantor in ["a", "b", "c", "d"] {
        s.deliver("p", grantor);
        letters.extend(s.take(grantor, "p"));
    }
    let is_granted = |letter: &&mut Letter| letter.from.who.name == name("c");
    for letter in letters.iter_mut().filter(is_granted) {
        if let Message::Candidate(ToCandidate::Granted(ok)) = &mut letter.message {
            ok.instance = Instance(5);
        }
        assert_eq!(letter.from.epoch, epoch);
        let effects = s.put(letter);
        assert!(has_told(&effects, ignored(Ignored::OtherMemory)), "{effects:?}");
    }
}

/// 2.5.1: p has an ok of a in epoch 0. Epoch 1 has the members a, d and e: with an ok of d, p would
/// have a quorum there.
#[test]
fn ok_of_previous_epoch_is_ignored() {
    let mut s = Story::new();
    s.campaign("p");
    s.deliver("p", "a");
    s.deliver("a", "p");
    let next = successor(&mut s, &["a", "d", "e"]);
    s.drop_all();
    s.slip(ms(1));
    let effects = decide(&mut s, "a", "p", None, &next);
    let start = requests(&effects).last().unwrap().start;
    let stamp = Stamp { boot: Boot(1), clock: at(9), counter: 0 };
    let ok = Granted {
        election: x(),
        asker: s.who("p").inc,
        start,
        instance: next.seats[1].instance.unwrap(),
        memories: vec![],
        stamp,
        accepted: true,
        seen: Fence::NONE,
        waited: false,
        next_waits: false,
        waiting: None,
        wall: None,
    };
    tell_in(&mut s, next.id(), "d", "p", ok.clone());
    assert!(!s.leads("p"));
    let instance = next.seats[2].instance.unwrap();
    tell_in(&mut s, next.id(), "e", "p", Granted { instance, ..ok });
    assert!(s.leads("p"), "d and e are a quorum");
}

/// 2.5.2: p leads with its fence through three changes, and no other leader comes between.
#[test]
fn leader_leads_on_over_changes() {
    let mut s = Story::new();
    s.elect("p");
    s.campaign("q");
    s.run(ms(300));
    let fence = s.fence("p");
    blank(&mut s, "d");
    let is_loss = |event: &Event| matches!(event, Event::Ended(_));
    for (number, what) in [(1, add("d")), (2, remove("a")), (3, remove("b"))] {
        let member = if number == 1 { "a" } else { "c" };
        ask(&mut s, member, number, what);
        for _ in 0..100 {
            s.run(ms(10));
            assert_eq!(s.leader(), Some("p"), "change {number}");
        }
        assert_eq!(document(&s, "p").number, number);
    }
    assert_eq!(s.fence("p"), fence);
    assert!(!s.events("p").iter().any(is_loss));
    s.resign("p");
    s.run(ms(300));
    assert!(s.leads("q") && s.fence("q") > fence);
}

/// 2.5.3: a candidate follows only decisions that a member of its epoch reports.
#[test]
fn candidate_follows_its_members() {
    let mut s = Story::new();
    let next = successor(&mut s, &["a", "b", "c", "d"]);
    let stranger = Sender { proved: false, ..s.sender("a") };
    let decided = Decided { ballot: None, before: next.before, successor: next.id() };
    for from in [stranger, s.sender("q")] {
        let effects = s.tell_as(&from, "p", decided.clone().into());
        assert!(has_told(&effects, ignored(Ignored::NotAMember)));
    }
    decide(&mut s, "a", "p", None, &next);
    assert_eq!(document(&s, "p"), next);
    let old = Document { number: 0, ..next.clone() };
    let effects = decide(&mut s, "b", "p", None, &old);
    assert!(has_told(&effects, ignored(Ignored::Unasked)), "an earlier one");
    assert_eq!(document(&s, "p"), next);
}

/// Candidate p does not reach b and c, which are replaced by d and e, and end. a tells p of the
/// next epochs, although p asks a for no grant any more.
#[test]
fn cut_off_candidate_learns_members() {
    let mut s = Story::new();
    let cut = |from: &str, to: &str| {
        let has = |name: &str| [from, to].contains(&name);
        has("p") && (has("b") || has("c"))
    };
    for name in ["d", "e"] {
        blank(&mut s, name);
    }
    s.campaign("p");
    s.run_cut(ms(3_000), cut);
    for (number, what) in [(1, add("d")), (2, add("e")), (3, remove("b")), (4, remove("c"))] {
        ask(&mut s, "a", number, what);
        s.run_cut(ms(2_000), cut);
    }
    s.actors.remove("b");
    s.actors.remove("c");
    s.run(ms(5_000));
    assert_eq!((document(&s, "a").number, document(&s, "p").number), (4, 4));
    assert!(s.leads("p"));
}

/// 2.5.4: a leadership that began in epoch 0 is also released at the members of epoch 0.
#[test]
fn release_reaches_both_epochs() {
    let mut s = Story::new();
    s.elect("p");
    let next = successor(&mut s, &["a", "b", "c", "d"]);
    decide(&mut s, "a", "p", None, &next);
    s.drop_all();
    s.resign("p");
    let before = zero(&s);
    assert_eq!((releases_in(&s, before), releases_in(&s, next.id())), (3, 4));
    s.deliver_all();
    for grantor in GRANTORS {
        assert_eq!(s.holder(grantor), None, "{grantor}");
    }
    s.pass(ms(100));
    assert_eq!(releases_in(&s, before), 0, "all of them have confirmed");
    assert_eq!(releases_in(&s, next.id()), 4, "nobody has entered it");
}

/// 2.5.4: once the leases of the previous epoch have ended, its members get no release.
#[test]
fn late_release_goes_to_present_epoch() {
    let mut s = grown();
    s.run(ms(3_000));
    s.resign("p");
    assert_eq!(releases_in(&s, zero(&s)), 0);
}

/// 2.5.5: edicts carry the epoch in which their leadership began.
#[test]
fn leadership_keeps_its_first_epoch() {
    let mut s = Story::new();
    s.elect("p");
    blank(&mut s, "d");
    change(&mut s, add("d"));
    s.resign("p");
    s.campaign("q");
    s.run(ms(500));
    assert!(s.leads("q"));
    let epochs = |who: &str| -> Vec<u64> {
        let stamped = |event: &Event| match event {
            Event::Own(OwnEvent::Stamped { epoch, .. }) => Some(*epoch),
            _ => None,
        };
        s.events(who).iter().filter_map(stamped).collect()
    };
    assert_eq!((epochs("p"), epochs("q")), (vec![0], vec![1]));
}

/// 2.5.5: edicts of two epochs are ordered by epoch, because the epochs may have different members.
#[test]
fn later_epoch_orders_edicts() {
    let edict = |epoch, instance| {
        let stamp = Stamp { boot: Boot(1), clock: at(9), counter: 0 };
        let quorum = QuorumTimestamp::new([(Instance(instance), stamp)]);
        EdictTimestamp { epoch, quorum, counter: 0 }
    };
    assert_eq!(edict(0, 1).order(&edict(1, 2)), Ok(Ordering::Less));
    assert_eq!(edict(2, 1).order(&edict(1, 1)), Ok(Ordering::Greater));
}

/// 2.5.7: an observer names the leader before, during and after the change.
#[test]
fn observer_names_leader_over_change() {
    let mut s = Story::new();
    s.elect("p");
    s.command("r", Command::Observe { every: ms(50) });
    s.run(ms(200));
    let views = |s: &Story| -> Vec<Event> {
        s.events("r").iter().filter(|event| matches!(event, Event::View(_))).cloned().collect()
    };
    let is_p = |event: &Event| match event {
        Event::View(view) => view.leader().is_some_and(|leader| &*leader.id == "p"),
        _ => false,
    };
    let before = views(&s).len();
    assert!(before > 0);
    blank(&mut s, "d");
    change(&mut s, add("d"));
    s.run(ms(1_000));
    assert!(views(&s).iter().all(is_p), "{:?}", views(&s));
    assert_eq!(document(&s, "r").number, 1);
}

/// While releases still go to members of the previous epoch, the driver knows these members.
#[test]
fn epochs_include_previous_epoch() {
    let s = grown();
    let epochs = |who: &str| -> Vec<u64> {
        let ids = |event: &Event| -> Option<Vec<u64>> {
            let Event::Own(OwnEvent::Epochs(all)) = event else { return None };
            Some(all.iter().map(|one| one.id().number).collect())
        };
        s.events(who).iter().filter_map(ids).next_back().unwrap()
    };
    assert_eq!(epochs("p"), [1, 0]);
    assert_eq!(epochs("a"), [1, 0]);
}

/// The clock of b is faster than the clock of p. In epoch 0 a and c are a quorum without b. In
/// epoch 1, of a and b, no quorum is left without b, so p takes its own clock to be wrong, without
/// another proof.
#[test]
fn new_members_may_accuse_node() {
    let mut s = Story::new();
    s.elect("p");
    for _ in 0..200 {
        s.slip(ms(10));
        let clock = &mut s.actor("b").clock;
        *clock = clock.after(ms(5));
        s.timers();
        s.deliver_all();
    }
    let accuses = |event: &Event| matches!(event, Event::Own(OwnEvent::WrongClock { .. }));
    assert!(s.leads("p") && !s.events("p").iter().any(accuses));
    let next = successor(&mut s, &["a", "b"]);
    let effects = decide(&mut s, "a", "p", None, &next);
    assert!(emitted(&effects).iter().any(accuses), "{effects:?}");
    assert!(!s.leads("p"));
    s.drop_all();
    s.pass(ms(500));
    let is_request =
        |letter: &Letter| matches!(letter.message, Message::Grantor(ToGrantor::Request(_)));
    assert!(!s.letters.iter().any(is_request), "{:?}", s.letters);
}
