use std::collections::{BTreeMap, BTreeSet};

use tenure_core::etcd::{Act, Bytes, CallId, Compare, LeaseId, Op, Refusal, Reply, Request, Txn};

use super::lives::Lives;
use super::{Check, Elections, Fact, Own, Property, moved};

/// Keys are moved to the lease of a new term from where they are, all of them, and what etcd said
/// of a move is heard: what was not so is not asked for again as it was, and of keys that it
/// refuses to move together half are tried.
#[derive(Debug, Default)]
pub(super) struct MovesGetOn {
    lives: Lives<Life>,
}

type Homes = BTreeMap<usize, (Bytes, LeaseId)>;

/// What one life has moved.
#[derive(Debug, Default)]
struct Life {
    asked: BTreeMap<CallId, Asked>,
    /// The key of each election in which it has one, with the lease that it was made on or moved
    /// to last.
    homes: Homes,
    /// The last move.
    moves: Moves,
    /// What was known before the last answer, until it is known that it was waited for.
    before: Option<(Moves, Homes)>,
    made: Option<usize>,
    /// The lease that carries new keys.
    open: Option<LeaseId>,
    /// How often it was renewed since it does: one that was found to exist is renewed at once.
    renewed: u32,
    /// What has to be done with the last input.
    waits: Option<String>,
}

#[derive(Clone, Debug)]
enum Asked {
    Create(usize, Bytes, LeaseId),
    Move(Txn),
}

#[derive(Clone, Debug, Default)]
struct Moves {
    to: Option<LeaseId>,
    /// The keys that it was to move there.
    offered: BTreeSet<Bytes>,
    /// Whether it is not answered, or has to be asked again.
    busy: bool,
    /// What was not so.
    not_so: Option<Txn>,
    /// How many keys were refused together.
    refused: Option<usize>,
    /// The keys that were elsewhere when the first was moved there.
    first: BTreeSet<Bytes>,
    /// What to say when a key was refused alone and no other one is moved at once.
    waits: Option<String>,
}

impl Property<Elections> for MovesGetOn {
    const NAME: &'static str = "Keys move to the lease of a new term";
    const SOURCE: &'static str = "ruling 14 (E3b)";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        self.lives.see(fact);
        match fact {
            Fact::Ended { node, election, .. } => {
                let life = &mut self.lives[node];
                life.homes.remove(&election);
                if let Some((_, homes)) = &mut life.before {
                    homes.remove(&election);
                }
                Ok(())
            }
            Fact::Own(Own::Closed { node, .. }) => {
                let life = &mut self.lives[node];
                life.homes.clear();
                if let Some((_, homes)) = &mut life.before {
                    homes.clear();
                }
                life.waits = None;
                Ok(())
            }
            Fact::Own(Own::Sent { node, request, .. }) => self.lives[node]
                .ask(check, request)
                .map_err(|why| format!("{} sends {request}, {why}", check.name(node))),
            Fact::Own(Own::Heard { node, answer, .. }) => {
                self.lives[node].hear(answer.call, &answer.reply);
                Ok(())
            }
            Fact::Own(Own::Unasked { node }) => {
                let life = &mut self.lives[node];
                if let Some(before) = life.before.take() {
                    (life.moves, life.homes) = before;
                }
                life.waits = None;
                if let Some(made) = life.made.take() {
                    life.homes.remove(&made);
                }
                Ok(())
            }
            Fact::Handled { node, core, .. } => {
                let life = &mut self.lives[node];
                if life.open != core.lease() {
                    (life.open, life.renewed) = (core.lease(), 0);
                }
                // It came with the input before.
                let waits = std::mem::replace(&mut life.waits, life.moves.waits.take());
                waits.map_or(Ok(()), |why| Err(format!("{}: {why}", check.name(node))))
            }
            _ => Ok(()),
        }
    }
}

impl Life {
    fn ask(&mut self, check: &Check<'_>, request: &Request) -> Result<(), String> {
        match &request.op {
            Op::Txn(txn) => match txn.then.first() {
                Some(Act::Put { key, lease, .. }) => {
                    if let Some(election) = check.records().election_of(key) {
                        let create = Asked::Create(election, key.clone(), *lease);
                        self.asked.insert(request.call, create);
                        self.homes.remove(&election);
                    }
                    Ok(())
                }
                Some(Act::Move { lease, .. }) => {
                    self.waits = None;
                    self.asked.insert(request.call, Asked::Move(txn.clone()));
                    if self.moves.to != Some(*lease) {
                        let first = self.homes.values().filter(|(_, home)| home != lease);
                        let first = first.map(|(key, _)| key.clone()).collect();
                        self.moves = Moves { to: Some(*lease), first, ..Moves::default() };
                    }
                    self.moves.offer(txn)
                }
                _ => Ok(()),
            },
            // It is renewed a third of its length after it was granted: by then all keys have had
            // their turn, unless a move failed.
            Op::KeepAlive { lease } if self.open == Some(*lease) => {
                self.renewed += 1;
                if self.renewed == 1 {
                    return Ok(());
                }
                let Moves { to, offered, busy, .. } = &self.moves;
                let moved = *to == Some(*lease);
                let busy = *busy && moved;
                let left = |(key, home): &&(Bytes, LeaseId)| {
                    home != lease && !(moved && offered.contains(key))
                };
                self.homes.values().find(left).filter(|_| !busy).map_or(Ok(()), |(key, home)| {
                    Err(format!("and leaves {key} on lease {home}, of an earlier term"))
                })
            }
            _ => Ok(()),
        }
    }

    fn hear(&mut self, call: CallId, reply: &Reply) {
        (self.before, self.made) = (None, None);
        match self.asked.remove(&call) {
            Some(Asked::Create(election, key, lease)) => {
                if let Reply::Txn { succeeded: true, .. } = reply {
                    self.homes.insert(election, (key, lease));
                    self.made = Some(election);
                }
            }
            Some(Asked::Move(txn)) => {
                self.before = Some((self.moves.clone(), self.homes.clone()));
                let moved = matches!(reply, Reply::Txn { succeeded: true, .. });
                let keys = self.moves.hear(txn, reply);
                let to = self.moves.to;
                let homes = self.homes.values();
                let there = |left: &&Bytes| {
                    homes.clone().any(|(key, home)| key == *left && Some(*home) != to)
                };
                let left = self.moves.first.difference(&self.moves.offered).find(there);
                if let (Reply::Refused(refusal), 1, Some(left)) = (reply, keys.len(), left)
                    && !matches!(refusal, Refusal::TooManyOperations { .. })
                {
                    self.moves.waits = Some(format!("{left} waits for a key that was refused"));
                }
                let Some(to) = self.moves.to.filter(|_| moved) else { return };
                let homes = self.homes.values_mut().filter(|(key, _)| keys.contains(key));
                homes.for_each(|(_, home)| *home = to);
            }
            None => {}
        }
    }
}

impl Moves {
    fn offer(&mut self, txn: &Txn) -> Result<(), String> {
        (self.busy, self.waits) = (true, None);
        let keys: BTreeSet<Bytes> = moved(txn).cloned().collect();
        for key in &keys {
            let at =
                |compare: &Compare| matches!(compare, Compare::Lease { key: at, .. } if at == key);
            if !txn.when.iter().any(at) {
                return Err(format!("and not only if {key} is where it is thought to be"));
            }
        }
        self.offered.extend(keys.iter().cloned());
        if self.not_so.take().as_ref() == Some(txn) {
            return Err("and was told that this is not so".to_owned());
        }
        match self.refused.take().filter(|refused| keys.len() >= *refused) {
            Some(refused) => Err(format!("and {refused} keys were refused together")),
            None => Ok(()),
        }
    }

    /// What was to be moved.
    fn hear(&mut self, txn: Txn, reply: &Reply) -> BTreeSet<Bytes> {
        let keys: BTreeSet<Bytes> = moved(&txn).cloned().collect();
        let to = |act: &Act| matches!(act, Act::Move { lease, .. } if Some(*lease) == self.to);
        if !txn.then.iter().all(to) {
            return BTreeSet::new();
        }
        match reply {
            Reply::Txn { succeeded: true, .. } => self.busy = false,
            Reply::Txn { succeeded: false, .. } => self.not_so = Some(txn),
            Reply::Refused(Refusal::TooManyOperations { .. }) => {}
            Reply::Refused(_) if keys.len() > 1 => self.refused = Some(keys.len()),
            _ => {}
        }
        keys
    }
}
