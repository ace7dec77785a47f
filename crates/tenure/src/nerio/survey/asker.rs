//! One socket from which members are asked.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::thread;
use std::time::Duration;

use tenure_core::nerio::wire::{Dropped, Envelope, Packer, open};
use tenure_core::nerio::{Checked, Inc, Message, Query, State, Who};
use tenure_core::{ElectionName, NodeName, Time};
use tokio::net::UdpSocket;
use tokio::sync::oneshot;

use super::{NAME, Way};
use crate::clock;
use crate::nerio::hosts::{Host, Resolver, SystemResolver, usable};
use crate::nerio::seal::{Authority, SEALED_MAX, Seal};

/// How often a question is sent to an address before nobody is there.
pub(super) const TRIES: u32 = 5;
/// How long a name may take to be resolved.
const RESOLVED_WITHIN: Duration = Duration::from_secs(5);

pub(super) struct Asker {
    socket: UdpSocket,
    both_families: bool,
    packer: Packer,
    digest: u64,
    patience: Duration,
    /// Who was asked, and answered with another digest.
    differing: BTreeSet<SocketAddr>,
    pub(super) unresolved: BTreeMap<NodeName, String>,
    /// The addresses of members that have names, by what stands for these.
    places: BTreeMap<SocketAddr, Vec<SocketAddr>>,
    /// Who is asked, as the configuration has it, and where.
    asked: (SocketAddr, SocketAddr),
    seal: Option<Seal>,
}

impl Asker {
    pub(super) async fn new(config: &Checked, way: Way<'_>) -> io::Result<Self> {
        let seal = way.keys.map(|keys| Seal::new(keys.clone(), config)).transpose();
        let seal = seal.map_err(io::Error::other)?;
        let inc = match &seal {
            Some(seal) => seal.inc(),
            None => Inc(crate::entropy::number().map_err(io::Error::other)?),
        };
        let name = NodeName::new(NAME).map_err(io::Error::other)?;
        let who = Who { name, inc };
        let digest = if seal.is_some() { config.by_name().digest() } else { config.digest() };
        let packer = Packer::new(digest, &Envelope { epoch: 0, who });
        let patience = (config.round_trip * 4).max(Duration::from_millis(50));
        let socket = UdpSocket::bind(way.from).await?;
        let mut this = Self {
            socket,
            both_families: way.from.is_ipv6(),
            packer,
            digest,
            patience,
            differing: BTreeSet::new(),
            unresolved: BTreeMap::new(),
            places: BTreeMap::new(),
            asked: (way.from, way.from),
            seal,
        };
        this.find(config, way).await;
        Ok(this)
    }

    /// Resolves all names at once.
    async fn find(&mut self, config: &Checked, way: Way<'_>) {
        let members = config.members.iter().filter_map(|member| {
            let host = way.hosts.get(&member.name)?;
            Some((member, host, resolve(host.clone())))
        });
        let began = clock::now();
        for (member, host, answer) in members.collect::<Vec<_>>() {
            let left = RESOLVED_WITHIN.saturating_sub(clock::now().since(began));
            let found = match tokio::time::timeout(left, answer).await {
                Ok(Ok(found)) => found.map(usable).map_err(|error| error.to_string()),
                Ok(Err(_)) => Err("nothing could be asked".to_owned()),
                Err(_) => Err(format!("no answer within {RESOLVED_WITHIN:?}")),
            };
            let found = match found {
                Ok(found) if found.is_empty() => Err("it has no address".to_owned()),
                found => found,
            };
            let addresses = found.unwrap_or_else(|why| {
                let why = format!("its name {} does not resolve: {why}", host.name());
                self.unresolved.insert(member.name.clone(), why);
                Vec::new()
            });
            self.places.insert(member.address, addresses);
        }
    }

    /// Sends a question until an answer of that member passes `read`, or gives up. Its addresses
    /// are tried in turn, and the one that answers is the first the next time.
    pub(super) async fn ask<T>(
        &mut self,
        to: SocketAddr,
        question: &Message,
        read: impl Fn(Message) -> Option<T>,
    ) -> io::Result<Option<T>> {
        let mut datagram = self.packer.start();
        self.packer.push(&mut datagram, question);
        let addresses = self.places.get(&to).cloned().unwrap_or_else(|| vec![to]);
        let mut failure = None;
        for at in addresses {
            self.asked = (to, at);
            match self.ask_there(&datagram, &read).await {
                Ok(Some(answer)) => {
                    if let Some(addresses) = self.places.get_mut(&to) {
                        addresses.sort_by_key(|address| *address != at);
                    }
                    return Ok(Some(answer));
                }
                Ok(None) => {}
                Err(error) => failure = Some(error),
            }
        }
        failure.map_or(Ok(None), Err)
    }

    async fn ask_there<T>(
        &mut self,
        datagram: &[u8],
        read: impl Fn(Message) -> Option<T>,
    ) -> io::Result<Option<T>> {
        for _ in 0..TRIES {
            self.send(self.asked.0, datagram).await?;
            let answer = tokio::time::timeout(self.patience, self.answer(&read)).await;
            if let Ok(answer) = answer {
                return answer.map(Some);
            }
        }
        Ok(None)
    }

    /// Sends a datagram, sealed if there are keys.
    async fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        let Some(seal) = &mut self.seal else {
            return self.send_all(vec![(to, datagram.to_vec())]).await;
        };
        let mut sealed = Vec::new();
        seal.outgoing(clock::now(), to, datagram, |to, bytes| {
            sealed.push((to, bytes.to_vec()));
            Ok(())
        })?;
        self.send_all(sealed).await
    }

    async fn send_all(&self, sealed: Vec<(SocketAddr, Vec<u8>)>) -> io::Result<()> {
        for (to, bytes) in sealed {
            let to = if to == self.asked.0 { self.asked.1 } else { to };
            let to = match to {
                SocketAddr::V4(v4) if self.both_families => {
                    SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port())
                }
                to => to,
            };
            self.socket.send_to(&bytes, to).await?;
        }
        Ok(())
    }

    async fn answer<T>(&mut self, read: impl Fn(Message) -> Option<T>) -> io::Result<T> {
        let mut buffer = [0; SEALED_MAX + 1];
        let (member, at) = self.asked;
        loop {
            let (length, from) = self.socket.recv_from(&mut buffer).await?;
            if !is_same(from, at) {
                continue;
            }
            let Some(datagram) = self.unseal(member, &mut buffer[..length]).await? else {
                continue;
            };
            let messages = match open(self.digest, 0, datagram) {
                Ok((_, messages)) => messages,
                Err(dropped) => {
                    if let Dropped::Digest(_) = dropped {
                        self.differing.insert(member);
                    }
                    continue;
                }
            };
            if let Some(answer) = messages.filter_map(Result::ok).find_map(&read) {
                return Ok(answer);
            }
        }
    }

    /// What a member at `from` sent, if it is to be read. What waited for a welcome is sent.
    async fn unseal<'a>(
        &mut self,
        from: SocketAddr,
        datagram: &'a mut [u8],
    ) -> io::Result<Option<&'a [u8]>> {
        let Some(seal) = &mut self.seal else { return Ok(Some(datagram)) };
        let mut sealed = Vec::new();
        let opened = seal.incoming(clock::now(), from, datagram, |to, bytes| {
            sealed.push((to, bytes.to_vec()));
            Ok(())
        });
        let opened = opened.ok().flatten();
        self.send_all(sealed).await?;
        Ok(opened.filter(|by| by.authority == Authority::Cluster).map(|opened| opened.plain))
    }

    pub(super) async fn state(
        &mut self,
        to: SocketAddr,
        election: &ElectionName,
    ) -> io::Result<Option<State>> {
        let start: Time = clock::now();
        let question = Message::Query(Query { election: election.clone(), start });
        let state = self.ask(to, &question, |message| match message {
            Message::State(state) if state.start == start => Some(state),
            _ => None,
        });
        state.await
    }

    pub(super) fn differing(&self, config: &Checked) -> BTreeSet<NodeName> {
        let members = config.members.iter();
        let differing = members.filter(|member| self.differing.contains(&member.address));
        differing.map(|member| member.name.clone()).collect()
    }
}

/// On a thread of its own, which is left alone when it takes too long.
fn resolve(host: Host) -> oneshot::Receiver<io::Result<Vec<SocketAddr>>> {
    let (tell, answer) = oneshot::channel();
    let look = move || {
        // Who asked may have ended.
        let _ = tell.send(SystemResolver.resolve(&host));
    };
    // Without a thread the other end is told that nothing comes.
    let _ = thread::Builder::new().name("tenure-resolve".into()).spawn(look);
    answer
}

/// Whether both are one address, however a socket of both families writes it.
fn is_same(from: SocketAddr, at: SocketAddr) -> bool {
    let ip = |address: SocketAddr| -> IpAddr { address.ip().to_canonical() };
    ip(from) == ip(at) && from.port() == at.port()
}
