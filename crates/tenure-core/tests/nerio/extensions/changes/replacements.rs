//! Replacements that operators ask for, of members that run, and of nodes that are let in already.

use tenure_core::nerio::{ChangeError, Current, Service};

use super::admissions::{healing, run_without, second_answers};
use super::*;

/// The node c serves, and a second node c with an empty directory waits at z. No operator can put
/// the second node in the place of the first.
#[test]
fn running_member_is_not_replaced() {
    let mut s = healing();
    let hosts = vec![HostPort::from(address("z"))];
    let what = SeatChange::Replace { name: name("c"), hosts, instance: None };
    for (number, member) in [(8, "a"), (9, "b")] {
        ask(&mut s, member, number, what.clone());
        second_answers(&mut s, member);
        s.run(ms(400));
        let runs = ChangeError::Runs { name: name("c") };
        assert_eq!(state(&mut s, member, number, what.clone()), ChangeState::Refused(runs));
    }
    s.actors.remove("c");
    ask(&mut s, "a", 10, what.clone());
    second_answers(&mut s, "a");
    s.run(ms(400));
    let done = state(&mut s, "a", 10, what);
    assert!(matches!(done, ChangeState::Done { .. }), "{done}");
}

/// The node that is to be replaced is asked first, and does not hear the second node.
#[test]
fn running_member_replaces_not_itself() {
    let mut s = healing();
    let error = ChangeState::Refused(ChangeError::Runs { name: name("c") });
    assert_eq!(states(&ask(&mut s, "c", 8, replace("c"))), [error]);
}

/// The members have let c in, and c has not entered yet. The members make no further epoch for c.
#[test]
fn admitted_node_is_let_in_once() {
    let mut s = healing();
    s.lose_disk("c");
    s.run(ms(300));
    let others = ["a", "b", "d"].iter();
    let lost: Vec<_> = others.flat_map(|who| [("c", *who), (*who, "c")]).collect();
    ask(&mut s, "a", 8, replace("c"));
    s.run(ms(190));
    run_without(&mut s, ms(400), &lost);
    assert!(has_entered(&s, "a", 2) && !has_entered(&s, "c", 2), "{:?}", s.events("c"));
    ask(&mut s, "a", 9, replace("c"));
    s.drop_all();
    let epoch = zero(&s);
    let answer = Current {
        asker: s.who("a").inc,
        start: at(1),
        epoch,
        founding: epoch.digest,
        before: EpochId::NONE,
        instance: s.instance("c"),
        entered: false,
        service: Service::Starting,
        length: 0,
    };
    tell_in(&mut s, epoch, "c", "a", answer);
    run_without(&mut s, ms(400), &lost);
    let let_in = ChangeError::LetIn { name: name("c"), epoch: 2 };
    assert_eq!(state(&mut s, "a", 9, replace("c")), ChangeState::Refused(let_in));
    s.run(ms(2_000));
    assert!(has_entered(&s, "c", 2), "c enters by itself: {:?}", s.events("c"));
}
