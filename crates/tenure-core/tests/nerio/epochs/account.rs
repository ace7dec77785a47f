//! Compares inherited rests with a second account of the same answers, in any order of arrival.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use tenure_core::nerio::epoch::{HeldRest, Inheritance, Membership, Page, Source};
use tenure_core::nerio::{Instance, MemberSet, Who};
use tenure_core::{ElectionName, Time};

use super::rests::{ENTERED, bounds, held, into};
use super::{ballot, membership, who};
use crate::story::{address, at, ms};

/// A second, slow account of all messages that arrived.
struct Account {
    before: Arc<Membership>,
    told: Vec<u64>,
    /// Answers by member; members that have entered have numbers from 9 on.
    answers: BTreeMap<usize, AnswerAccount>,
    granted: Vec<ElectionName>,
    /// Starts that holders gave up.
    released: Vec<(ElectionName, Who, Time)>,
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
    fn until(
        &self,
        election: &ElectionName,
        holder: Option<&str>,
        released: &[(ElectionName, Who, Time)],
    ) -> Time {
        let covers = |last: &Option<ElectionName>| last.as_ref().is_some_and(|l| election <= l);
        let is_covered = self.pages.iter().any(|(last, is_last, _)| *is_last || covers(last));
        let bound = *self.bounds.iter().min().unwrap();
        if !is_covered {
            return bound;
        }
        let unknown = self.pages.iter().map(|(_, _, unknown)| *unknown);
        let is_over = |rest: &HeldRest| {
            released.iter().any(|(election, who, start)| {
                *election == rest.election && *who == rest.who && rest.start <= *start
            })
        };
        let is_it = |rest: &HeldRest| {
            let its = Some(&rest.who) == holder.map(who).as_ref();
            rest.election == *election && its && !is_over(rest)
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
        let has_entered = self.answers.range(9..).next().is_some();
        has_entered || by_one || self.told.iter().any(|told| later(*told))
    }

    /// The first instant by which the rest has ended: a quorum of answers says so, or the answer of
    /// a member that has entered.
    fn until(&self, election: &ElectionName, holder: Option<&str>) -> Time {
        if self.granted.contains(election) {
            return Time::ZERO;
        }
        let end = |answer: &AnswerAccount| answer.until(election, holder, &self.released);
        let is_over = |time: Time| {
            let has = |answer: &AnswerAccount| end(answer) <= time;
            let mut entered = self.answers.range(9..);
            entered.any(|(_, answer)| has(answer)) || self.is_quorum(has)
        };
        self.answers.values().map(end).filter(|time| is_over(*time)).min().unwrap_or(Time::MAX)
    }
}

/// A message to a member of the next epoch, or a grant of that member.
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
    let source = || prop_oneof![4 => 0_usize..5, 1 => 9_usize..11];
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
        10 => Source::Entered { instance: Instance(8) },
        member => Source::Wedged { member, ballot: ballot(counter), into: into() },
    }
}

/// Hands one message to the inheritance and to the account.
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
            inheritance.released(&election, (&holder, address(holder.name.as_str())), at(*start));
            account.released.push((election, holder, at(*start)));
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
    /// 2.4: the inheritance agrees with the account, for any words in any order.
    #[test]
    fn rests_agree_with_account(words in prop::collection::vec((0_u64..9, word()), 0..40)) {
        let before = membership("a b c d e");
        let mut inheritance = Inheritance::begin(Arc::clone(&before), into(), 100);
        let mut account = Account {
            before,
            told: Vec::new(),
            answers: BTreeMap::new(),
            granted: Vec::new(),
            released: Vec::new(),
        };
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
                prop_assert_eq!(rival.map(|rival| rival.until), until);
                prop_assert_eq!(inheritance.end(&election), in_the_way.max(ends[1].0));
            }
        }
    }
}
