//! Messages survive the codec.

use tenure_core::nerio::wire::{Envelope, Packer, open};
use tenure_core::nerio::{EpochId, Message, Who};

use crate::violation::Violation;

/// Packs a message of `who` into a datagram, twice if there is room, and reads the datagram again.
pub(super) fn carries(
    at: u64,
    epoch: EpochId,
    who: &Who,
    message: &Message,
) -> Result<(), Box<Violation>> {
    let wrong = |said: String| {
        let property = "Messages survive the wire";
        let source = "the wire: one datagram of at most 1,200 bytes";
        Box::new(Violation { property, source, at, said })
    };
    let sent = Envelope { epoch, who: who.clone() };
    let packer = Packer::new(&sent);
    let mut datagram = packer.start();
    if !packer.push(&mut datagram, message) {
        return Err(wrong(format!("does not fit into a datagram: {message}")));
    }
    // A datagram carries several messages: the first must not hide the others.
    let copies = 1 + usize::from(packer.push(&mut datagram, message));
    let opened = open(&datagram).map_err(|e| wrong(format!("{message}: {e:?}")))?;
    let (envelope, mut messages) = opened;
    if envelope != sent {
        return Err(wrong(format!("{sent:?} came out of the wire as {envelope:?}")));
    }
    for copy in 1..=copies {
        let read = messages.next();
        if read.as_ref().and_then(|read| read.as_ref().ok()) != Some(message) {
            return Err(wrong(format!(
                "copy {copy} of {message} came out of the wire as {read:?}"
            )));
        }
    }
    match messages.next() {
        None => Ok(()),
        more => Err(wrong(format!("{message}, {copies} times, is followed by {more:?}"))),
    }
}
