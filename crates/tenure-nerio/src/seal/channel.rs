//! The secrets of channels: the secret that two processes share, and the key with which each seals.

use std::sync::Arc;

use x25519_dalek::{PublicKey, StaticSecret};

use super::authority::Authority;
use super::bytes::{Aead, Channel, Hello};
use crate::keys::{ApplicationKey, Grant, HeldKeys, KeyId, Keys, Rights, Secret, expand, extract};

/// The cipher for the gate of hellos from the process with this public half. All holders of the key
/// can derive this cipher.
pub(super) fn gate(secret: &Secret, public: &[u8; 32]) -> Aead {
    Aead::new(&expand(secret, "gate", &[public]))
}

/// Grant, id and secret of the first key of a process, for its hello.
pub(super) fn first(keys: &Keys) -> Option<(Vec<u8>, KeyId, &Secret)> {
    match keys.held() {
        HeldKeys::Cluster(keys) => keys.first().map(|key| (Vec::new(), key.id(), key.secret())),
        HeldKeys::Application(keys) => {
            keys.first().map(|key| (grant_bytes(key.grant()), key.id(), key.secret()))
        }
    }
}

/// The authority of a process that answers on this channel, which a process with `keys` has opened.
pub(super) fn answerer(keys: &Keys, channel: Channel) -> Option<Authority> {
    match (keys.held(), channel) {
        (HeldKeys::Application(keys), Channel::Peers) => {
            keys.first().map(|key| Authority::Application(Arc::clone(key.grant())))
        }
        _ => Some(Authority::Cluster),
    }
}

/// The key of `keys` with which a hello was made, if it is one of them.
pub(super) fn accept(keys: &Keys, hello: &Hello<'_>) -> Option<AcceptedKey> {
    match (keys.held(), hello.channel) {
        (HeldKeys::Cluster(keys), Channel::Members) => {
            let key = keys.iter().find(|key| key.id() == hello.key)?;
            let gate = key.secret().clone();
            hello.grant.is_empty().then_some(AcceptedKey {
                gate,
                authority: Authority::Cluster,
                members: None,
            })
        }
        (HeldKeys::Cluster(keys), Channel::Application) => {
            let key = keys.iter().find(|key| key.id() == hello.key)?;
            let grant = read_grant(hello.grant)?;
            let gate = key.of_application(&grant);
            let authority = Authority::Application(Arc::new(grant));
            Some(AcceptedKey { gate, authority, members: Some(key.private()) })
        }
        (HeldKeys::Application(keys), Channel::Peers) => {
            let same = |key: &&ApplicationKey| {
                key.id() == hello.key && grant_bytes(key.grant()) == hello.grant
            };
            let key = keys.iter().find(same)?;
            let gate = key.secret().clone();
            let authority = Authority::Application(Arc::clone(key.grant()));
            Some(AcceptedKey { gate, authority, members: None })
        }
        _ => None,
    }
}

/// The key of this process with which a hello was made.
pub(super) struct AcceptedKey {
    /// The secret of all holders of the key.
    pub(super) gate: Secret,
    pub(super) authority: Authority,
    /// The private half of the members, on the channel from an application to a member.
    members: Option<StaticSecret>,
}

impl AcceptedKey {
    /// The secret of the channel to the process with this public half.
    pub(super) fn secret(&self, public: &[u8; 32]) -> Option<Secret> {
        let Some(members) = &self.members else { return Some(self.gate.clone()) };
        let shared = members.diffie_hellman(&PublicKey::from(*public));
        shared.was_contributory().then(|| extract(&self.gate, &shared))
    }
}

/// The two ciphers of this process on a channel. The first seals for the other process, and the
/// second opens the other process's datagrams. `greeted` says that the other process sent the
/// hello.
pub(super) fn directions(
    channel: Channel,
    secret: &Secret,
    own: &[u8; 32],
    other: &[u8; 32],
    greeted: bool,
) -> (Aead, Aead) {
    const MEMBERS: &str = "member to member";
    const TO: &str = "application to member";
    const FROM: &str = "member to application";
    const PEERS: &str = "application to application";
    let (out, back) = match (channel, greeted) {
        (Channel::Members, _) => (MEMBERS, MEMBERS),
        (Channel::Application, false) => (TO, FROM),
        (Channel::Application, true) => (FROM, TO),
        (Channel::Peers, _) => (PEERS, PEERS),
    };
    let aead = |label, sender: &[u8; 32]| Aead::new(&expand(secret, label, &[sender]));
    (aead(out, own), aead(back, other))
}

fn grant_bytes(grant: &Grant) -> Vec<u8> {
    let name = grant.application.as_str();
    let elections = grant.elections.as_str();
    let mut bytes = [name.as_bytes(), b"\0", elections.as_bytes()].concat();
    if grant.rights != Rights::USUAL {
        bytes.extend([0, grant.rights.byte()]);
    }
    bytes
}

fn read_grant(bytes: &[u8]) -> Option<Grant> {
    let (application, rest) = std::str::from_utf8(bytes).ok()?.split_once('\0')?;
    let (elections, rights) = match rest.split_once('\0') {
        Some((elections, rights)) => {
            let &[rights] = rights.as_bytes() else { return None };
            (elections, Rights::of_byte(rights)?)
        }
        None => (rest, Rights::USUAL),
    };
    let application = application.parse().ok()?;
    let elections = elections.parse().ok()?;
    Some(Grant { application, elections, rights })
}
