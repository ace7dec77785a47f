use std::collections::{BTreeMap, BTreeSet};

use tenure_core::etcd::{Act, Bytes, CallId, Compare, Keys, Op, Reply, Revision, Txn};

use super::lives::Lives;
use super::{Check, Elections, Fact, Own, Property};

/// Between what a process has read and what it watches nothing can happen unseen: a watch begins
/// where an answer about the same keys ended, or these are read at once. And no watch is left open
/// when another one takes its place.
#[derive(Debug, Default)]
pub(super) struct WatchesFollowAnswers {
    lives: Lives<Life>,
}

/// What one life knows, and watches.
#[derive(Debug, Default)]
struct Life {
    asked: BTreeMap<CallId, Vec<Bytes>>,
    /// At which revision keys, and all that begin with some prefix, were read last.
    read: BTreeMap<Bytes, Revision>,
    open: BTreeMap<CallId, Keys>,
    /// The watches that it has asked for: its driver asks again, until they are open.
    watches: BTreeSet<CallId>,
    /// The keys that it has asked for.
    own: BTreeSet<Bytes>,
    /// A key that is watched from later on than it was read, and what to say of it.
    unread: Option<(Bytes, String)>,
}

impl Property<Elections> for WatchesFollowAnswers {
    const NAME: &'static str = "A watch begins where an answer ended";
    const SOURCE: &'static str = "rulings 1, 2 and 9";

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        self.lives.see(fact);
        match fact {
            Fact::Own(Own::Sent { node, request, .. }) => {
                let life = &mut self.lives[node];
                match &request.op {
                    Op::Txn(txn) => {
                        let keys = keys(txn);
                        if let Some(Act::Put { key, .. }) = txn.then.first() {
                            life.own.insert(key.clone());
                        }
                        if let Some((key, _)) = &life.unread
                            && keys.contains(key)
                        {
                            life.unread = None;
                        }
                        life.asked.insert(request.call, keys);
                    }
                    Op::Watch { keys, from, deletions } => {
                        let others = matches!(keys, Keys::One(key) if !life.own.contains(key));
                        let why = match others && !deletions {
                            true => Err("and of others only their end is of interest".to_owned()),
                            false => life.watch(check, request.call, keys, *from),
                        };
                        why.map_err(|why| {
                            format!("{} watches {keys} from {from}, {why}", check.name(node))
                        })?;
                    }
                    Op::Unwatch { watch } => {
                        life.open.remove(watch);
                    }
                    Op::Grant { .. } | Op::KeepAlive { .. } | Op::Revoke { .. } => {}
                }
            }
            Fact::Own(Own::Heard { node, answer, .. }) => {
                let life = &mut self.lives[node];
                if !matches!(answer.reply, Reply::Watching | Reply::Changed(_)) {
                    life.open.remove(&answer.call);
                }
                let Some(keys) = life.asked.remove(&answer.call) else { return Ok(()) };
                if let (Some(header), Reply::Txn { .. }) = (&answer.header, &answer.reply) {
                    for key in keys {
                        let read = life.read.entry(key).or_default();
                        *read = header.revision.max(*read);
                    }
                }
            }
            Fact::Handled { node, .. } => {
                if let Some((_, why)) = self.lives[node].unread.take() {
                    return Err(format!("{}: {why}", check.name(node)));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Life {
    fn watch(
        &mut self,
        check: &Check<'_>,
        call: CallId,
        keys: &Keys,
        from: Revision,
    ) -> Result<(), String> {
        if !self.watches.insert(call) {
            self.open.insert(call, keys.clone());
            return Ok(());
        }
        let takes_place = |other: &Keys| match (other, keys) {
            (Keys::Prefix(one), Keys::Prefix(other)) => one == other,
            (Keys::One(one), Keys::One(other)) => {
                check.records().election_of(one) == check.records().election_of(other)
            }
            _ => false,
        };
        let open = self.open.iter().find(|(_, keys)| takes_place(keys));
        if let Some((open, keys)) = open {
            return Err(format!("and {open} is still open, of {keys}"));
        }
        self.open.insert(call, keys.clone());
        let (Keys::One(key) | Keys::Prefix(key)) = keys;
        let about = self.read.iter().filter(|(read, _)| key.starts_with(read));
        let read = about.map(|(_, revision)| *revision).max();
        if read.is_none_or(|read| from > read + 1) {
            let read = read.map_or("never".to_owned(), |read| format!("at {read}"));
            let why = format!("{key} is watched from {from} on, was read {read}, and is not read");
            self.unread = Some((key.clone(), why));
        }
        Ok(())
    }
}

/// What a transaction tells of.
fn keys(txn: &Txn) -> Vec<Bytes> {
    let (Txn { when, then, otherwise }, mut keys) = (txn, Vec::new());
    for compare in when {
        let (Compare::Created { key, .. } | Compare::Lease { key, .. }) = compare;
        keys.push(key.clone());
    }
    keys.extend(then.iter().chain(otherwise).map(|act| act.key().clone()));
    keys
}
