//! Forged messages: from another life of a name, from another address of a life, and from
//! strangers. Members never lie, but any process can send a datagram.

use std::net::SocketAddr;

use tenure_core::nerio::Boot;
use tenure_core::nerio::{
    Checked, Current, Decided, DocumentPart, EpochId, Granted, Inc, Instance, Message, Order,
    Refusal, Release, Request, Sender, Service, Stamp, ToAsker, ToCandidate, ToGrantor, WallGrant,
    Who,
};
use tenure_core::{Fence, Time};

use crate::scenario::plan::known;

/// Far above every real fence.
const FAR: u64 = 1 << 62;

/// A forged message, with the sender that it claims to have; it arrives after `message` of `from`.
pub(super) fn forge(
    config: &Checked,
    from: &Sender,
    message: &Message,
    draw: u64,
) -> Option<(Sender, Message)> {
    let elsewhere =
        Sender { who: from.who.clone(), address: stranger(), proved: false, epoch: from.epoch };
    let other = Inc(from.who.inc.0 ^ u128::from(1 + draw % 2));
    let namesake = || Sender { who: Who { name: from.who.name.clone(), inc: other }, ..*from };
    let unknown = || Sender { who: namesake().who, ..elsewhere };
    match message {
        Message::Grantor(ToGrantor::Request(Request {
            election,
            announced: Some(fence),
            start,
            ..
        })) if (draw >> 8).is_multiple_of(4) => {
            // A stranger orders the leader to resign, and repeats that.
            let number = fence.number() * 2 + draw % 2;
            let election = election.clone();
            let start = *start;
            let fence = *fence;
            let next = None;
            let order = Order { election, start, number, fence, next };
            Some((elsewhere, Message::from(order)))
        }
        Message::Grantor(ToGrantor::Request(request)) => {
            // A grantor believes a request that announces a leader, so these requests announce
            // none.
            let silent = || Request { announced: None, ..request.clone() };
            let request = request.clone();
            if draw % 8 == 7 {
                // A stranger that saw the request sends a release in the name of the request's
                // sender.
                let Request { election, start, .. } = request;
                let release = Release { election, start, next: None };
                return Some((elsewhere, Message::from(release)));
            }
            Some(match draw % 8 {
                0 => (elsewhere, Request { start: later(request.start), ..request }),
                1 => (unknown(), Request { delta: config.delta_max * 2, ..silent() }),
                2 => (unknown(), Request { fence: Fence::new(FAR), ..silent() }),
                3 => (unknown(), Request { delta: request.delta / 1_000, ..silent() }),
                _ => (namesake(), silent()),
            })
            .map(|(from, request)| (from, Message::from(request)))
        }
        Message::Grantor(ToGrantor::Release(release)) => {
            let release = Release { start: later(release.start), ..release.clone() };
            Some((elsewhere, Message::from(release)))
        }
        Message::Candidate(ToCandidate::Refused(refused))
            if matches!(refused.refusal, Refusal::Held { .. }) =>
        {
            let own = draw.is_multiple_of(2);
            let granted = Granted {
                election: refused.election.clone(),
                // A life that no node has, not even a namesake.
                asker: if own { refused.asker } else { Inc(refused.asker.0 ^ 4) },
                start: refused.start,
                instance: Instance(draw.into()),
                memories: Vec::new(),
                stamp: Stamp { boot: Boot(1), clock: Time::from_nanos(draw), counter: 0 },
                accepted: true,
                seen: Fence::NONE,
                waited: false,
                next_waits: false,
                waiting: None,
                wall: config.clock_skew_max.map(|skew| WallGrant { rest: skew * 100, skew }),
            };
            let from = if own { elsewhere } else { from.clone() };
            Some((from, Message::from(granted)))
        }
        _ => None,
    }
}

/// A forged message about epochs that follows `message` of `from`. The forger has no key and uses
/// the name of `from`, or has a key and is no member, or repeats the message.
pub(super) fn about_epochs(
    from: &Sender,
    message: &Message,
    draw: u64,
) -> Option<(Sender, Message)> {
    let who = match draw % 3 {
        0 => from.who.clone(),
        _ => Who { name: known("outsider"), inc: Inc(draw.into()) },
    };
    let proved = draw % 3 == 1;
    let forger = Sender { who, address: stranger(), proved, epoch: from.epoch };
    // A forger without a key may name a later epoch of the same cluster. Other forgers name another
    // cluster.
    let kind = draw >> 8;
    let epoch = EpochId { number: from.epoch.number + kind % 3, digest: draw };
    let is_same = !proved && kind.is_multiple_of(2);
    let founding = if is_same { from.epoch.digest } else { draw };
    let current = |asker: Inc, start: Time| Current {
        asker,
        start,
        epoch,
        founding,
        before: from.epoch,
        instance: Instance(draw.into()),
        entered: true,
        service: Service::Serving,
        length: 100,
    };
    let forged: Message = match message {
        Message::Asker(ToAsker::Current(_) | ToAsker::DocumentPart(_)) if draw % 3 == 2 => {
            return Some((from.clone(), message.clone()));
        }
        Message::Candidate(ToCandidate::Granted(_)) if !proved && kind % 4 == 3 => {
            Decided { ballot: None, before: from.epoch, successor: epoch }.into()
        }
        Message::Candidate(ToCandidate::Granted(ok)) => current(ok.asker, ok.start).into(),
        Message::Candidate(ToCandidate::Refused(no)) if kind.is_multiple_of(2) => {
            current(no.asker, no.start).into()
        }
        Message::Asker(ToAsker::Current(known)) => current(known.asker, known.start).into(),
        Message::Asker(ToAsker::DocumentPart(part)) => {
            let mut bytes = part.bytes.clone();
            if let Some(byte) = bytes.last_mut() {
                *byte ^= 1;
            }
            DocumentPart { bytes, ..part.clone() }.into()
        }
        _ => return None,
    };
    Some((forger, forged))
}

fn later(start: Time) -> Time {
    Time::from_nanos(start.as_nanos() + 1_000)
}

/// An address without a node.
pub(super) fn stranger() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 6_999))
}
