//! The layout of sealed datagrams, without their meaning.
//!
//! ```text
//! data     magic | 5 | id 8      | counter 8 | sealed: the datagram behind its version  | tag 16
//! hello    magic | 6 | channel 1 | key 4 | public 32 | counter 8 | length 1 | grant
//!                | sealed: challenge 8 | tag 16 | gate 16
//! welcome  magic | 7 | public 32 | counter 8 | sealed: challenge 8, hello counter 8 | tag 16
//! ```
//!
//! Numbers are little-endian. The cipher is ChaCha20-Poly1305 (RFC 8439) with the counter as its
//! nonce. Each seal also authenticates everything before it. In data and welcomes it also
//! authenticates the recipient's challenge, which is not sent. A gate is the tag of an empty text,
//! and authenticates everything before it.

use chacha20poly1305::{AeadInOut, ChaCha20Poly1305, KeyInit};
use tenure_core::nerio::wire::{DATAGRAM_MAX, VERSION};

use crate::keys::{KeyId, Secret};

pub(super) const MAGIC: [u8; 4] = *b"TNRE";
/// Versions of sealed datagrams; unsealed datagrams have [`VERSION`].
pub(super) const DATA: u8 = 5;
pub(super) const HELLO: u8 = 6;
pub(super) const WELCOME: u8 = 7;

pub(super) const BEGIN: usize = MAGIC.len() + 1;
const DATA_HEAD: usize = BEGIN + 8 + 8;
#[cfg(test)]
const HELLO_HEAD: usize = BEGIN + 1 + 4 + 32 + 8 + 1;
const WELCOME_HEAD: usize = BEGIN + 32 + 8;
pub(super) const TAG: usize = 16;
const CHALLENGE: usize = 8;

/// The maximum number of bytes of a sealed datagram, which fit into an IPv6 packet of 1,280.
pub(crate) const SEALED_MAX: usize = DATAGRAM_MAX - BEGIN + DATA_HEAD + TAG;
/// Bytes of a welcome; every hello is longer.
#[cfg(test)]
pub(super) const WELCOME_BYTES: usize = WELCOME_HEAD + 2 * CHALLENGE + TAG;

pub(super) struct Aead(ChaCha20Poly1305);

impl Aead {
    pub(super) fn new(secret: &Secret) -> Self {
        Self(ChaCha20Poly1305::new(&secret.0.into()))
    }

    /// Seals `text` in place, and returns its tag.
    pub(super) fn seal(&self, counter: u64, beside: &[u8], text: &mut [u8]) -> [u8; TAG] {
        let sealed = self.0.encrypt_inout_detached(&nonce(counter), beside, text.into());
        // Cannot fail below 256 GiB; a tag of zeros opens nothing.
        sealed.map(Into::into).unwrap_or_default()
    }

    /// Opens `text` in place. If the tag is wrong, no part of `text` may be used.
    #[must_use]
    pub(super) fn open(&self, counter: u64, beside: &[u8], text: &mut [u8], tag: &[u8]) -> bool {
        let Ok(tag) = <[u8; TAG]>::try_from(tag) else { return false };
        let nonce = nonce(counter);
        let tag = tag.into();
        self.0.decrypt_inout_detached(&nonce, beside, text.into(), &tag).is_ok()
    }
}

fn nonce(counter: u64) -> chacha20poly1305::Nonce {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&counter.to_le_bytes());
    nonce.into()
}

fn begin(version: u8, into: &mut Vec<u8>) {
    into.clear();
    into.extend_from_slice(&MAGIC);
    into.push(version);
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, behind) = rest.split_first_chunk::<N>()?;
    *rest = behind;
    Some(*first)
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    take(rest).map(u64::from_le_bytes)
}

/// The bytes authenticated with data and welcomes: their head, and the recipient's challenge.
fn beside(head: &[u8], challenge: u64) -> ([u8; WELCOME_HEAD + CHALLENGE], usize) {
    let mut beside = [0; WELCOME_HEAD + CHALLENGE];
    let length = head.len() + CHALLENGE;
    beside[..head.len()].copy_from_slice(head);
    beside[head.len()..length].copy_from_slice(&challenge.to_le_bytes());
    (beside, length)
}

/// Writes `plain`, an unsealed datagram, sealed for the recipient with this challenge.
pub(super) fn data(
    aead: &Aead,
    id: u64,
    counter: u64,
    challenge: u64,
    plain: &[u8],
    into: &mut Vec<u8>,
) {
    begin(DATA, into);
    into.extend_from_slice(&id.to_le_bytes());
    into.extend_from_slice(&counter.to_le_bytes());
    let (aad, length) = beside(into, challenge);
    into.extend_from_slice(plain.get(BEGIN..).unwrap_or_default());
    let tag = aead.seal(counter, &aad[..length], &mut into[DATA_HEAD..]);
    into.extend_from_slice(&tag);
}

/// Reads sender and number of a data datagram; `None` if the datagram is too short.
pub(super) fn data_head(datagram: &[u8]) -> Option<(u64, u64)> {
    if datagram.len() < DATA_HEAD + TAG {
        return None;
    }
    let mut rest = datagram.get(BEGIN..)?;
    Some((number(&mut rest)?, number(&mut rest)?))
}

/// Opens data in place; returns the part that is now the unsealed datagram.
pub(super) fn open_data<'a>(
    aead: &Aead,
    counter: u64,
    challenge: u64,
    datagram: &'a mut [u8],
) -> Option<&'a [u8]> {
    let end = datagram.len().checked_sub(TAG)?;
    let (text, tag) = datagram.split_at_mut_checked(end)?;
    let (head, sealed) = text.split_at_mut_checked(DATA_HEAD)?;
    let (aad, length) = beside(head, challenge);
    if !aead.open(counter, &aad[..length], sealed, tag) {
        return None;
    }
    let begin = DATA_HEAD - BEGIN;
    let plain = text.get_mut(begin..)?;
    plain[..MAGIC.len()].copy_from_slice(&MAGIC);
    plain[MAGIC.len()] = VERSION;
    Some(plain)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Channel {
    /// Two holders of the cluster's key.
    Members,
    /// A process of an application to a member.
    Application,
    /// Two processes of an application.
    Peers,
}

/// A hello as received, without proof.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Hello<'a> {
    pub(super) channel: Channel,
    pub(super) key: KeyId,
    pub(super) public: [u8; 32],
    pub(super) counter: u64,
    /// Name and elections of an application, with a zero byte between them. For other rights than
    /// to contend and to ask, another zero byte follows, and then a byte with the sum of the
    /// rights: 1 (contend), 2 (ask), 4 (resign) and 8 (change members).
    pub(super) grant: &'a [u8],
}

/// Writes a hello, sealed with `aead`, and its tag for the gate of the key.
pub(super) fn hello(
    aead: &Aead,
    gate: &Aead,
    hello: &Hello<'_>,
    challenge: u64,
    into: &mut Vec<u8>,
) {
    begin(HELLO, into);
    into.push(hello.channel as u8);
    into.extend_from_slice(&hello.key.0);
    into.extend_from_slice(&hello.public);
    into.extend_from_slice(&hello.counter.to_le_bytes());
    // A grant has 255 bytes at most: see `Elections`.
    into.push(u8::try_from(hello.grant.len()).unwrap_or(u8::MAX));
    into.extend_from_slice(hello.grant.get(..usize::from(u8::MAX)).unwrap_or(hello.grant));
    let mut text = challenge.to_le_bytes();
    let tag = aead.seal(hello.counter, into, &mut text);
    into.extend_from_slice(&text);
    into.extend_from_slice(&tag);
    let gate = gate.seal(hello.counter, into, &mut []);
    into.extend_from_slice(&gate);
}

/// Reads a hello; `None` if the datagram is too short or has an unknown form.
pub(super) fn read_hello(datagram: &[u8]) -> Option<Hello<'_>> {
    let mut rest = datagram.get(BEGIN..)?;
    let channel = match take::<1>(&mut rest)? {
        [0] => Channel::Members,
        [1] => Channel::Application,
        [2] => Channel::Peers,
        _ => return None,
    };
    let key = KeyId(take(&mut rest)?);
    let public = take(&mut rest)?;
    let (counter, [length]) = (number(&mut rest)?, take::<1>(&mut rest)?);
    let (grant, rest) = rest.split_at_checked(usize::from(length))?;
    (rest.len() == CHALLENGE + 2 * TAG).then_some(Hello { channel, key, public, counter, grant })
}

/// Whether a hello passes the gate of its key. A sender without the key causes no more work than
/// this check.
pub(super) fn passes(gate: &Aead, counter: u64, datagram: &[u8]) -> bool {
    let Some(end) = datagram.len().checked_sub(TAG) else { return false };
    let (before, tag) = datagram.split_at(end);
    gate.open(counter, before, &mut [], tag)
}

/// Opens a hello; returns the sender's challenge.
pub(super) fn open_hello(aead: &Aead, counter: u64, datagram: &[u8]) -> Option<u64> {
    let end = datagram.len().checked_sub(2 * TAG)?;
    let (text, tags) = datagram.split_at(end);
    let (head, sealed) = text.split_at_checked(end.checked_sub(CHALLENGE)?)?;
    let mut challenge: [u8; CHALLENGE] = sealed.try_into().ok()?;
    aead.open(counter, head, &mut challenge, &tags[..TAG]).then(|| u64::from_le_bytes(challenge))
}

/// Writes a welcome: the answer to hello number `echo` of the process with this challenge.
pub(super) fn welcome(
    aead: &Aead,
    public: &[u8; 32],
    counter: u64,
    own: u64,
    challenge: u64,
    echo: u64,
    into: &mut Vec<u8>,
) {
    begin(WELCOME, into);
    into.extend_from_slice(public);
    into.extend_from_slice(&counter.to_le_bytes());
    let (aad, length) = beside(into, challenge);
    into.extend_from_slice(&own.to_le_bytes());
    into.extend_from_slice(&echo.to_le_bytes());
    let tag = aead.seal(counter, &aad[..length], &mut into[WELCOME_HEAD..]);
    into.extend_from_slice(&tag);
}

/// Reads sender and number of a welcome; `None` if the datagram is too short.
pub(super) fn welcome_head(datagram: &[u8]) -> Option<([u8; 32], u64)> {
    let mut rest = datagram.get(BEGIN..)?;
    let public = take(&mut rest)?;
    let counter = number(&mut rest)?;
    (rest.len() == 2 * CHALLENGE + TAG).then_some((public, counter))
}

/// Opens a welcome that answers our challenge; returns the sender's challenge, and the number of
/// the hello.
pub(super) fn open_welcome(
    aead: &Aead,
    counter: u64,
    challenge: u64,
    datagram: &[u8],
) -> Option<(u64, u64)> {
    let (head, rest) = datagram.split_at_checked(WELCOME_HEAD)?;
    let (sealed, tag) = rest.split_at_checked(2 * CHALLENGE)?;
    let (aad, length) = beside(head, challenge);
    let mut text: [u8; 2 * CHALLENGE] = sealed.try_into().ok()?;
    if !aead.open(counter, &aad[..length], &mut text, tag) {
        return None;
    }
    let mut rest = &text[..];
    Some((number(&mut rest)?, number(&mut rest)?))
}

/// The shortest hello. The head of every hello has one length, so a hello is longer than a welcome.
#[cfg(test)]
pub(super) const HELLO_MIN: usize = HELLO_HEAD + CHALLENGE + 2 * TAG;
