//! Rests that a member inherits, from answers that a test makes up: members are a, b, c at 0, 1, 2.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use tenure_core::nerio::epoch::{
    EpochId, HeldRest, Inheritance, Membership, Page, RestBounds, Source,
};
use tenure_core::nerio::{Instance, MemberSet};
use tenure_core::{ElectionName, Fence, Time};

use super::{ballot, membership, who};
use crate::story::{at, ms, x};

fn y() -> ElectionName {
    "y".parse().unwrap()
}

fn into() -> EpochId {
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

const ENTERED: Source = Source::Entered { instance: Instance(7) };

/// Bounds in milliseconds.
fn bounds(rest: u64, unknown: u64) -> RestBounds {
    RestBounds { rest: ms(rest), unknown: ms(unknown), floor: Fence::NONE }
}

/// A rest of `holder` from the Start at 5 ms.
fn held(election: ElectionName, holder: &str, rest: u64) -> HeldRest {
    HeldRest { election, who: who(holder), start: at(5), rest: ms(rest) }
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

/// 2.3.1: c alone answers, which granted nothing; p leads by a and b.
#[test]
fn answers_of_quorum_are_needed() {
    let mut inheritance = inheritance();
    answers(&mut inheritance, 2, &[]);
    assert!(!inheritance.is_enough() && !is_free(&inheritance, "q", at(1_000)));
    answers(&mut inheritance, 1, &[held(x(), "p", 30)]);
    assert!(inheritance.is_enough());
    assert!(!is_free(&inheritance, "q", at(39)) && is_free(&inheritance, "q", at(40)));
}

/// 2.3.1 (b), 2.4.2: a member that has entered answers for all of the epoch before; the answers of
/// another one are not mixed with its own.
#[test]
fn entered_member_answers_for_all() {
    let mut inheritance = inheritance();
    inheritance.page(at(10), ENTERED, bounds(30, 0), whole(&[held(x(), "p", 30)]));
    assert!(inheritance.is_enough());
    assert_eq!(inheritance.until(&x(), Some(&who("p"))), at(40));
    let second = Source::Entered { instance: Instance(8) };
    inheritance.page(at(10), second, bounds(0, 0), whole(&[]));
    assert_eq!(inheritance.until(&x(), Some(&who("p"))), at(40));
    answers(&mut inheritance, 0, &[]);
    answers(&mut inheritance, 1, &[]);
    assert!(is_free(&inheritance, "q", at(10)), "a quorum says that p's lease is over");
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

/// 2.4.1: the page with y is lost, and that election is p's.
#[test]
fn uncovered_election_is_held_by_somebody() {
    let mut inheritance = inheritance();
    let rests = [held(x(), "p", 20)];
    for member in [0, 1] {
        let page = Page { after: None, rests: &rests, more: true };
        inheritance.page(at(10), wedged(member), bounds(30, 0), page);
    }
    assert_eq!(inheritance.rival(&x(), &who("q"), at(10)), Some((Some(&who("p")), at(30))));
    assert_eq!(inheritance.rival(&x(), &who("p"), at(10)), None);
    assert_eq!(inheritance.rival(&y(), &who("q"), at(10)), Some((None, at(40))));
    let after = x();
    for member in [0, 1] {
        let page = Page { after: Some(&after), rests: &[], more: false };
        inheritance.page(at(10), wedged(member), bounds(30, 0), page);
    }
    assert_eq!(inheritance.rival(&y(), &who("q"), at(10)), None);
}

/// 2.4.1: without the page between them, a later page covers nothing.
#[test]
fn later_page_waits_for_earlier() {
    let mut inheritance = inheritance();
    let (after, rests) = (x(), [held(y(), "p", 20)]);
    let last = Page { after: Some(&after), rests: &rests, more: false };
    for member in [0, 1] {
        inheritance.page(at(10), wedged(member), bounds(30, 0), last);
    }
    assert_eq!(inheritance.rival(&y(), &who("p"), at(10)), Some((None, at(40))));
    let rests = [held(x(), "q", 20)];
    for member in [0, 1] {
        let first = Page { after: None, rests: &rests, more: true };
        inheritance.page(at(11), wedged(member), bounds(29, 0), first);
        inheritance.page(at(11), wedged(member), bounds(29, 0), last);
        inheritance.page(at(12), wedged(member), bounds(29, 0), first);
    }
    assert_eq!(inheritance.rival(&y(), &who("p"), at(11)), None);
    assert_eq!(inheritance.until(&y(), Some(&who("p"))), at(31));
}

/// 2.4.1: elections go back within a page, or to the page before.
#[test]
fn page_that_goes_back_teaches_bounds() {
    let mut inheritance = inheritance();
    let back = [held(y(), "p", 20), held(x(), "p", 20)];
    for member in [0, 1] {
        inheritance.page(at(10), wedged(member), bounds(30, 0), whole(&back));
    }
    assert_eq!(inheritance.rival(&x(), &who("p"), at(10)), Some((None, at(40))));
    let (after, rests) = (x(), [held(x(), "p", 20)]);
    for member in [0, 1] {
        let first = Page { after: None, rests: &rests, more: true };
        let again = Page { after: Some(&after), rests: &rests, more: false };
        inheritance.page(at(10), wedged(member), bounds(30, 0), first);
        inheritance.page(at(10), wedged(member), bounds(30, 0), again);
    }
    assert_eq!(inheritance.rival(&x(), &who("p"), at(10)), None);
    assert_eq!(inheritance.rival(&y(), &who("p"), at(10)), Some((None, at(40))));
}

/// 2.4.1: a granted to p, started again, and answers with c.
#[test]
fn quarantine_names_unknown_holder() {
    let mut inheritance = inheritance();
    inheritance.page(at(10), wedged(0), bounds(50, 50), whole(&[]));
    answers(&mut inheritance, 2, &[]);
    assert_eq!(inheritance.rival(&x(), &who("q"), at(10)), Some((None, at(60))));
    assert!(is_free(&inheritance, "q", at(60)));
}

/// 2.4.1: a page from before the restart of a arrives after one from behind it.
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
    assert_eq!(inheritance.rival(&x(), &who("q"), at(11)), Some((None, at(60))));
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
    assert_eq!(inheritance.rival(&x(), &who("q"), at(10)), Some((Some(&who("p")), at(40))));
}

/// 2.4.5: p leads by a and c; b granted to q, for longer.
#[test]
fn each_holder_keeps_its_rest() {
    let mut inheritance = inheritance();
    answers(&mut inheritance, 0, &[held(x(), "p", 20)]);
    answers(&mut inheritance, 1, &[held(x(), "q", 30)]);
    assert_eq!(inheritance.rival(&x(), &who("q"), at(10)), Some((Some(&who("p")), at(30))));
    assert_eq!(inheritance.rival(&x(), &who("p"), at(10)), Some((Some(&who("q")), at(40))));
    assert_eq!(inheritance.rival(&x(), &who("r"), at(10)), Some((Some(&who("q")), at(40))));
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

/// 2.4.7: nothing lasts beyond the bound, whatever follows.
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
    inheritance.released(&x(), &who("q"), at(9));
    inheritance.released(&y(), &who("p"), at(9));
    inheritance.released(&x(), &who("p"), at(4));
    assert!(!is_free(&inheritance, "q", at(10)));
    inheritance.released(&x(), &who("p"), at(5));
    assert!(is_free(&inheritance, "q", at(10)));
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
    assert_eq!(inheritance.rival(&x(), &who("p"), at(10)), Some((None, at(40))));
}

/// 2.2.2, 2.2.4: the own answers of a member that has entered.
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

/// A second, slow account of all that arrived.
struct Account {
    before: Arc<Membership>,
    told: Vec<u64>,
    /// Answers by member, that of the entered one at 9.
    answers: BTreeMap<usize, AnswerAccount>,
    granted: Vec<ElectionName>,
}

#[derive(Default)]
struct AnswerAccount {
    /// Counters of ballots by which the member accepted the successor.
    ballots: Vec<u64>,
    bounds: Vec<Time>,
    /// Pages that followed each other: last election, whether it is the last page, unknown rest.
    pages: Vec<(Option<ElectionName>, bool, Time)>,
    rests: Vec<(HeldRest, Time)>,
}

impl AnswerAccount {
    fn until(&self, election: &ElectionName, holder: Option<&str>) -> Time {
        let covers = |last: &Option<ElectionName>| last.as_ref().is_some_and(|l| election <= l);
        let is_covered = self.pages.iter().any(|(last, is_last, _)| *is_last || covers(last));
        let bound = *self.bounds.iter().min().unwrap();
        if !is_covered {
            return bound;
        }
        let unknown = self.pages.iter().map(|(_, _, unknown)| *unknown);
        let is_it = |rest: &HeldRest| {
            rest.election == *election && Some(&rest.who) == holder.map(who).as_ref()
        };
        let named = self.rests.iter().filter(|(rest, _)| is_it(rest)).map(|(_, until)| *until);
        unknown.chain(named).max().unwrap().min(bound)
    }
}

impl Account {
    fn is_quorum(&self, has: impl Fn(&AnswerAccount) -> bool) -> bool {
        let answers = self.answers.iter().filter(|(member, answer)| **member < 9 && has(answer));
        let members: MemberSet = answers.map(|(member, _)| *member).collect();
        self.before.quorums().is_quorum(members)
    }

    fn is_enough(&self) -> bool {
        let by_one = (0..4).any(|counter| self.is_quorum(|one| one.ballots.contains(&counter)));
        let later = |told| self.is_quorum(|one| one.ballots.iter().any(|ballot| *ballot >= told));
        self.answers.contains_key(&9) || by_one || self.told.iter().any(|told| later(*told))
    }

    /// The first of all ends by which a quorum, or the entered member, has it over.
    fn until(&self, election: &ElectionName, holder: Option<&str>) -> Time {
        if self.granted.contains(election) {
            return Time::ZERO;
        }
        let end = |answer: &AnswerAccount| answer.until(election, holder);
        let is_over = |time: Time| {
            let by_entered = self.answers.get(&9).is_some_and(|answer| end(answer) <= time);
            by_entered || self.is_quorum(|answer| end(answer) <= time)
        };
        self.answers.values().map(end).filter(|time| is_over(*time)).min().unwrap_or(Time::MAX)
    }
}

/// A message that a member of the next epoch may hear, or its own grant.
#[derive(Clone, Debug)]
enum Word {
    Header { source: usize, counter: u64, rest: u64 },
    Page { source: usize, after: usize, rests: Vec<(usize, usize, u64)>, more: bool, unknown: u64 },
    Told { counter: u64 },
    Released { election: usize, holder: usize, start: u64 },
    Granted { election: usize, holder: usize },
}

const ELECTIONS: [&str; 3] = ["x", "y", "z"];
const HOLDERS: [&str; 2] = ["p", "q"];

fn election(nth: usize) -> ElectionName {
    ELECTIONS[nth].parse().unwrap()
}

fn word() -> impl Strategy<Value = Word> {
    let source = || prop_oneof![4 => 0_usize..5, 1 => Just(9)];
    let rests = prop::collection::vec((0_usize..3, 0_usize..2, 0_u64..40), 0..4);
    prop_oneof![
        3 => (source(), 0_u64..4, 0_u64..60)
            .prop_map(|(source, counter, rest)| Word::Header { source, counter, rest }),
        6 => (source(), 0_usize..4, rests, any::<bool>(), 0_u64..9).prop_map(
            |(source, after, rests, more, unknown)| {
                Word::Page { source, after, rests, more, unknown }
            }
        ),
        1 => (0_u64..4).prop_map(|counter| Word::Told { counter }),
        1 => (0_usize..3, 0_usize..2, 0_u64..9)
            .prop_map(|(election, holder, start)| Word::Released { election, holder, start }),
        1 => (0_usize..3, 0_usize..2)
            .prop_map(|(election, holder)| Word::Granted { election, holder }),
    ]
}

fn source(nth: usize, counter: u64) -> Source {
    match nth {
        9 => ENTERED,
        member => Source::Wedged { member, ballot: ballot(counter), into: into() },
    }
}

/// Tells one word to the machine and to the account.
fn hear(inheritance: &mut Inheritance, account: &mut Account, now: Time, word: &Word) {
    match word {
        Word::Header { source: from, counter, rest } => {
            inheritance.header(now, source(*from, *counter), bounds(*rest, 0));
            let answer = account.answers.entry(*from).or_default();
            answer.ballots.push(*counter);
            answer.bounds.push(now.after(ms(*rest)));
        }
        Word::Page { source: from, after, rests, more, unknown } => {
            let after = after.checked_sub(1).map(election);
            let mut rests: Vec<HeldRest> = rests
                .iter()
                .map(|(nth, holder, rest)| held(election(*nth), HOLDERS[*holder], *rest))
                .filter(|rest| after.as_ref().is_none_or(|after| rest.election > *after))
                .collect();
            rests.sort_by(|one, other| one.election.cmp(&other.election));
            let page = Page { after: after.as_ref(), rests: &rests, more: *more };
            inheritance.page(now, source(*from, 0), bounds(50, *unknown), page);
            let answer = account.answers.entry(*from).or_default();
            answer.ballots.push(0);
            answer.bounds.push(now.after(ms(50)));
            let covered = answer.pages.iter().rev().find_map(|(last, ..)| last.clone());
            if answer.pages.iter().any(|(_, is_last, _)| *is_last) || covered != after {
                return;
            }
            let last = rests.last().map(|rest| rest.election.clone());
            answer.pages.push((last, !more, now.after(ms(*unknown))));
            answer.rests.extend(rests.into_iter().map(|rest| (rest.clone(), now.after(rest.rest))));
        }
        Word::Told { counter } => {
            inheritance.told(ballot(*counter));
            account.told.push(*counter);
        }
        Word::Released { election: nth, holder, start } => {
            let (election, holder) = (election(*nth), who(HOLDERS[*holder]));
            inheritance.released(&election, &holder, at(*start));
            for answer in account.answers.values_mut() {
                answer.rests.retain(|(rest, _)| {
                    rest.election != election || rest.who != holder || at(*start) < rest.start
                });
            }
        }
        Word::Granted { election: nth, holder } => {
            let (election, holder) = (election(*nth), HOLDERS[*holder]);
            let expected = account.until(&election, Some(holder));
            assert_eq!(inheritance.granted(&election, &who(holder)), expected);
            account.granted.push(election);
        }
    }
}

proptest! {
    /// 2.4: the machine agrees with a straightforward account, whatever arrives in whatever order.
    #[test]
    fn rests_agree_with_account(words in prop::collection::vec((0_u64..9, word()), 0..40)) {
        let before = membership("a b c d e");
        let mut inheritance = Inheritance::begin(Arc::clone(&before), into(), 100);
        let mut account =
            Account { before, told: Vec::new(), answers: BTreeMap::new(), granted: Vec::new() };
        let mut now = at(100);
        for (pause, word) in &words {
            now = now.after(ms(*pause));
            hear(&mut inheritance, &mut account, now, word);
            prop_assert_eq!(inheritance.is_enough(), account.is_enough());
            for election in (0..3).map(election) {
                let ends = [None, Some("p"), Some("q")].map(|holder| {
                    let until = inheritance.until(&election, holder.map(who).as_ref());
                    (until, account.until(&election, holder))
                });
                prop_assert!(ends.iter().all(|(until, expected)| until == expected), "{:?}", ends);
                let in_the_way = ends[0].0.max(ends[2].0);
                let rival = inheritance.rival(&election, &who("p"), now);
                let until = (now < in_the_way).then_some(in_the_way);
                prop_assert_eq!(rival.map(|(_, until)| until), until);
            }
        }
    }
}
