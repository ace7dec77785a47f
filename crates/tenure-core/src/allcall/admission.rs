//! Checks packets on arrival: only well-formed packets of this cluster count (ruling 6).
//!
//! `Allcall::hear_call` and `hear_reply` judge the age of a packet later. An old packet is no proof
//! that its sender is alive, but the claims in the packet are used.

use alloc::collections::BTreeSet;

use super::event::Ignored;
use super::identity::Participant;
use super::message::{
    ANSWERS_MAX, Body, ENTRIES_MAX, Entry, Header, LeaderClaim, PARTS_MAX, Packet, Part, Round,
    TOMBSTONES_MAX, Tombstone,
};
use crate::name::{ClusterName, ElectionName};

/// Checks that a packet belongs to this cluster, and that its parts fit together.
pub(super) fn check(packet: &Packet, cluster: &ClusterName) -> Result<(), Ignored> {
    let Packet { header, body } = packet;
    if header.cluster != *cluster {
        return Err(Ignored::OtherCluster);
    }
    let formed = match body {
        Body::Ask(ask) => is_numbered(ask.round, ask.part) && is_list(ask.elections.iter(), 1),
        Body::Call(call) => {
            is_numbered(call.round, call.part) && are_entries(header, &call.entries, 1)
        }
        Body::Reply(reply) => {
            let answers = &reply.answers;
            (1..=ANSWERS_MAX).contains(&answers.len())
                && answers.iter().all(|answer| answer.round > Round(0))
                && are_entries(header, &reply.entries, 0)
        }
        Body::Resign(resign) => {
            let own = |dead: &Tombstone| is_tombstone(dead) && dead.leader == header.sender;
            is_list(resign.ended.iter().map(|(election, _)| election), 1)
                && resign.ended.iter().all(|(_, dead)| own(dead))
        }
    };
    if formed { Ok(()) } else { Err(Ignored::Malformed) }
}

fn is_numbered(round: Round, part: Part) -> bool {
    round > Round(0) && part.number < part.of && part.of <= PARTS_MAX
}

fn is_list<'a>(elections: impl Iterator<Item = &'a ElectionName>, least: usize) -> bool {
    let mut seen = BTreeSet::new();
    let mut count = 0;
    for election in elections {
        count += 1;
        if count > ENTRIES_MAX || !seen.insert(election) {
            return false;
        }
    }
    count >= least
}

fn are_entries(header: &Header, entries: &[Entry], least: usize) -> bool {
    is_list(entries.iter().map(|entry| &entry.election), least)
        && entries.iter().all(|entry| {
            entry.tombstones.len() <= TOMBSTONES_MAX
                && entry.tombstones.iter().all(is_tombstone)
                && entry.claim.as_ref().is_none_or(|claim| is_claim(header, claim))
        })
}

/// Whether a claim is well-formed: it has a term, and a claim of the sender itself has the sender's
/// rank.
fn is_claim(header: &Header, claim: &LeaderClaim) -> bool {
    claim.term > 0 && (claim.leader != header.sender || claim.rank == header.rank)
}

fn is_tombstone(dead: &Tombstone) -> bool {
    let to_itself = |successor: &Participant| *successor == dead.leader;
    dead.term > 0 && !dead.successor.as_ref().is_some_and(to_itself)
}
