//! The objects of a packet, field by field.

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};
use tenure_core::allcall::{
    Answered, Ask, Body, Call, Digest, Entry, Header, LeaderClaim, Packet, Part, Rank, Reply,
    Resign, Round, Times, Tombstone, VERSION,
};
use tenure_core::{ClusterName, ElectionName};

use super::fields::{Hex, Instant, ParticipantField, Span, Text};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Form<'a> {
    pub(super) v: u32,
    #[serde(borrow)]
    cluster: Name<'a, ClusterName>,
    from: ParticipantField,
    rank: u64,
    tie: Hex<u128>,
    sent: Instant,
    heartbeat: Span,
    lease: Span,
    skew: Span,
    established: bool,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    ask: Option<AskForm<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    call: Option<CallForm<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    reply: Option<ReplyForm<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    resign: Option<ResignForm<'a>>,
}

/// A name that is read without a copy.
#[derive(Serialize, Deserialize)]
#[serde(transparent, bound(deserialize = "'de: 'a, T: Deserialize<'de>"))]
struct Name<'a, T>(T, #[serde(skip)] PhantomData<&'a ()>);

impl<T> Name<'_, T> {
    const fn new(name: T) -> Self {
        Self(name, PhantomData)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AskForm<'a> {
    round: u64,
    part: u16,
    of: u16,
    #[serde(borrow)]
    elections: Vec<Name<'a, ElectionName>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallForm<'a> {
    round: u64,
    part: u16,
    of: u16,
    #[serde(borrow)]
    entries: Vec<EntryForm<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplyForm<'a> {
    answers: Vec<AnswerForm>,
    #[serde(borrow)]
    entries: Vec<EntryForm<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerForm {
    caller: ParticipantField,
    round: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResignForm<'a> {
    #[serde(borrow)]
    ended: Vec<EndedForm<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryForm<'a> {
    #[serde(borrow)]
    election: Name<'a, ElectionName>,
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
    value: Text,
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
struct EndedForm<'a> {
    #[serde(borrow)]
    election: Name<'a, ElectionName>,
    leader: ParticipantField,
    term: u64,
    until: Instant,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<ParticipantField>,
}

impl<'a> Form<'a> {
    pub(super) fn of(packet: &Packet) -> Self {
        let Header { cluster, sender, rank, sent, times, established } = &packet.header;
        let mut form = Self {
            v: VERSION,
            cluster: Name::new(cluster.clone()),
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
                let elections = elections.iter().cloned().map(Name::new).collect();
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
                elections: ask.elections.into_iter().map(|name| name.0).collect(),
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
            cluster: self.cluster.0,
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

impl EntryForm<'_> {
    fn of(entry: &Entry) -> Self {
        let Entry { election, eligible, digest, claim, tombstones } = entry;
        Self {
            election: Name::new(election.clone()),
            eligible: *eligible,
            digest: Hex(digest.0),
            claim: claim.as_ref().map(ClaimForm::of),
            ended: tombstones.iter().map(TombstoneForm::of).collect(),
        }
    }

    fn entry(self) -> Entry {
        Entry {
            election: self.election.0,
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
            value: Text(value.clone()),
        }
    }

    fn claim(self) -> LeaderClaim {
        LeaderClaim {
            leader: self.leader.0,
            rank: Rank { number: self.rank, tie: self.tie.0 },
            term: self.term,
            until: self.until.0,
            value: self.value.0,
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

impl EndedForm<'_> {
    fn of((election, tombstone): &(ElectionName, Tombstone)) -> Self {
        let TombstoneForm { leader, term, until, to } = TombstoneForm::of(tombstone);
        Self { election: Name::new(election.clone()), leader, term, until, to }
    }

    fn ended(self) -> (ElectionName, Tombstone) {
        let Self { election, leader, term, until, to } = self;
        (election.0, TombstoneForm { leader, term, until, to }.tombstone())
    }
}
