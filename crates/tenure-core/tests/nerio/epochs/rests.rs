//! Rests that a member inherits, from answers that a test makes up: members are a, b, c at 0, 1, 2.

use std::sync::Arc;

use tenure_core::nerio::epoch::{
    EpochId, HeldRest, Inheritance, Membership, Page, RestBounds, Source,
};
use tenure_core::nerio::{Instance, Who};
use tenure_core::{ElectionName, Fence, Time};

use super::{ballot, membership, who};
use crate::story::{address, at, ms, x};

fn y() -> ElectionName {
    "y".parse().unwrap()
}

pub(super) fn into() -> EpochId {
    membership("p q r").id()
}

fn inheritance() -> Inheritance {
    of("a b c")
}

fn of(before: &str) -> Inheritance {
    Inheritance::begin(membership(before), into(), 100)
}

fn wedged(member: usize) -> Source {
    Source::Wedged { member, ballot: ballot(1), into: into() }
}

pub(super) const ENTERED: Source = Source::Entered { instance: Instance(7) };

/// Bounds in milliseconds.
pub(super) fn bounds(rest: u64, unknown: u64) -> RestBounds {
    RestBounds { rest: ms(rest), unknown: ms(unknown), floor: Fence::NONE }
}

/// A rest of `holder` from the Start at 5 ms.
pub(super) fn held(election: ElectionName, holder: &str, rest: u64) -> HeldRest {
    let (who, address) = (who(holder), address(holder));
    HeldRest { election, who, address, start: at(5), rest: ms(rest) }
}

fn whole(rests: &[HeldRest]) -> Page<'_> {
    Page { after: None, rests, more: false }
}

/// A whole answer at 10 ms of a member that knows no more than these rests.
fn answers(inheritance: &mut Inheritance, member: usize, rests: &[HeldRest]) {
    let rest = rests.iter().map(|rest| rest.rest).max().unwrap_or_default();
    let bounds = RestBounds { rest, ..bounds(0, 0) };
    inheritance.page(at(10), wedged(member), bounds, whole(rests));
}

/// The holder that keeps `holder` from a grant for longest, and the end of that holder's rest.
fn rival(
    inheritance: &Inheritance,
    election: &ElectionName,
    holder: &str,
    now: Time,
) -> Option<(Option<Who>, Time)> {
    let rival = inheritance.rival(election, &who(holder), now)?;
    Some((rival.holder.map(|holder| holder.who.clone()), rival.until))
}

fn named(holder: &str, until: Time) -> Option<(Option<Who>, Time)> {
    Some((Some(who(holder)), until))
}

fn unnamed(until: Time) -> Option<(Option<Who>, Time)> {
    Some((None, until))
}

/// Whether a grant of x to `holder` is possible.
fn is_free(inheritance: &Inheritance, holder: &str, now: Time) -> bool {
    inheritance.rival(&x(), &who(holder), now).is_none()
}

/// 2.1.7: T1. Three of five accepted one successor, each by another ballot.
#[test]
fn ballots_do_not_add_up() {
    let mut inheritance = of("a b c d e");
    for (member, counter) in [(0, 1), (1, 3), (3, 4)] {
        let source = Source::Wedged { member, ballot: ballot(counter), into: into() };
        inheritance.header(at(10), source, bounds(0, 0));
    }
    assert!(!inheritance.is_enough());
    for member in [0, 1] {
        let source = Source::Wedged { member, ballot: ballot(4), into: into() };
        inheritance.header(at(10), source, bounds(0, 0));
    }
    assert!(inheritance.is_enough());
}

/// 2.1.7: members that are wedged for another successor end no epoch.
#[test]
fn other_successor_does_not_count() {
    let mut inheritance = inheritance();
    let other = membership("s t u").id();
    let source = Source::Wedged { member: 0, ballot: ballot(1), into: other };
    inheritance.header(at(10), source, bounds(0, 0));
    inheritance.header(at(10), wedged(1), bounds(0, 0));
    assert!(!inheritance.is_enough());
    inheritance.header(at(10), wedged(2), bounds(0, 0));
    assert!(inheritance.is_enough());
}

/// 2.1.8: T2. Ballot 1 decided, and b accepted again by ballot 2, whose proposer died.
#[test]
fn later_ballots_count_once_told() {
    let mut inheritance = inheritance();
    inheritance.header(at(10), wedged(0), bounds(0, 0));
    let source = Source::Wedged { member: 1, ballot: ballot(2), into: into() };
    inheritance.header(at(10), source, bounds(0, 0));
    assert!(!inheritance.is_enough());
    inheritance.told(ballot(2));
    assert!(!inheritance.is_enough(), "a has an earlier ballot than that");
    inheritance.told(ballot(1));
    inheritance.told(ballot(2));
    assert!(inheritance.is_enough());
}

/// 2.3.1: only c answers, and c granted nothing; p leads by a and b.
#[test]
fn answers_of_quorum_are_needed() {
    let mut inheritance = inheritance();
    answers(&mut inheritance, 2, &[]);
    assert!(!inheritance.is_enough() && !is_free(&inheritance, "q", at(1_000)));
    answers(&mut inheritance, 1, &[held(x(), "p", 30)]);
    assert!(inheritance.is_enough());
    assert!(!is_free(&inheritance, "q", at(39)) && is_free(&inheritance, "q", at(40)));
}

/// 2.3.1, 2.4.2: each member that has entered answers for all of the previous epoch. Pages of two
/// members are never mixed.
#[test]
fn entered_member_answers_for_all() {
    let mut inheritance = inheritance();
    inheritance.page(at(10), ENTERED, bounds(30, 0), whole(&[held(x(), "p", 30)]));
    assert!(inheritance.is_enough());
    assert_eq!(inheritance.until(&x(), Some(&who("p"))), at(40));
    let second = Source::Entered { instance: Instance(8) };
    let after = x();
    let page = Page { after: Some(&after), rests: &[], more: false };
    inheritance.page(at(10), second, bounds(50, 0), page);
    assert_eq!(inheritance.until(&x(), Some(&who("p"))), at(40), "no first page of the second");
    let third = Source::Entered { instance: Instance(9) };
    inheritance.page(at(10), third, bounds(20, 0), whole(&[held(x(), "p", 20)]));
    assert_eq!(inheritance.until(&x(), Some(&who("p"))), at(30), "each is true by itself");
    answers(&mut inheritance, 0, &[]);
    answers(&mut inheritance, 1, &[]);
    assert!(is_free(&inheritance, "q", at(10)), "a quorum says that p's lease is over");
}

/// 2.3.1: the answer of a member that has entered is usable without the document of the previous
/// epoch.
#[test]
fn entered_member_answers_without_document() {
    let mut inheritance = Inheritance::begin(None::<Arc<Membership>>, into(), 100);
    inheritance.header(at(10), wedged(0), bounds(30, 0));
    assert!(!inheritance.is_enough() && inheritance.bound() == Time::MAX);
    inheritance.page(at(10), ENTERED, bounds(30, 0), whole(&[held(x(), "p", 30)]));
    assert!(inheritance.is_enough() && !is_free(&inheritance, "q", at(39)));
    assert_eq!(inheritance.bound(), at(40));
    inheritance.learn_before(membership("a b c"));
    answers(&mut inheritance, 1, &[]);
    assert!(!is_free(&inheritance, "q", at(39)), "the page of a is missing");
    answers(&mut inheritance, 0, &[]);
    assert!(is_free(&inheritance, "q", at(10)));
}

/// T10: another answer shows that the memory of member 0 is replaced.
#[test]
fn forgotten_answer_is_ignored() {
    let mut inheritance = inheritance();
    answers(&mut inheritance, 0, &[held(x(), "p", 30)]);
    answers(&mut inheritance, 1, &[]);
    assert!(inheritance.is_enough());
    inheritance.forget(0);
    assert!(!inheritance.is_enough() && inheritance.bound() == Time::MAX);
    answers(&mut inheritance, 2, &[]);
    assert!(inheritance.is_enough() && is_free(&inheritance, "q", at(10)));
}

/// The next question begins after the pages that were accepted.
#[test]
fn next_page_follows_the_last() {
    let mut inheritance = inheritance();
    assert_eq!(inheritance.next_page(wedged(0)), Some(None));
    let rests = [held(x(), "p", 20)];
    let page = Page { after: None, rests: &rests, more: true };
    inheritance.page(at(10), wedged(0), bounds(30, 0), page);
    assert_eq!(inheritance.next_page(wedged(0)), Some(Some(&x())));
    let after = x();
    let last = Page { after: Some(&after), rests: &[], more: false };
    inheritance.page(at(10), wedged(0), bounds(30, 0), last);
    assert_eq!(inheritance.next_page(wedged(0)), None);
    assert_eq!(inheritance.next_page(wedged(1)), Some(None));
}

/// 2.3.3
#[test]
fn floor_and_longest_cover_all_answers() {
    let mut inheritance = inheritance();
    for (member, fence, rest) in [(0, 3, 50), (1, 8, 20), (2, 5, 30)] {
        let bounds = RestBounds { floor: Fence::new(fence), ..bounds(rest, 0) };
        inheritance.header(at(10), wedged(member), bounds);
    }
    assert_eq!((inheritance.floor(), inheritance.longest()), (Fence::new(8), ms(50)));
}

/// 2.4.1: the page arrives 6 ms after the header, whenever it was asked for.
#[test]
fn rest_begins_at_its_receipt() {
    let mut inheritance = inheritance();
    answers(&mut inheritance, 0, &[]);
    inheritance.header(at(10), wedged(1), bounds(30, 0));
    let rests = [held(x(), "p", 20)];
    inheritance.page(at(16), wedged(1), bounds(24, 0), whole(&rests));
    assert_eq!(inheritance.until(&x(), Some(&who("p"))), at(36));
}

/// 2.4.1: the page with y is lost, and p leads that election.
#[test]
fn uncovered_election_is_held_by_somebody() {
    let mut inheritance = inheritance();
    let rests = [held(x(), "p", 20)];
    for member in [0, 1] {
        let page = Page { after: None, rests: &rests, more: true };
        inheritance.page(at(10), wedged(member), bounds(30, 0), page);
    }
    assert_eq!(rival(&inheritance, &x(), "q", at(10)), named("p", at(30)));
    assert_eq!(rival(&inheritance, &x(), "p", at(10)), None);
    assert_eq!(rival(&inheritance, &y(), "q", at(10)), unnamed(at(40)));
    let after = x();
    for member in [0, 1] {
        let page = Page { after: Some(&after), rests: &[], more: false };
        inheritance.page(at(10), wedged(member), bounds(30, 0), page);
    }
    assert_eq!(rival(&inheritance, &y(), "q", at(10)), None);
}

/// 2.4.1: a later page covers no election while the page before it is missing.
#[test]
fn later_page_waits_for_earlier() {
    let mut inheritance = inheritance();
    let (after, rests) = (x(), [held(y(), "p", 20)]);
    let last = Page { after: Some(&after), rests: &rests, more: false };
    for member in [0, 1] {
        inheritance.page(at(10), wedged(member), bounds(30, 0), last);
    }
    assert_eq!(rival(&inheritance, &y(), "p", at(10)), unnamed(at(40)));
    let rests = [held(x(), "q", 20)];
    for member in [0, 1] {
        let first = Page { after: None, rests: &rests, more: true };
        inheritance.page(at(11), wedged(member), bounds(29, 0), first);
        inheritance.page(at(11), wedged(member), bounds(29, 0), last);
        inheritance.page(at(12), wedged(member), bounds(29, 0), first);
    }
    assert_eq!(rival(&inheritance, &y(), "p", at(11)), None);
    assert_eq!(inheritance.until(&y(), Some(&who("p"))), at(31));
}

/// 2.4.1: the elections are out of order within a page, or from one page to the next.
#[test]
fn page_that_goes_back_teaches_bounds() {
    let mut inheritance = inheritance();
    let back = [held(y(), "p", 20), held(x(), "p", 20)];
    for member in [0, 1] {
        inheritance.page(at(10), wedged(member), bounds(30, 0), whole(&back));
    }
    assert_eq!(rival(&inheritance, &x(), "p", at(10)), unnamed(at(40)));
    let (after, rests) = (x(), [held(x(), "p", 20)]);
    for member in [0, 1] {
        let first = Page { after: None, rests: &rests, more: true };
        let again = Page { after: Some(&after), rests: &rests, more: false };
        inheritance.page(at(10), wedged(member), bounds(30, 0), first);
        inheritance.page(at(10), wedged(member), bounds(30, 0), again);
    }
    assert_eq!(rival(&inheritance, &x(), "p", at(10)), None);
    assert_eq!(rival(&inheritance, &y(), "p", at(10)), unnamed(at(40)));
}

/// 2.4.1: a granted to p, has started again, and answers together with c.
#[test]
fn quarantine_names_unknown_holder() {
    let mut inheritance = inheritance();
    inheritance.page(at(10), wedged(0), bounds(50, 50), whole(&[]));
    answers(&mut inheritance, 2, &[]);
    assert_eq!(rival(&inheritance, &x(), "q", at(10)), unnamed(at(60)));
    assert!(is_free(&inheritance, "q", at(60)));
}

/// 2.4.1: a page from before the restart of a arrives after a page from after that restart.
#[test]
fn late_page_ends_no_quarantine() {
    let mut inheritance = inheritance();
    answers(&mut inheritance, 2, &[]);
    let rest = [held(x(), "q", 1)];
    let first = Page { after: None, rests: &rest, more: true };
    inheritance.page(at(10), wedged(0), bounds(50, 50), first);
    let after = x();
    let last = Page { after: Some(&after), rests: &[], more: false };
    inheritance.page(at(11), wedged(0), bounds(70, 0), last);
    assert_eq!(rival(&inheritance, &x(), "q", at(11)), unnamed(at(60)));
}

/// 2.4.2, 2.3.4: T3. p leads by a and c, and b has just started again.
#[test]
fn rest_is_over_by_quorum() {
    let mut inheritance = inheritance();
    inheritance.page(at(10), wedged(1), bounds(90, 90), whole(&[]));
    answers(&mut inheritance, 0, &[held(x(), "p", 20)]);
    assert!(!is_free(&inheritance, "p", at(10)), "b answers for somebody unknown");
    answers(&mut inheritance, 2, &[held(x(), "p", 30)]);
    assert!(is_free(&inheritance, "p", at(10)), "p asks and leads on");
    assert_eq!(rival(&inheritance, &x(), "q", at(10)), named("p", at(40)));
}

/// 2.4.5: p leads by a and c; b granted to q, for longer.
#[test]
fn each_holder_keeps_its_rest() {
    let mut inheritance = inheritance();
    answers(&mut inheritance, 0, &[held(x(), "p", 20)]);
    answers(&mut inheritance, 1, &[held(x(), "q", 30)]);
    assert_eq!(rival(&inheritance, &x(), "q", at(10)), named("p", at(30)));
    assert_eq!(rival(&inheritance, &x(), "p", at(10)), named("q", at(40)));
    assert_eq!(rival(&inheritance, &x(), "r", at(10)), named("q", at(40)));
}

/// 2.4.6
#[test]
fn grant_lasts_as_long_as_inherited_rest() {
    let mut inheritance = inheritance();
    for member in [0, 1] {
        let rests = [held(x(), "p", 30), held(y(), "p", 20)];
        answers(&mut inheritance, member, &rests);
    }
    assert_eq!(inheritance.granted(&x(), &who("p")), at(40));
    assert!(is_free(&inheritance, "q", at(10)), "the grant stands for it");
    answers(&mut inheritance, 2, &[held(x(), "p", 30)]);
    assert!(is_free(&inheritance, "q", at(10)));
    assert_eq!(inheritance.until(&y(), Some(&who("p"))), at(30));
}

/// 2.4.7: no rest lasts beyond the bound, whatever other answers say.
#[test]
fn bound_covers_all_answers() {
    let mut inheritance = inheritance();
    assert_eq!(inheritance.bound(), Time::MAX);
    inheritance.header(at(10), wedged(0), bounds(30, 0));
    inheritance.header(at(10), wedged(1), bounds(50, 0));
    assert_eq!(inheritance.bound(), at(60));
    inheritance.header(at(40), wedged(1), bounds(10, 0));
    assert_eq!(inheritance.bound(), at(50), "an earlier end is true as well");
    inheritance.page(at(45), wedged(1), bounds(90, 90), whole(&[held(x(), "p", 90)]));
    assert_eq!(inheritance.bound(), at(50));
    assert_eq!(inheritance.until(&x(), Some(&who("p"))), at(50));
}

/// 2.4.10: T13. The release of p's first leadership is late.
#[test]
fn release_ends_rest_from_its_start() {
    let mut inheritance = inheritance();
    for member in [0, 1] {
        answers(&mut inheritance, member, &[held(x(), "p", 30)]);
    }
    inheritance.released(&x(), (&who("q"), address("q")), at(9));
    inheritance.released(&y(), (&who("p"), address("p")), at(9));
    inheritance.released(&x(), (&who("p"), address("p")), at(4));
    inheritance.released(&x(), (&who("p"), address("z")), at(9));
    assert!(!is_free(&inheritance, "q", at(10)), "another holder, election, Start or address");
    inheritance.released(&x(), (&who("p"), address("p")), at(5));
    assert!(is_free(&inheritance, "q", at(10)));
}

/// 2.4.10: the release of p arrives before the pages that name p, and after a release of a stranger
/// at z.
#[test]
fn release_ends_rests_of_later_pages() {
    let mut inheritance = inheritance();
    inheritance.header(at(10), wedged(0), bounds(30, 0));
    inheritance.released(&x(), (&who("p"), address("z")), at(9));
    inheritance.released(&x(), (&who("p"), address("p")), at(5));
    let later = HeldRest { start: at(6), ..held(y(), "p", 30) };
    inheritance.released(&y(), (&who("p"), address("p")), at(5));
    for member in [0, 1] {
        answers(&mut inheritance, member, &[held(x(), "p", 30), later.clone()]);
    }
    assert!(is_free(&inheritance, "q", at(10)));
    assert_eq!(rival(&inheritance, &y(), "q", at(10)), named("p", at(40)), "a later Start");
}

/// 2.4.12
#[test]
fn rests_stay_within_their_limit() {
    let mut inheritance = Inheritance::begin(membership("a b c"), into(), 1);
    let rests = [held(x(), "p", 20), held(y(), "p", 20)];
    for member in [0, 1] {
        inheritance.page(at(10), wedged(member), bounds(30, 0), whole(&rests));
    }
    assert_eq!(inheritance.rests(None, at(10)).count(), 0);
    assert_eq!(rival(&inheritance, &x(), "p", at(10)), unnamed(at(40)));
}

/// 2.2.2, 2.2.4: the answers that a member gives once it has entered.
#[test]
fn inherited_rests_are_passed_on() {
    let mut inheritance = inheritance();
    let late = HeldRest { start: at(6), ..held(x(), "p", 30) };
    answers(&mut inheritance, 0, &[late.clone(), held(y(), "q", 20)]);
    inheritance.header(at(10), wedged(1), bounds(50, 0));
    assert_eq!(inheritance.unknown(), at(60), "b may name anybody");
    let both = [held(x(), "p", 25), held(y(), "q", 9)];
    inheritance.page(at(10), wedged(1), bounds(50, 0), whole(&both));
    assert_eq!(inheritance.unknown(), at(10));
    let told: Vec<HeldRest> = inheritance.rests(None, at(15)).collect();
    assert_eq!(told, [HeldRest { rest: ms(25), ..late }, held(y(), "q", 15)]);
    assert_eq!(inheritance.rests(Some(&x()), at(15)).count(), 1);
    assert_eq!(inheritance.rests(None, at(30)).count(), 1, "that of q is over");
}
