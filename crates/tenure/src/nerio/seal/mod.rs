//! Sealed datagrams: who may speak, each thing once, and nothing to strangers.
//!
//! Every process draws an X25519 pair when it starts. The public half is its identity: its
//! incarnation is the beginning of it, so nobody can speak as another. Its **channel** to another
//! process has a secret that both know:
//!
//! | channel | secret |
//! |---|---|
//! | between members | the cluster's key |
//! | application to member, and back | HKDF(application's key, X25519(process, members)) |
//! | between processes of one application | the application's key |
//!
//! The second one is why a leaked application key cannot grant: the members' private half follows
//! from the cluster's key, so what a member says to one process of an application no other process
//! of it can say, or read. Out of the channel's secret, the direction and the sender's public half
//! comes the one key with which that process seals; its nonce is a counter, which never repeats.
//!
//! What is sealed is sealed *for a door*: a number that the recipient drew when it started. A
//! sender learns it by a hello, which the recipient answers with a welcome. So nothing that was
//! sent to an earlier start can be repeated, and within one start a window of numbers for each
//! sender drops what came before. Hellos repeated by strangers fill a list of their own, in which
//! the oldest are forgotten. Should there be more senders than
//! [`SESSIONS_MAX`](session::SESSIONS_MAX), all are forgotten, the door changes, and everybody says
//! hello again.
//!
//! A sender greets whom it does not know, and whom it has heard nothing of for 50 ms after it sent
//! something; a datagram for one that it does not know waits for the welcome.

mod bytes;
mod channel;
mod contact;
mod greeting;
mod rights;
mod session;
#[cfg(test)]
mod tests;
mod window;

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;

use tenure_core::nerio::wire;
use tenure_core::nerio::{Checked, Inc};
use tenure_core::{NodeName, Time};
use x25519_dalek::{PublicKey, StaticSecret};

pub(super) use self::bytes::SEALED_MAX;
use self::bytes::{DATA, HELLO, MAGIC, WELCOME};
use self::contact::Contacts;
pub use self::rights::Authority;
use self::session::{Sessions, id};
use super::keys::{KeyId, Keys, Secret, extract};
use crate::error::SystemError;

/// Why a sealed datagram was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dropped {
    /// Too short or too long for what it says it is.
    Cut,
    /// Not ours at all.
    Magic,
    /// Ours, and not sealed.
    Unsealed,
    /// Ours, of a version that this one does not know.
    Version,
    /// Of a key that is not accepted here.
    OtherKey(KeyId),
    /// Of a process that has not said hello since this one started.
    Unknown,
    /// Not sealed by whom it names, or not for this process.
    Forged,
    /// It came before.
    Replayed,
    /// There were too many senders: all must say hello again.
    Full,
}

impl Dropped {
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Cut => "size",
            Self::Magic => "magic",
            Self::Unsealed => "unsealed",
            Self::Version => "version",
            Self::OtherKey(_) => "other-key",
            Self::Unknown => "no-hello",
            Self::Forged => "forged",
            Self::Replayed => "replayed",
            Self::Full => "sessions",
        }
    }
}

/// What was opened.
pub(super) struct Opened<'a> {
    /// The datagram as it would be unsealed.
    pub(super) plain: &'a [u8],
    /// What its sender may say.
    pub(super) authority: Authority,
    /// Which incarnation it is.
    pub(super) inc: Inc,
}

/// One that has shown its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Peer {
    /// How it calls itself, once it has sent something.
    pub name: Option<NodeName>,
    /// Where it was heard last.
    pub address: SocketAddr,
    /// What it may say.
    pub authority: Authority,
    /// Which key it uses.
    pub key: KeyId,
    /// When it was heard last.
    pub heard: Time,
}

/// One process that seals and opens.
pub(super) struct Seal {
    keys: Keys,
    /// What this process shares with members; `None` if it is one.
    with_members: Option<Secret>,
    own: Own,
    contacts: Contacts,
    sessions: Sessions,
    /// Room for a datagram on its way out.
    scratch: Vec<u8>,
}

/// What a process draws when it starts, and counts.
struct Own {
    private: StaticSecret,
    public: [u8; 32],
    door: u64,
    counter: u64,
}

impl Own {
    /// The number of the next datagram, whoever it is for: no nonce is used twice.
    fn count(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    /// What the process of an application shares with members, by the first of its keys.
    fn with_members(&self, keys: &Keys) -> Option<Secret> {
        let Keys::Application(keys) = keys else { return None };
        let key = keys.first()?;
        Some(extract(key.secret(), &self.private.diffie_hellman(&key.members())))
    }
}

impl Seal {
    /// One for a process of the cluster with these members.
    pub(super) fn new(keys: Keys, config: &Checked) -> Result<Self, SystemError> {
        let mut private = [0; 32];
        private[..16].copy_from_slice(&crate::driver::random()?.to_le_bytes());
        private[16..].copy_from_slice(&crate::driver::random()?.to_le_bytes());
        let members = config.members.iter().map(|member| member.address).collect();
        Ok(Self::with(keys, members, private, crate::driver::seed()?))
    }

    fn with(keys: Keys, members: BTreeSet<SocketAddr>, private: [u8; 32], door: u64) -> Self {
        let private = StaticSecret::from(private);
        let public = PublicKey::from(&private).to_bytes();
        let own = Own { private, public, door, counter: 0 };
        let (contacts, sessions) = (Contacts::new(members), Sessions::default());
        let scratch = Vec::with_capacity(SEALED_MAX);
        let with_members = own.with_members(&keys);
        Self { keys, with_members, own, contacts, sessions, scratch }
    }

    /// The incarnation of this process.
    pub(super) fn inc(&self) -> Inc {
        inc(&self.own.public)
    }

    /// Seals `plain` for the one at `to`, greeting it if need be. What cannot be sealed yet waits.
    pub(super) fn outgoing(
        &mut self,
        now: Time,
        to: SocketAddr,
        plain: &[u8],
        mut send: impl FnMut(SocketAddr, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let (member, known) = (self.contacts.is_member(to), self.sessions.at(to).is_some());
        if !known && self.toward(member).is_none() {
            let why = "it has not shown its key, and this node has none that it could have, too";
            return Err(io::Error::new(io::ErrorKind::NotConnected, why));
        }
        if member || !known {
            let contact = self.contacts.admit(to);
            if contact.is_due(now, known) {
                let number = self.own.count();
                contact.greeted(now, number);
                self.greet(to, number, &mut send)?;
            }
            let contact = self.contacts.admit(to);
            contact.sent(now);
            if !known {
                contact.waiting = Some(plain.to_vec());
                return Ok(());
            }
        }
        self.send(to, plain, &mut send)
    }

    fn send(
        &mut self,
        to: SocketAddr,
        plain: &[u8],
        send: &mut impl FnMut(SocketAddr, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(session) = self.sessions.at(to) else { return Ok(()) };
        let address = (id(&self.own.public), self.own.count(), session.door);
        bytes::data(&session.seals, address, plain, &mut self.scratch);
        send(to, &self.scratch)
    }

    /// Opens what came from `from`: a datagram, or nothing if it was part of a greeting.
    pub(super) fn incoming<'a>(
        &mut self,
        now: Time,
        from: SocketAddr,
        datagram: &'a mut [u8],
        mut send: impl FnMut(SocketAddr, &[u8]) -> io::Result<()>,
    ) -> Result<Option<Opened<'a>>, Dropped> {
        if datagram.len() <= MAGIC.len() || datagram.len() > SEALED_MAX {
            return Err(Dropped::Cut);
        }
        if datagram[..MAGIC.len()] != MAGIC {
            return Err(Dropped::Magic);
        }
        match datagram[MAGIC.len()] {
            DATA => self.on_data(now, from, datagram).map(Some),
            HELLO => self.on_hello(now, from, datagram, &mut send).map(|()| None),
            WELCOME => self.on_welcome(now, from, datagram, &mut send).map(|()| None),
            version if version <= wire::VERSION => Err(Dropped::Unsealed),
            _ => Err(Dropped::Version),
        }
    }

    fn on_data<'a>(
        &mut self,
        now: Time,
        from: SocketAddr,
        datagram: &'a mut [u8],
    ) -> Result<Opened<'a>, Dropped> {
        let (sender, counter) = bytes::data_head(datagram).ok_or(Dropped::Cut)?;
        let session = self.sessions.get_mut(sender).ok_or(Dropped::Unknown)?;
        if !session.window.is_new(counter) {
            return Err(Dropped::Replayed);
        }
        let plain = bytes::open_data(&session.opens, (counter, self.own.door), datagram);
        let plain = plain.ok_or(Dropped::Forged)?;
        session.window.take(counter);
        session.heard = now;
        let (authority, inc) = (session.authority.clone(), inc(&session.public));
        // Only a member is at a member's address, whatever an application says it came from.
        let reachable = authority == Authority::Cluster || !self.contacts.is_member(from);
        if !self.sessions.establish(sender, from, reachable) {
            return Err(self.start_over());
        }
        let is_there = self.sessions.at(from).is_some_and(|session| id(&session.public) == sender);
        if let Some(contact) = self.contacts.get(from).filter(|_| is_there) {
            contact.heard();
        }
        Ok(Opened { plain, authority, inc })
    }

    /// Too many have shown their keys: nothing that was sealed before counts any more.
    fn start_over(&mut self) -> Dropped {
        // Without random numbers another one will do: what was sealed for an earlier door is not
        // for this one.
        self.own.door = crate::driver::seed().unwrap_or(self.own.door.wrapping_add(1));
        self.sessions = Sessions::default();
        Dropped::Full
    }

    /// How a sender calls itself, for [`peers`](Self::peers).
    pub(super) fn is_called(&mut self, inc: Inc, name: &NodeName) {
        let Some(session) = self.sessions.get_mut(id_of(inc)) else { return };
        if session.name.as_ref() != Some(name) {
            session.name = Some(name.clone());
        }
    }

    /// Uses other keys from now on. Who used one that is not accepted any more must say hello.
    pub(super) fn rekey(&mut self, keys: Keys) {
        self.with_members = self.own.with_members(&keys);
        self.keys = keys;
        for address in self.contacts.clear() {
            self.sessions.forget(address);
        }
        let accepted = self.keys.ids();
        if self.sessions.has(|session| !accepted.contains(&session.key)) {
            // If that key comes back, what was read by it must not be read again.
            self.start_over();
        }
    }

    /// What tells its keys apart, the one that it uses first.
    pub(super) fn ids(&self) -> Vec<KeyId> {
        self.keys.ids()
    }

    /// Everybody who has shown a key.
    pub(super) fn peers(&self) -> Vec<Peer> {
        let peers = self.sessions.all().filter(|session| session.established);
        peers
            .map(|session| Peer {
                name: session.name.clone(),
                address: session.address,
                authority: session.authority.clone(),
                key: session.key,
                heard: session.heard,
            })
            .collect()
    }
}

/// Whether datagrams of this version are sealed.
pub(super) const fn is_sealed(version: u8) -> bool {
    matches!(version, DATA | HELLO | WELCOME)
}

/// The incarnation of the process with this public half.
fn inc(public: &[u8; 32]) -> Inc {
    let mut begin = [0; 16];
    begin.copy_from_slice(&public[..16]);
    Inc(u128::from_le_bytes(begin))
}

fn id_of(inc: Inc) -> u64 {
    let mut begin = [0; 8];
    begin.copy_from_slice(&inc.0.to_le_bytes()[..8]);
    u64::from_le_bytes(begin)
}
