//! Requests and oks with wall times: the wall times come first, then the message as without them.

use alloc::vec::Vec;

use super::super::body::{Granted, Request};
use super::super::message::{Message, ToCandidate, ToGrantor};
use super::super::oqwbs::{WallGrant, WallStart};
use super::push;

/// Writes the wall times of a message that has some.
pub(super) fn push_wall(into: &mut Vec<u8>, message: &Message) {
    match message {
        Message::Grantor(ToGrantor::Request(Request { wall: Some(wall), .. })) => push(into, wall),
        Message::Candidate(ToCandidate::Granted(Granted { wall: Some(wall), .. })) => {
            push(into, wall);
        }
        _ => {}
    }
}

pub(super) fn request((wall, request): (WallStart, Request)) -> Message {
    Request { wall: Some(wall), ..request }.into()
}

pub(super) fn granted((wall, granted): (WallGrant, Granted)) -> Message {
    Granted { wall: Some(wall), ..granted }.into()
}
