//! Proposers and votes in made-up worlds: messages are lost, repeated and late, members lose what
//! was not flushed, proposers end and begin again.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use tenure_core::nerio::epoch::{Ballot, EpochId, Membership, Phase, Proposer, Vote};
use tenure_core::nerio::{Inc, MemberSet};

use super::membership;

/// A message between a proposer and a member or seat, each by its number.
#[derive(Clone, Debug)]
enum Letter {
    Prepare { from: usize, to: usize, ballot: Ballot },
    Promise { from: usize, to: usize, ballot: Ballot, accepted: Option<(Ballot, EpochId)> },
    Refused { to: usize, above: Ballot },
    Ready { from: usize, to: usize, successor: EpochId },
    Accept { from: usize, to: usize, ballot: Ballot, successor: EpochId },
    Accepted { from: usize, to: usize, ballot: Ballot, successor: EpochId },
}

struct Acceptor {
    vote: Vote<EpochId>,
    disk: Vote<EpochId>,
    /// Votes that are not flushed, with the answers that wait for them.
    unflushed: Vec<(Vote<EpochId>, Letter)>,
}

struct World {
    before: Arc<Membership>,
    /// The successor that each proposer would propose by itself.
    successors: Vec<Arc<Membership>>,
    acceptors: Vec<Acceptor>,
    proposers: Vec<Proposer>,
    lives: u128,
    letters: Vec<Letter>,
    /// Durable acceptances.
    accepted: BTreeMap<Ballot, (EpochId, MemberSet)>,
    decided: Option<EpochId>,
}

impl World {
    fn new(members: usize, proposers: usize) -> Self {
        let acceptor = || Acceptor { vote: Vote::NONE, disk: Vote::NONE, unflushed: Vec::new() };
        let mut world = Self {
            before: membership(["a", "a b", "a b c", "a b c d", "a b c d e"][members - 1]),
            successors: ["p q r", "s t u", "v w x"].map(membership).to_vec(),
            acceptors: (0..members).map(|_| acceptor()).collect(),
            proposers: Vec::new(),
            lives: 0,
            letters: Vec::new(),
            accepted: BTreeMap::new(),
            decided: None,
        };
        for nth in 0..proposers {
            let proposer = world.begin(nth, Ballot::NONE);
            world.proposers.push(proposer);
            world.ask(nth);
        }
        world
    }

    /// A proposal of a new incarnation, or of the incarnation that used the ballot `above`.
    fn begin(&mut self, nth: usize, above: Ballot) -> Proposer {
        let own = Arc::clone(&self.successors[nth]);
        let is_new = above == Ballot::NONE;
        self.lives += u128::from(is_new);
        let inc = if is_new { Inc(self.lives) } else { above.inc };
        Proposer::start(Arc::clone(&self.before), own, inc, above).unwrap()
    }

    /// Sends the present question of a proposer to all that have not answered it.
    fn ask(&mut self, from: usize) {
        let proposer = &self.proposers[from];
        let ballot = proposer.ballot();
        for to in proposer.missing().iter() {
            self.letters.push(match proposer.phase() {
                Phase::Prepare => Letter::Prepare { from, to, ballot },
                Phase::Accept { successor } => Letter::Accept { from, to, ballot, successor },
                // The seat answers at once.
                Phase::Ready => {
                    let successor = self.successors[from].id();
                    Letter::Ready { from: to, to: from, successor }
                }
                Phase::Decided { .. } | Phase::Cancelled => continue,
            });
        }
    }

    fn deliver(&mut self, letter: Letter) {
        let (proposer, is_news) = match letter {
            Letter::Prepare { from, to, ballot } => {
                let vote = &mut self.acceptors[to].vote;
                let accepted = vote.accepted;
                let answer = Letter::Promise { from: to, to: from, ballot, accepted };
                let is_promised = vote.promise(ballot);
                return self.answer(to, from, is_promised, answer);
            }
            Letter::Accept { from, to, ballot, successor } => {
                let answer = Letter::Accepted { from: to, to: from, ballot, successor };
                let is_accepted = self.acceptors[to].vote.accept(ballot, successor);
                return self.answer(to, from, is_accepted, answer);
            }
            Letter::Promise { from, to, ballot, accepted } => {
                (to, self.proposers[to].on_promise(from, ballot, accepted))
            }
            Letter::Refused { to, above } => return self.proposers[to].on_refused(above),
            Letter::Ready { from, to, successor } => {
                (to, self.proposers[to].on_ready(from, successor))
            }
            Letter::Accepted { from, to, ballot, successor } => {
                (to, self.proposers[to].on_accepted(from, ballot, successor))
            }
        };
        if is_news {
            self.ask(proposer);
        }
    }

    /// The answer of a member: after the flush if the vote changed, else a refusal at once.
    fn answer(&mut self, member: usize, proposer: usize, is_vote: bool, answer: Letter) {
        let acceptor = &mut self.acceptors[member];
        if is_vote {
            acceptor.unflushed.push((acceptor.vote.clone(), answer));
        } else {
            self.letters.push(Letter::Refused { to: proposer, above: acceptor.vote.promised });
        }
    }

    /// The oldest record of a member is durable, and its answer leaves.
    fn flush(&mut self, member: usize) -> Result<(), TestCaseError> {
        if self.acceptors[member].unflushed.is_empty() {
            return Ok(());
        }
        let (vote, answer) = self.acceptors[member].unflushed.remove(0);
        self.letters.push(answer);
        self.write(member, &vote)
    }

    fn write(&mut self, member: usize, vote: &Vote<EpochId>) -> Result<(), TestCaseError> {
        self.acceptors[member].disk.merge(vote);
        let Some((ballot, successor)) = vote.accepted else { return Ok(()) };
        let (known, members) = self.accepted.entry(ballot).or_insert((successor, MemberSet::EMPTY));
        prop_assert_eq!(*known, successor, "two successors by ballot {}", ballot);
        *members = members.with(member);
        if self.before.quorums().is_quorum(*members) {
            let decided = *self.decided.get_or_insert(successor);
            prop_assert_eq!(decided, successor, "two successors are decided");
        }
        Ok(())
    }

    /// The machine of a member starts again. Its unflushed votes have reached the disk in part: the
    /// last, and every other one before it.
    fn crash(&mut self, member: usize) -> Result<(), TestCaseError> {
        let unflushed = std::mem::take(&mut self.acceptors[member].unflushed);
        for (vote, _) in unflushed.iter().rev().step_by(2) {
            self.write(member, vote)?;
        }
        let acceptor = &mut self.acceptors[member];
        acceptor.vote = acceptor.disk.clone();
        Ok(())
    }

    fn step(&mut self, kind: u8, pick: usize) -> Result<(), TestCaseError> {
        let member = pick % self.acceptors.len();
        let proposer = pick % self.proposers.len();
        let letter = pick.checked_rem(self.letters.len());
        match (kind, letter) {
            (0..=15, Some(at)) => {
                let letter = self.letters.swap_remove(at);
                self.deliver(letter);
            }
            (16..=17, Some(at)) => self.deliver(self.letters[at].clone()),
            (18..=19, Some(at)) => drop(self.letters.swap_remove(at)),
            (20..=27, _) => self.flush(member)?,
            (28, _) => self.crash(member)?,
            (29, _) => self.proposers[proposer] = self.begin(proposer, Ballot::NONE),
            (30, _) if self.proposers[proposer].cancel() => {
                let above = self.proposers[proposer].ballot();
                self.proposers[proposer] = self.begin(proposer, above);
            }
            (31.., _) => {
                self.proposers[proposer].on_timeout();
                self.ask(proposer);
            }
            _ => {}
        }
        self.check()
    }

    /// Checks that no proposer reports another decision than the members have made.
    fn check(&self) -> Result<(), TestCaseError> {
        for proposer in &self.proposers {
            if let Phase::Decided { successor } = proposer.phase() {
                prop_assert_eq!(Some(successor), self.decided);
            }
        }
        Ok(())
    }

    /// No more accidents: everything arrives, and one proposer retries.
    fn heal(&mut self) -> Result<(), TestCaseError> {
        self.proposers[0] = self.begin(0, Ballot::NONE);
        for _ in 0..4 {
            self.ask(0);
            while let Some(letter) = self.letters.pop() {
                self.deliver(letter);
                for member in 0..self.acceptors.len() {
                    while !self.acceptors[member].unflushed.is_empty() {
                        self.flush(member)?;
                    }
                }
            }
            self.proposers[0].on_timeout();
        }
        let phase = self.proposers[0].phase();
        prop_assert!(matches!(phase, Phase::Decided { .. }), "{:?}", phase);
        self.check()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// 2.1: the members decide at most one successor, and decide one when accidents have ended.
    #[test]
    fn one_successor_is_decided(
        members in 1_usize..=5,
        proposers in 2_usize..=3,
        steps in prop::collection::vec((0_u8..36, any::<prop::sample::Index>()), 0..300),
    ) {
        let mut world = World::new(members, proposers);
        for (kind, pick) in steps {
            world.step(kind, pick.index(1 << 20))?;
        }
        world.heal()?;
    }
}
