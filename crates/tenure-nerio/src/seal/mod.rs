//! Sealed datagrams: only holders of keys speak, each datagram counts once, strangers learn
//! nothing.
//!
//! Every process draws an X25519 pair when it starts. The public half is the identity of the
//! process: its first bytes are the incarnation, so no process can speak as another. Its
//! **channel** to another process has a secret that both know:
//!
//! | channel | secret |
//! |---|---|
//! | between members | the cluster's key |
//! | application to member, and back | HKDF(application's key, X25519(process, members)) |
//! | between processes of one application | the application's key |
//!
//! Because of the second channel a leaked application key cannot grant. The members' private half
//! is derived from the cluster's key. So a process of an application can neither forge nor read a
//! member's datagrams to another process. A process derives the key with which it seals from the
//! channel's secret, the direction and its own public half. The nonce is a counter, which never
//! repeats.
//!
//! Each datagram is sealed for the recipient's *challenge*, a number that the recipient drew at its
//! start. A sender learns the challenge by a hello, which the recipient answers with a welcome. So
//! no recipient reads a datagram to one of its earlier starts. Within one start a window of numbers
//! for each sender drops repetitions. A stranger may repeat old hellos. The senders of such hellos
//! fill a list of their own, from which the oldest are removed. With more senders than
//! [`SESSIONS_MAX`](session::SESSIONS_MAX) the process forgets all senders and draws another
//! challenge. Every sender then says hello again.
//!
//! A sender greets nodes that it does not know, and nodes that have been silent for 50 ms after one
//! of its datagrams. A datagram for an unknown node waits for the welcome.
//!
//! Where [unsealed datagrams are accepted](Keys::accept_unsealed), a sender does not seal datagrams
//! to a member that leaves a hello unanswered for 50 ms, or that itself sends unsealed datagrams.
//! The sender greets such a member again now and then. A node that has shown its key gets unsealed
//! datagrams after three unanswered hellos and at least one second, because it may have been
//! restarted without a key. Other nodes that send without a key get unsealed answers, and no
//! greeting: any host can forge the address of a node.

mod authority;
mod bytes;
mod channel;
mod contact;
mod greeting;
mod session;
#[cfg(test)]
mod tests;
mod unsealed;
mod window;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;

use tenure::SystemError;
use tenure_core::nerio::Inc;
use tenure_core::nerio::wire;
use tenure_core::{NodeName, Time};
use x25519_dalek::{PublicKey, StaticSecret};

pub use self::authority::Authority;
pub(super) use self::bytes::SEALED_MAX;
use self::bytes::{DATA, HELLO, MAGIC, WELCOME};
use self::contact::Contacts;
use self::session::{Sessions, id};
pub use self::unsealed::Unsealed;
use super::keys::{HeldKeys, KeyId, Keys, Secret, extract};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DropReason {
    /// Too short or too long for its kind.
    Cut,
    /// No datagram of this protocol.
    Magic,
    Unsealed,
    /// A datagram of an unknown version.
    Version,
    /// Sealed with a key that is not accepted here.
    OtherKey(KeyId),
    /// The sender has not said hello since this process started.
    Unknown,
    /// Not sealed by the sender that it names, or not for this process.
    Forged,
    Replayed,
    /// Too many senders: all must say hello again.
    Full,
}

impl DropReason {
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

pub(super) struct OpenDatagram<'a> {
    /// Unsealed form of the datagram.
    pub(super) plain: &'a [u8],
    /// Authority and incarnation of the sender; `None` for an unsealed datagram.
    pub(super) shown: Option<(Authority, Inc)>,
}

/// A node that has shown its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Name of the node, once it has sent a message.
    pub name: Option<NodeName>,
    pub address: SocketAddr,
    pub authority: Authority,
    pub key: KeyId,
    /// Time of its last datagram, on `CLOCK_BOOTTIME`.
    pub heard: Time,
}

/// Keys of a process, and the nodes that it has heard.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Keyring {
    /// Keys of the process; the first one is used.
    pub ids: Vec<KeyId>,
    /// Nodes that have shown a key since the start.
    pub peers: Vec<Peer>,
    /// Latest nodes, up to 1,024, that have sent without a key and have shown none since.
    pub unsealed: Vec<Unsealed>,
    /// Time since which unsealed datagrams are accepted; `None` where they are not.
    pub accepts_since: Option<Time>,
}

pub(super) struct Seal {
    keys: Keys,
    /// Secret that this process shares with members; `None` for a member.
    with_members: Option<Secret>,
    /// Whether this process asks holders of the cluster's key at any address.
    asks: bool,
    own: Own,
    contacts: Contacts,
    sessions: Sessions,
    unsealed: unsealed::UnsealedSenders,
    /// Time from which unsealed datagrams are accepted: the first datagram, or the first `keyring`.
    accepts_since: Option<Time>,
    scratch: Vec<u8>,
}

/// Numbers that a process draws at its start, and its counter.
struct Own {
    private: StaticSecret,
    public: [u8; 32],
    challenge: u64,
    counter: u64,
}

impl Own {
    /// Takes the number of the next datagram, to any recipient: no nonce is used twice.
    fn count(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    /// The secret that a process of an application shares with members, by the first of its keys.
    fn with_members(&self, keys: &Keys) -> Option<Secret> {
        let HeldKeys::Application(keys) = keys.held() else { return None };
        let key = keys.first()?;
        Some(extract(key.secret(), &self.private.diffie_hellman(&key.members())))
    }
}

impl Seal {
    /// Makes the seal of a process with these keys, which knows of no [members](Self::members_are)
    /// yet.
    pub(super) fn new(keys: Keys) -> Result<Self, SystemError> {
        let mut private = [0; 32];
        private[..16].copy_from_slice(&tenure::driver::random()?.to_le_bytes());
        private[16..].copy_from_slice(&tenure::driver::random()?.to_le_bytes());
        Ok(Self::with(keys, BTreeSet::new(), private, tenure::driver::seed()?))
    }

    fn with(keys: Keys, members: BTreeSet<SocketAddr>, private: [u8; 32], challenge: u64) -> Self {
        let private = StaticSecret::from(private);
        let public = PublicKey::from(&private).to_bytes();
        let own = Own { private, public, challenge, counter: 0 };
        let contacts = Contacts::new(members);
        let scratch = Vec::with_capacity(SEALED_MAX);
        let with_members = own.with_members(&keys);
        Self {
            keys,
            with_members,
            asks: false,
            own,
            contacts,
            sessions: Sessions::default(),
            unsealed: unsealed::UnsealedSenders::default(),
            accepts_since: None,
            scratch,
        }
    }

    /// Marks the process as no member. Except for answers, such a process sends only to members and
    /// to leaders that it asks. So it greets every address like a member's, and a leader accepts
    /// such a greeting, too.
    pub(super) fn of_no_member(self) -> Self {
        Self { asks: true, ..self }
    }

    /// Sets the addresses of members. Members and other nodes are greeted with different secrets.
    /// An address proves nothing. A contact that has become a member, or is no member any more, is
    /// greeted anew.
    pub(super) fn members_are(&mut self, members: BTreeSet<SocketAddr>) {
        for address in self.contacts.members_are(members) {
            self.sessions.forget(address);
        }
    }

    pub(super) fn inc(&self) -> Inc {
        inc(&self.own.public)
    }

    /// Seals `plain` for the node at `to`, and greets the node if need be. A datagram that cannot
    /// be sealed yet waits.
    pub(super) fn outgoing(
        &mut self,
        now: Time,
        to: SocketAddr,
        plain: &[u8],
        mut send: impl FnMut(SocketAddr, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let accepts = self.keys.accepts_unsealed();
        if accepts && self.contacts.get(to).is_some_and(|contact| contact.is_gone(now)) {
            self.sessions.forget(to);
        }
        let session = self.sessions.at(to).map(|session| session.heard);
        let member = self.contacts.is_member(to);
        let known = session.is_some();
        let cannot_greet = !known && self.toward(member).is_none();
        // Answer an unsealed datagram with an unsealed one. Otherwise this process speaks of its
        // own accord: then it greets the node.
        let is_answered = |heard: Time| match session {
            // Any host can send unsealed datagrams in the name of a node that has shown a key.
            // Answer such a node unsealed only if its unsealed datagram came long after its last
            // sealed one: it may have been restarted without a key.
            Some(sealed) => contact::is_long(heard, sealed) && !contact::is_long(now, heard),
            None => cannot_greet || !contact::is_long(now, heard),
        };
        if accepts && !member && self.unsealed.heard(to).is_some_and(is_answered) {
            return send(to, plain);
        }
        if cannot_greet {
            let why = "it has not shown its key, and this node has no key that it could share";
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
                return if accepts && contact.has_no_key(now) { send(to, plain) } else { Ok(()) };
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
        let id = id(&self.own.public);
        let counter = self.own.count();
        bytes::data(&session.seals, id, counter, session.challenge, plain, &mut self.scratch);
        send(to, &self.scratch)
    }

    /// Opens a datagram from `from`; `None` for a part of a greeting.
    pub(super) fn incoming<'a>(
        &mut self,
        now: Time,
        from: SocketAddr,
        datagram: &'a mut [u8],
        mut send: impl FnMut(SocketAddr, &[u8]) -> io::Result<()>,
    ) -> Result<Option<OpenDatagram<'a>>, DropReason> {
        if self.keys.accepts_unsealed() {
            self.accepts_since.get_or_insert(now);
        }
        if datagram.len() <= MAGIC.len() || datagram.len() > SEALED_MAX {
            return Err(DropReason::Cut);
        }
        if datagram[..MAGIC.len()] != MAGIC {
            return Err(DropReason::Magic);
        }
        match datagram[MAGIC.len()] {
            DATA => self.on_data(now, from, datagram).map(Some),
            HELLO => self.on_hello(now, from, datagram, &mut send).map(|()| None),
            WELCOME => self.on_welcome(now, from, datagram, &mut send).map(|()| None),
            _ if self.keys.accepts_unsealed() => {
                Ok(Some(OpenDatagram { plain: datagram, shown: None }))
            }
            version if version <= wire::VERSION => Err(DropReason::Unsealed),
            _ => Err(DropReason::Version),
        }
    }

    fn on_data<'a>(
        &mut self,
        now: Time,
        from: SocketAddr,
        datagram: &'a mut [u8],
    ) -> Result<OpenDatagram<'a>, DropReason> {
        let (sender, counter) = bytes::data_head(datagram).ok_or(DropReason::Cut)?;
        let session = self.sessions.get_mut(sender).ok_or(DropReason::Unknown)?;
        if !session.window.is_new(counter) {
            return Err(DropReason::Replayed);
        }
        let plain = bytes::open_data(&session.opens, counter, self.own.challenge, datagram);
        let plain = plain.ok_or(DropReason::Forged)?;
        session.window.take(counter);
        session.heard = now;
        let authority = session.authority.clone();
        let inc = inc(&session.public);
        // No application takes a member's address, even if its datagrams come from there.
        let reachable = authority == Authority::Cluster || !self.contacts.is_member(from);
        if !self.sessions.establish(sender, from, reachable) {
            return Err(self.start_over());
        }
        self.unsealed.forget(from);
        let is_there = self.sessions.at(from).is_some_and(|session| id(&session.public) == sender);
        if let Some(contact) = self.contacts.get(from).filter(|_| is_there) {
            contact.heard();
        }
        Ok(OpenDatagram { plain, shown: Some((authority, inc)) })
    }

    /// Forgets all senders because too many have shown their keys: earlier sealed datagrams do not
    /// count any more.
    fn start_over(&mut self) -> DropReason {
        // If the system gives no random number, use the next number, which also differs from the
        // earlier challenge.
        self.own.challenge = tenure::driver::seed().unwrap_or(self.own.challenge.wrapping_add(1));
        self.sessions = Sessions::default();
        DropReason::Full
    }

    /// Notes the name of a sender, for [`peers`](Self::peers).
    pub(super) fn note_name(&mut self, inc: Inc, name: &NodeName) {
        let Some(session) = self.sessions.get_mut(id_of(inc)) else { return };
        if session.name.as_ref() != Some(name) {
            session.name = Some(name.clone());
        }
    }

    /// Notes an unsealed datagram from `address` that was not read.
    pub(super) fn refused(&mut self, now: Time, address: SocketAddr) {
        self.unsealed.again(now, address);
    }

    /// Notes an unsealed datagram of `name` from `address`, for [`keyring`](Self::keyring).
    pub(super) fn note_unsealed(&mut self, now: Time, address: SocketAddr, name: &NodeName) {
        self.unsealed.note(now, address, name);
    }

    /// Notes an unsealed datagram of `name` from `address` that was read.
    pub(super) fn heard_unsealed(&mut self, now: Time, address: SocketAddr, name: &NodeName) {
        self.note_unsealed(now, address, name);
        // Any host can send unsealed datagrams in the name of a node that has shown a key. So go on
        // greeting that node: it counts as a node without a key only if it does not answer.
        if self.sessions.at(address).is_some() {
            return;
        }
        if let Some(contact) = self.contacts.get(address) {
            contact.heard_unsealed();
        }
    }

    /// Uses other keys from now on. Senders with a key that is not accepted any more must say
    /// hello.
    pub(super) fn rekey(&mut self, keys: Keys) {
        self.with_members = self.own.with_members(&keys);
        self.keys = keys;
        let accepted = self.accepts_since.is_some();
        match (accepted, self.keys.accepts_unsealed()) {
            (true, false) => self.accepts_since = None,
            // Forget the senders without a key that were listed so far. Their datagrams were
            // refused, and may be forged.
            (false, true) => self.unsealed = unsealed::UnsealedSenders::default(),
            _ => {}
        }
        for address in self.contacts.clear() {
            self.sessions.forget(address);
        }
        let accepted = self.keys.ids();
        if self.sessions.has(|session| !accepted.contains(&session.key)) {
            // If the removed key comes back, no datagram from before its removal may be read again.
            self.start_over();
        }
    }

    pub(super) fn keyring(&mut self, now: Time) -> Keyring {
        let accepts = self.keys.accepts_unsealed();
        let accepts_since = accepts.then(|| *self.accepts_since.get_or_insert(now));
        let ids = self.keys.ids();
        let peers = self.peers();
        let unsealed = self.unsealed.all();
        Keyring { ids, peers, unsealed, accepts_since }
    }

    /// All nodes that have shown a key. Each address belongs to one process: if two sessions with
    /// one key have the same address, the later one belongs to a restarted process.
    fn peers(&self) -> Vec<Peer> {
        let mut latest = BTreeMap::new();
        for session in self.sessions.all().filter(|session| session.established) {
            let peer = Peer {
                name: session.name.clone(),
                address: session.address,
                authority: session.authority.clone(),
                key: session.key,
                heard: session.heard,
            };
            let known: &mut Peer =
                latest.entry((peer.address, peer.key)).or_insert_with(|| peer.clone());
            if known.heard < peer.heard {
                *known = peer;
            }
        }
        latest.into_values().collect()
    }
}

/// Whether datagrams of this version are sealed.
pub(super) const fn is_sealed(version: u8) -> bool {
    matches!(version, DATA | HELLO | WELCOME)
}

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
