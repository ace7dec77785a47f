//! Made-up statements of members, and their merged lists.

use tenure_core::Fence;
use tenure_core::nerio::{CandidateHere, Checked, Config, ElectionHere, Inc, Member};

use super::*;

fn config() -> Checked {
    let member = |name: &str| {
        let address = ([127, 0, 0, 1], u16::from(name.as_bytes()[0])).into();
        Member::at(name.parse().unwrap(), address)
    };
    let config = Config::new("x".parse().unwrap(), ["a", "b", "c"].map(member).to_vec());
    config.check().unwrap()
}

fn merge(config: &Checked, at: Time) -> Merge<'_> {
    Merge { membership: config.membership(), drift: config.drift, at }
}

fn at(millis: u64) -> Time {
    Time::ZERO.after(Duration::from_millis(millis))
}

fn who(name: &str) -> Who {
    Who { name: name.parse().unwrap(), inc: Inc(1) }
}

/// A holder, its fence (0 for none), and the milliseconds left.
fn holds(name: &str, fence: u64, millis: u64) -> Option<HolderHere> {
    Some(HolderHere {
        who: who(name),
        fence: (fence > 0).then(|| Fence::new(fence)),
        remaining: Duration::from_millis(millis),
        leaving: None,
    })
}

fn leaves(millis: u64, holder: Option<HolderHere>) -> Option<HolderHere> {
    holder.map(|holder| HolderHere { leaving: Some(Duration::from_millis(millis)), ..holder })
}

fn seen(now: u64, said: [(u64, Option<HolderHere>); 3]) -> ElectionSeen {
    let election: ElectionName = "e".parse().unwrap();
    let words = said.into_iter().enumerate().map(|(member, (asked, holder))| {
        let here = ElectionHere { election: election.clone(), holder, waiting: 0 };
        Statement { member, asked: at(asked), said: Some(here) }
    });
    let words = words.collect();
    merge(&config(), at(now)).election(election, &words)
}

/// Leader, fence and end that the statements of a, b and c give. Each statement has the time of its
/// question.
fn named(now: u64, said: [(u64, Option<HolderHere>); 3]) -> Option<(String, u64, u128)> {
    let leader = seen(now, said).leader?;
    let until = leader.until.since(Time::ZERO).as_millis();
    Some((leader.who.name.to_string(), leader.fence.number(), until))
}

#[test]
fn quorum_names_leader_by_fence() {
    let p = |fence| (0, holds("p", fence, 10_000));
    let q = (0, holds("q", 7, 10_000));
    let nobody = (0, None);
    let told = |fence| Some(("p".to_owned(), fence, 9_980));
    assert_eq!(named(1, [p(7), p(7), nobody.clone()]), told(7), "less the drift of clocks");
    assert_eq!(named(1, [p(7), p(7), q.clone()]), told(7));
    assert_eq!(named(1, [p(7), nobody.clone(), q]), None, "each by less than a quorum");
    assert_eq!(named(1, [p(7), p(0), nobody.clone()]), None, "one has not heard its fence");
    assert_eq!(named(1, [p(7), p(6), nobody]), None, "of two leaderships");
    assert_eq!(named(1, [p(7), p(7), p(0)]), told(7));
}

/// Without a quorum of live grants no leader is named, whenever the members were asked.
#[test]
fn ended_lease_names_no_leader() {
    let said = || [(0, holds("p", 7, 3_000)), (0, holds("p", 7, 3_300)), (0, None)];
    assert!(named(2_900, said()).is_some());
    assert_eq!(named(3_100, said()), None);
    let ended = seen(3_100, said()).granted;
    let is_over = |vote: &Vote| vote.until <= at(3_100);
    assert_eq!(
        ended.iter().map(is_over).collect::<Vec<_>>(),
        [true, false],
        "and it is told which"
    );
    assert_eq!(
        named(3_000, [(0, holds("p", 7, 3_000)), (5, holds("p", 7, 9_000)), (0, None)]),
        None
    );
}

/// Members may be asked at different times, as long as all grants are live.
#[test]
fn late_answer_ends_no_grant() {
    let p = || (0, holds("p", 7, 3_000));
    assert!(named(2_500, [p(), p(), (2_400, None)]).is_some());
    assert!(named(2_500, [p(), p(), (2_400, holds("p", 7, 4_000))]).is_some());
    let told = Some(("p".to_owned(), 7, 7_984));
    let by_the_two_that_last =
        [(0, holds("p", 7, 7_000)), (0, holds("p", 7, 8_000)), (2_000, None)];
    assert!(named(1, by_the_two_that_last).is_some_and(|(_, _, until)| until == 6_986));
    let three = [(0, holds("p", 7, 7_000)), (0, holds("p", 7, 8_000)), (0, holds("p", 7, 9_000))];
    assert_eq!(named(1, three), told);
}

/// The time until the release counts from the question, not from the last answer.
#[test]
fn resigned_leader_is_named_until_release() {
    let said = || {
        let p = holds("p", 7, 4_000);
        [(0, leaves(500, p.clone())), (100, leaves(600, p.clone())), (0, p)]
    };
    let leaving = seen(300, said()).leader.and_then(|leader| leader.leaving).unwrap();
    assert_eq!(leaving.since(Time::ZERO).as_micros(), 698_801, "100 ms and 600 ms, less the drift");
    assert_eq!(named(700, said()), None, "it may have given it back, and another one leads");
}

/// The leader p gave its lease back, and the release to b was lost. Then q won with a and c.
#[test]
fn overtaken_leader_is_not_named() {
    let p = || holds("p", 7, 4_000);
    assert!(named(20, [(0, p()), (10, p()), (10, None)]).is_some());
    assert_eq!(named(20, [(0, p()), (10, p()), (10, holds("q", 8, 4_000))]), None);
    let over = named(200, [(0, p()), (10, p()), (10, holds("q", 8, 100))]);
    assert_eq!(over, None, "whether that one still leads or not");
    let granted = seen(20, [(0, p()), (10, p()), (10, holds("q", 8, 4_000))]).granted;
    assert_eq!(granted.len(), 3, "who said what is told");
    assert!(named(20, [(0, p()), (10, p()), (10, holds("q", 6, 4_000))]).is_some());
}

/// The age of an election also covers the answers of members that do not know the election.
#[test]
fn age_covers_all_answers() {
    let election: ElectionName = "e".parse().unwrap();
    let here = ElectionHere { election: election.clone(), holder: None, waiting: 2 };
    let words = vec![
        Statement { member: 0, asked: at(50), said: Some(here) },
        Statement { member: 1, asked: at(20), said: None },
    ];
    let seen = merge(&config(), at(90)).election(election, &words);
    assert_eq!((seen.asked, seen.waiting), (at(20), 2));
}

fn holder(name: &str, priority: u8, remaining: u64) -> Option<Box<Holder>> {
    Some(Box::new(Holder {
        who: who(name),
        address: ([127, 0, 0, 1], 1).into(),
        value: "".parse().unwrap(),
        remaining: Duration::from_millis(remaining),
        start: at(1),
        priority,
        leading: true,
        next: false,
        fence: Some(Fence::new(7)),
        leaving: None,
        lease: Duration::from_secs(5),
    }))
}

fn waits(member: usize, name: &str, seconds: u64) -> (Who, Statement<Option<CandidateHere>>) {
    let waited = Duration::from_secs(seconds);
    let said = CandidateHere { who: who(name), priority: 3, leading: false, waited };
    (who(name), Statement { member, asked: at(5), said: Some(said) })
}

#[test]
fn candidate_is_listed_once() {
    let config = config();
    let mut waiting = BTreeMap::<_, CandidateStatements>::new();
    for (who, told) in [waits(0, "q", 1), waits(0, "r", 5), waits(1, "q", 3_600)] {
        waiting.entry(who).or_default().push(told);
    }
    let held =
        |member, remaining| Statement { member, asked: at(0), said: holder("p", 9, remaining) };
    let holders = [held(0, 9_000), held(1, 20)];
    let (leader, all) = merge(&config, at(50)).candidates(&holders, &waiting);
    assert_eq!(leader, None, "one of its two grants is over");
    let told = all.iter().map(|one| {
        let grants = (one.granted.len(), one.ended.len());
        (one.who.name.as_str(), one.priority, grants, one.waits_at.len())
    });
    let expected = [("p", 9, (1, 1), 0), ("q", 3, (0, 0), 2), ("r", 3, (0, 0), 1)];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    // The candidate has waited at one member for 50 ms, and elsewhere for an hour, less the drift
    // of both clocks.
    assert_eq!(all[0].waited, None);
    assert_eq!(all[1].waited.map(|waited| waited.as_secs()), Some(3_592));
}
