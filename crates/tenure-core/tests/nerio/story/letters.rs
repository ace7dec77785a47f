//! Messages written by hand, and messages found in effects.

use std::time::Duration;

use tenure_core::Fence;
use tenure_core::nerio::{
    Current, Effect, Event, Granted, Message, Refusal, Refused, Release, Remainder, Request,
    ToAsker, ToCandidate, ToGrantor, Verify,
};

use super::{Time, at, ms, name, x};

/// A request for 1 s, the first of its attempt.
pub fn request(start: Time) -> Request {
    Request {
        election: x(),
        start,
        delta: ms(1_000),
        lease: ms(1_000),
        first: start,
        fence: Fence::new(1),
        announced: None,
        priority: 0,
        leading: false,
        next: None,
        value: "".parse().unwrap(),
        wall: None,
    }
}

pub fn for_span(start: Time, delta: Duration) -> Request {
    Request { delta, lease: delta, ..request(start) }
}

/// A request that proposes this fence.
pub fn proposal(start: Time, fence: u64) -> Request {
    Request { fence: Fence::new(fence), ..request(start) }
}

/// A request of a leader that has announced this fence.
pub fn renewal(start: Time, fence: u64) -> Request {
    let announced = Some(Fence::new(fence));
    Request { leading: true, announced, ..proposal(start, fence) }
}

pub fn release(start: Time) -> Message {
    Message::from(Release { election: x(), start, next: None })
}

/// A release that names the next candidate.
pub fn release_for(start: u64, next: &str) -> Message {
    Message::from(Release { election: x(), start: at(start), next: Some(name(next)) })
}

pub fn verify(start: Time) -> Message {
    Message::from(Verify { election: x(), start })
}

pub fn granted(effects: &[Effect]) -> Option<Granted> {
    sent(effects).find_map(|message| match message {
        Message::Candidate(ToCandidate::Granted(granted)) => Some(granted.clone()),
        _ => None,
    })
}

pub fn refused(effects: &[Effect]) -> Option<Refused> {
    sent(effects).find_map(|message| match message {
        Message::Candidate(ToCandidate::Refused(refused)) => Some(refused.clone()),
        _ => None,
    })
}

pub fn refusal(effects: &[Effect]) -> Option<Refusal> {
    refused(effects).map(|refused| refused.refusal)
}

pub fn requests(effects: &[Effect]) -> Vec<Request> {
    let request = |message: &Message| match message {
        Message::Grantor(ToGrantor::Request(request)) => Some(request.clone()),
        _ => None,
    };
    sent(effects).filter_map(request).collect()
}

pub fn releases(effects: &[Effect]) -> Vec<Release> {
    let release = |message: &Message| match message {
        Message::Grantor(ToGrantor::Release(release)) => Some(release.clone()),
        _ => None,
    };
    sent(effects).filter_map(release).collect()
}

pub fn remainder(effects: &[Effect]) -> Option<Remainder> {
    sent(effects).find_map(|message| match message {
        Message::Asker(ToAsker::Remainder(remainder)) => Some(remainder.clone()),
        _ => None,
    })
}

/// The epochs that these effects show.
pub fn shown(effects: &[Effect]) -> Vec<Current> {
    let current = |message: &Message| match message {
        Message::Asker(ToAsker::Current(current)) => Some(current.clone()),
        _ => None,
    };
    sent(effects).filter_map(current).collect()
}

pub fn sent(effects: &[Effect]) -> impl Iterator<Item = &Message> {
    effects.iter().filter_map(|effect| match effect {
        Effect::Send { message, .. } => Some(message),
        _ => None,
    })
}

pub fn emitted(effects: &[Effect]) -> Vec<Event> {
    let event = |effect: &Effect| match effect {
        Effect::Emit { event, .. } => Some(event.clone()),
        _ => None,
    };
    effects.iter().filter_map(event).collect()
}
