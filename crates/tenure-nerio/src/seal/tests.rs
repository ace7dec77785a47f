//! Processes that greet each other, and strangers between them.

mod golden;
mod strangers;
mod unsealed;

use std::collections::BTreeMap;
use std::time::Duration;

use super::bytes::Channel;
use super::channel::{directions, gate};
use super::session::{PENDING_MAX, SESSIONS_MAX};
use super::*;
use crate::keys::{Elections, Grant, Right};

const A: &str = "10.0.0.1:7101";
const B: &str = "10.0.0.2:7101";
const P: &str = "10.0.1.1:5000";
const Q: &str = "10.0.1.2:5000";

fn at(address: &str) -> SocketAddr {
    address.parse().unwrap()
}

fn cluster_key() -> crate::keys::ClusterKey {
    const LINE: &str = "tenure-cluster-key-1 prod \
                        0707070707070707070707070707070707070707070707070707070707070707";
    match Keys::parse(LINE).unwrap().held() {
        HeldKeys::Cluster(keys) => keys[0].clone(),
        HeldKeys::Application(_) => panic!("of a cluster"),
    }
}

fn member() -> Keys {
    cluster_key().into()
}

fn application(name: &str) -> Keys {
    let elections: Elections = format!("{name}/*").parse().unwrap();
    cluster_key().issue(name.parse().unwrap(), elections).into()
}

fn seal(keys: Keys, seed: u8) -> Seal {
    Seal::with(keys, [at(A), at(B)].into(), [seed; 32], u64::from(seed) << 56)
}

fn plain(text: &str) -> Vec<u8> {
    [&MAGIC[..], &[wire::VERSION], text.as_bytes()].concat()
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Packet {
    from: SocketAddr,
    to: SocketAddr,
    bytes: Vec<u8>,
}

/// Processes at addresses, and every datagram ever sent.
struct Net {
    now: Time,
    nodes: BTreeMap<SocketAddr, Seal>,
    sent: Vec<Packet>,
    queue: Vec<Packet>,
}

impl Net {
    fn new(nodes: Vec<(&str, Seal)>) -> Self {
        let nodes = nodes.into_iter().map(|(address, seal)| (at(address), seal)).collect();
        Self { now: Time::ZERO, nodes, sent: Vec::new(), queue: Vec::new() }
    }

    fn wait(&mut self, millis: u64) {
        self.now = self.now.after(Duration::from_millis(millis));
    }

    fn say(&mut self, from: &str, to: &str, text: &str) {
        let from = at(from);
        let to = at(to);
        let mut out = Vec::new();
        let node = self.nodes.get_mut(&from).unwrap();
        let sent = node.outgoing(self.now, to, &plain(text), |to, bytes| {
            out.push(Packet { from, to, bytes: bytes.to_vec() });
            Ok(())
        });
        sent.unwrap();
        self.send(out);
    }

    fn send(&mut self, packets: Vec<Packet>) {
        self.sent.extend(packets.iter().cloned());
        self.queue.extend(packets);
    }

    /// Delivers `packet` to its recipient; returns its text, and the authority of its sender.
    fn give(&mut self, packet: &Packet) -> Result<Option<(String, Option<Authority>)>, DropReason> {
        let mut out = Vec::new();
        let mut bytes = packet.bytes.clone();
        let Some(node) = self.nodes.get_mut(&packet.to) else { return Ok(None) };
        let opened = node.incoming(self.now, packet.from, &mut bytes, |to, bytes| {
            out.push(Packet { from: packet.to, to, bytes: bytes.to_vec() });
            Ok(())
        });
        let opened = opened.map(|opened| {
            opened.map(|opened| {
                let text = String::from_utf8(opened.plain[bytes::BEGIN..].to_vec()).unwrap();
                (text, opened.shown.map(|(authority, _)| authority))
            })
        });
        self.send(out);
        opened
    }

    /// Delivers everything; returns the texts that were read, in order.
    fn settle(&mut self) -> Vec<String> {
        let mut read = Vec::new();
        while !self.queue.is_empty() {
            let packet = self.queue.remove(0);
            let given = self.give(&packet);
            read.extend(given.unwrap_or(None).map(|(text, _)| text));
        }
        read
    }

    fn peers(&self, address: &str) -> Vec<Peer> {
        self.nodes[&at(address)].peers()
    }
}

fn candidate_and_members() -> Net {
    Net::new(vec![
        (A, seal(member(), 1)),
        (B, seal(member(), 2)),
        (P, seal(application("billing"), 3)),
    ])
}

#[test]
fn first_datagram_waits_for_welcome() {
    let mut net = candidate_and_members();
    net.say(P, A, "request");
    assert_eq!(net.queue.len(), 1, "a hello, and nothing that is sealed for nobody");
    assert_eq!(net.settle(), ["request"]);
    net.say(A, P, "granted");
    assert_eq!(net.settle(), ["granted"]);
    assert_eq!(net.sent.len(), 4, "hello, welcome, and one datagram each way");
    let Authority::Application(grant) = net.peers(A)[0].authority.clone() else { panic!() };
    assert_eq!(grant.to_string(), "billing for billing/*");
    assert_eq!(net.peers(P)[0].authority, Authority::Cluster);
    net.say(A, B, "fences");
    assert_eq!(net.settle(), ["fences"]);
    assert_eq!(net.peers(B)[0].authority, Authority::Cluster);
}

/// A grantor that campaigns also asks itself, at its own address.
#[test]
fn a_member_talks_to_itself() {
    let mut net = candidate_and_members();
    for text in ["request", "granted", "request"] {
        net.say(A, A, text);
        assert_eq!(net.settle(), [text]);
    }
    let sent = net.sent.clone();
    for packet in &sent {
        assert_eq!(net.give(packet), Err(DropReason::Replayed));
    }
    // Datagrams of A come back to A from the address of B. A must not take them for datagrams of B.
    net.say(A, B, "fences");
    assert_eq!(net.settle(), ["fences"]);
    for packet in net.sent.clone().iter().skip(sent.len()).filter(|packet| packet.from == at(A)) {
        let reflected = Packet { from: at(B), to: at(A), bytes: packet.bytes.clone() };
        assert!(!matches!(net.give(&reflected), Ok(Some(_))), "{reflected:?}");
    }
}

#[test]
fn only_same_application_talks() {
    let mut net = Net::new(vec![
        (P, seal(application("billing"), 3)),
        (Q, seal(application("billing"), 4)),
        (B, seal(application("other"), 5)),
    ]);
    net.say(P, Q, "verify");
    assert_eq!(net.settle(), ["verify"]);
    // Node P takes B for a member, and B has the key of another application.
    net.say(P, B, "request");
    let hello = net.queue.remove(0);
    assert_eq!(net.give(&hello), Err(DropReason::OtherKey(cluster_key().id())));
}

/// A grantor is killed and started again at the same address.
#[test]
fn restarted_node_is_greeted_when_silent() {
    let mut net = candidate_and_members();
    net.say(P, A, "one");
    net.settle();
    net.say(A, P, "answer");
    net.settle();
    net.nodes.insert(at(A), seal(member(), 9));
    let before = net.sent.clone();
    net.say(P, A, "two");
    assert_eq!(net.settle(), [""; 0], "sealed for the one before");
    for packet in before.iter().filter(|packet| packet.to == at(A)) {
        assert!(!matches!(net.give(packet), Ok(Some(_))), "said to the one before");
        net.queue.clear();
    }
    net.wait(60);
    net.say(P, A, "three");
    assert_eq!(net.settle(), [""; 0], "greeted, and sealed for the one before once more");
    net.say(P, A, "four");
    assert_eq!(net.settle(), ["four"]);
}

#[test]
fn a_restarted_member_is_listed_once() {
    let mut net = candidate_and_members();
    for seed in [2, 9] {
        net.nodes.insert(at(B), seal(member(), seed));
        net.wait(60);
        net.say(B, A, "fences");
        assert_eq!(net.settle(), ["fences"]);
    }
    let heard: Vec<_> = net.peers(A).iter().map(|peer| (peer.address, peer.heard)).collect();
    assert_eq!(heard, [(at(B), net.now)]);
}

#[test]
fn silent_member_is_greeted_again() {
    let mut net = candidate_and_members();
    for turn in 0..100 {
        net.say(P, A, &format!("request {turn}"));
        net.queue.clear();
        net.wait(10);
    }
    assert_eq!(net.sent.len(), 20, "a hello in 50 ms");
    net.say(P, A, "latest");
    assert_eq!(net.settle(), ["latest"]);
}

#[test]
fn key_rotation_never_stops_traffic() {
    let new = crate::keys::ClusterKey::generate("prod".parse().unwrap()).unwrap();
    let lines = |first: &str, second: &str| Keys::parse(&format!("{first}\n{second}")).unwrap();
    let old_line = cluster_key().to_line();
    let new_line = new.to_line();
    let issue = |key: &crate::keys::ClusterKey| {
        key.issue("billing".parse().unwrap(), "billing/*".parse().unwrap()).to_line()
    };
    let mut net = candidate_and_members();
    let mut turn = 0;
    let mut all_ways = |net: &mut Net| {
        for (from, to) in [(P, A), (A, P), (A, B), (B, A)] {
            turn += 1;
            net.wait(1);
            net.say(from, to, &turn.to_string());
            assert_eq!(net.settle(), [turn.to_string()], "{from} to {to}");
        }
    };
    all_ways(&mut net);
    let steps = [
        (A, lines(&old_line, &new_line)),
        (B, lines(&old_line, &new_line)),
        (P, lines(&issue(&new), &issue(&cluster_key()))),
        (A, lines(&new_line, &old_line)),
        (B, lines(&new_line, &old_line)),
    ];
    for (address, keys) in steps {
        net.nodes.get_mut(&at(address)).unwrap().rekey(keys);
        all_ways(&mut net);
    }
    let uses =
        |net: &Net, address| -> Vec<_> { net.peers(address).iter().map(|peer| peer.key).collect() };
    assert_eq!(uses(&net, A), [new.id(); 2], "nobody uses the old one");
    for address in [A, B] {
        net.nodes.get_mut(&at(address)).unwrap().rekey(Keys::parse(&new_line).unwrap());
        all_ways(&mut net);
    }
    net.nodes.get_mut(&at(P)).unwrap().rekey(Keys::parse(&issue(&new)).unwrap());
    all_ways(&mut net);
    net.nodes.get_mut(&at(P)).unwrap().rekey(Keys::parse(&issue(&cluster_key())).unwrap());
    net.say(P, A, "with the old one");
    let hello = net.queue.remove(0);
    assert_eq!(net.give(&hello), Err(DropReason::OtherKey(cluster_key().id())));
}

/// A key with these rights for `billing/*`.
fn with_rights(rights: &str) -> Keys {
    let Some(grant) = application("billing").application().cloned() else { panic!() };
    let rights = rights.parse().unwrap();
    cluster_key().issue_with(Grant { rights, ..grant }).unwrap().into()
}

/// The holder of a key names the key's grant in the hello, and has the secret of that grant alone.
#[test]
fn rights_cannot_be_added() {
    let mut net = candidate_and_members();
    let say = |net: &mut Net, keys: Keys, seed: u8| {
        net.nodes.insert(at(Q), seal(keys, seed));
        net.say(Q, A, "order");
        let hello = net.queue.remove(0);
        net.queue.clear();
        hello
    };
    for (seed, rights) in [(10, 7), (11, 6), (12, 1), (13, 15), (14, 3), (15, 10), (16, 31)] {
        let mut hello = say(&mut net, with_rights("ask"), seed);
        let at = 51 + b"billing\0billing/*\0".len();
        assert_eq!(hello.bytes[at], 2);
        hello.bytes[at] = rights;
        assert!(net.give(&hello).is_err(), "{rights}");
    }
    net.nodes.insert(at(Q), seal(with_rights("ask"), 9));
    net.say(Q, A, "as it is");
    assert_eq!(net.settle(), ["as it is"]);
    let peers = net.peers(A);
    let [peer] = &peers[..] else { panic!("{peers:?}") };
    let Authority::Application(grant) = &peer.authority else { panic!("{peer:?}") };
    assert_eq!(grant.to_string(), "billing for billing/* with the rights ask");
}

/// An operator gave the application more elections, or another right. The key of the cluster is the
/// same.
#[test]
fn running_application_gets_other_elections() {
    let mut net = candidate_and_members();
    net.say(P, A, "one");
    net.settle();
    let wider = cluster_key().issue("billing".parse().unwrap(), "*".parse().unwrap());
    net.nodes.get_mut(&at(P)).unwrap().rekey(wider.into());
    net.say(P, A, "two");
    assert_eq!(net.settle(), ["two"]);
    let Authority::Application(grant) = net.peers(A)[0].authority.clone() else { panic!() };
    assert!(grant.elections.cover_all());
    net.nodes.get_mut(&at(P)).unwrap().rekey(with_rights("contend,ask,resign"));
    net.say(P, A, "three");
    assert_eq!(net.settle(), ["three"]);
    let Authority::Application(grant) = net.peers(A)[0].authority.clone() else { panic!() };
    assert!(grant.rights.allow(Right::Resign), "{grant}");
}
