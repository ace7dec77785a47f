//! The objects of a packet, field by field.

use serde::{Deserialize, Serialize};
use tenure_core::allcall::{
    Answered, Ask, Body, Call, Digest, Entry, Header, LeaderClaim, Packet, Part, Rank, Reply,
    Resign, Round, Times, Tombstone, VERSION,
};
use tenure_core::{ClusterName, ElectionName, Value};

use super::fields::{Hex, Instant, ParticipantField, Span};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Form {
    pub(super) v: u32,
    cluster: ClusterName,
    from: ParticipantField,
    rank: u64,
    tie: Hex<u128>,
    sent: Instant,
    heartbeat: Span,
    lease: Span,
    skew: Span,
    established: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ask: Option<AskForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<CallForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reply: Option<ReplyForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resign: Option<ResignForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskForm {
    round: u64,
    part: u16,
    of: u16,
    elections: Vec<ElectionName>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallForm {
    round: u64,
    part: u16,
    of: u16,
    entries: Vec<EntryForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyForm {
    answers: Vec<AnswerForm>,
    entries: Vec<EntryForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerForm {
    caller: ParticipantField,
    round: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResignForm {
    ended: Vec<EndedForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryForm {
    election: ElectionName,
    eligible: bool,
    digest: Hex<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<ClaimForm>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ended: Vec<TombstoneForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimForm {
    leader: ParticipantField,
    rank: u64,
    tie: Hex<u128>,
    term: u64,
    until: Instant,
    value: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TombstoneForm {
    leader: ParticipantField,
    term: u64,
    until: Instant,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<ParticipantField>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndedForm {
    election: ElectionName,
    leader: ParticipantField,
    term: u64,
    until: Instant,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<ParticipantField>,
}

impl Form {
    pub(super) fn of(packet: &Packet) -> Self {
        let Header { cluster, sender, rank, sent, times, established } = &packet.header;
        let mut form = Self {
            v: VERSION,
            cluster: cluster.clone(),
            from: ParticipantField(sender.clone()),
            rank: rank.number,
            tie: Hex(rank.tie),
            sent: Instant(*sent),
            heartbeat: Span(times.heartbeat),
            lease: Span(times.lease),
            skew: Span(times.max_clock_skew),
            established: *established,
            ask: None,
            call: None,
            reply: None,
            resign: None,
        };
        match &packet.body {
            Body::Ask(Ask { round, part, elections }) => {
                let elections = elections.clone();
                let Part { number, of } = *part;
                form.ask = Some(AskForm { round: round.0, part: number, of, elections });
            }
            Body::Call(Call { round, part, entries }) => {
                let Part { number, of } = *part;
                let entries = entries.iter().map(EntryForm::of).collect();
                form.call = Some(CallForm { round: round.0, part: number, of, entries });
            }
            Body::Reply(Reply { answers, entries }) => {
                let answer = |Answered { caller, round }: &Answered| AnswerForm {
                    caller: ParticipantField(caller.clone()),
                    round: round.0,
                };
                let answers = answers.iter().map(answer).collect();
                let entries = entries.iter().map(EntryForm::of).collect();
                form.reply = Some(ReplyForm { answers, entries });
            }
            Body::Resign(Resign { ended }) => {
                let ended = ended.iter().map(EndedForm::of).collect();
                form.resign = Some(ResignForm { ended });
            }
        }
        form
    }

    /// The packet, if the object has exactly one kind.
    pub(super) fn packet(self) -> Option<Packet> {
        let body = match (self.ask, self.call, self.reply, self.resign) {
            (Some(ask), None, None, None) => Body::Ask(Ask {
                round: Round(ask.round),
                part: Part { number: ask.part, of: ask.of },
                elections: ask.elections,
            }),
            (None, Some(call), None, None) => Body::Call(Call {
                round: Round(call.round),
                part: Part { number: call.part, of: call.of },
                entries: call.entries.into_iter().map(EntryForm::entry).collect(),
            }),
            (None, None, Some(reply), None) => {
                let answer = |AnswerForm { caller, round }| Answered {
                    caller: caller.0,
                    round: Round(round),
                };
                Body::Reply(Reply {
                    answers: reply.answers.into_iter().map(answer).collect(),
                    entries: reply.entries.into_iter().map(EntryForm::entry).collect(),
                })
            }
            (None, None, None, Some(resign)) => Body::Resign(Resign {
                ended: resign.ended.into_iter().map(EndedForm::ended).collect(),
            }),
            _ => return None,
        };
        let header = Header {
            cluster: self.cluster,
            sender: self.from.0,
            rank: Rank { number: self.rank, tie: self.tie.0 },
            sent: self.sent.0,
            times: Times {
                heartbeat: self.heartbeat.0,
                lease: self.lease.0,
                max_clock_skew: self.skew.0,
            },
            established: self.established,
        };
        Some(Packet { header, body })
    }
}

impl EntryForm {
    fn of(entry: &Entry) -> Self {
        let Entry { election, eligible, digest, claim, tombstones } = entry;
        Self {
            election: election.clone(),
            eligible: *eligible,
            digest: Hex(digest.0),
            claim: claim.as_ref().map(ClaimForm::of),
            ended: tombstones.iter().map(TombstoneForm::of).collect(),
        }
    }

    fn entry(self) -> Entry {
        Entry {
            election: self.election,
            eligible: self.eligible,
            digest: Digest(self.digest.0),
            claim: self.claim.map(ClaimForm::claim),
            tombstones: self.ended.into_iter().map(TombstoneForm::tombstone).collect(),
        }
    }
}

impl ClaimForm {
    fn of(claim: &LeaderClaim) -> Self {
        let LeaderClaim { leader, rank, term, until, value } = claim;
        Self {
            leader: ParticipantField(leader.clone()),
            rank: rank.number,
            tie: Hex(rank.tie),
            term: *term,
            until: Instant(*until),
            value: value.clone(),
        }
    }

    fn claim(self) -> LeaderClaim {
        LeaderClaim {
            leader: self.leader.0,
            rank: Rank { number: self.rank, tie: self.tie.0 },
            term: self.term,
            until: self.until.0,
            value: self.value,
        }
    }
}

impl TombstoneForm {
    fn of(tombstone: &Tombstone) -> Self {
        let Tombstone { leader, term, until, successor } = tombstone;
        Self {
            leader: ParticipantField(leader.clone()),
            term: *term,
            until: Instant(*until),
            to: successor.clone().map(ParticipantField),
        }
    }

    fn tombstone(self) -> Tombstone {
        let Self { leader, term, until, to } = self;
        let successor = to.map(|to| to.0);
        Tombstone { leader: leader.0, term, until: until.0, successor }
    }
}

impl EndedForm {
    fn of((election, tombstone): &(ElectionName, Tombstone)) -> Self {
        let TombstoneForm { leader, term, until, to } = TombstoneForm::of(tombstone);
        Self { election: election.clone(), leader, term, until, to }
    }

    fn ended(self) -> (ElectionName, Tombstone) {
        let Self { election, leader, term, until, to } = self;
        (election, TombstoneForm { leader, term, until, to }.tombstone())
    }
}
