//! A name with several addresses: `SEED_HOST` and `VOTER_URL` of the source.
//!
//! The voters use the system's resolver, so they run in a mount namespace in which the resolver
//! asks the server of this test: needs root, `unshare` and `mount` (util-linux).

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::thread;

use simple_dns::rdata::{A, RData};
use simple_dns::{CLASS, Packet, QTYPE, ResourceRecord, TYPE};

use crate::network::{IDS, Network, end};

const NAME: &str = "voters.test";

/// Answers for this name with all of these addresses, as a round robin does, and for no other name.
/// Ends with the test's process.
fn serve(at: &str, addresses: Vec<Ipv4Addr>) {
    let socket = UdpSocket::bind((at, 53)).unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 1_500];
        let mut turn = 0;
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let Ok(asked) = Packet::parse(&buffer[..length]) else { continue };
            let mut reply = Packet::new_reply(asked.id());
            for question in &asked.questions {
                let name = question.qname.clone();
                if question.qtype == QTYPE::TYPE(TYPE::A) && name.to_string() == NAME {
                    for nth in 0..addresses.len() {
                        let address = addresses[(turn + nth) % addresses.len()];
                        let data = RData::A(A::from(address));
                        reply.answers.push(ResourceRecord::new(name.clone(), CLASS::IN, 0, data));
                    }
                }
                reply.questions.push(question.clone());
            }
            turn += 1;
            let _ = socket.send_to(&reply.build_bytes_vec().unwrap(), from);
        }
    });
}

/// Each voter knows only the name, the port and the path; one of the addresses is its own.
pub(crate) fn voters_share_a_dns_name() {
    let network = Network::new();
    let ip = |nth| network.address(nth).trim_end_matches(":7100").to_owned();
    let server = ip(50);
    let addresses = (0..3).map(|nth| ip(nth).parse().unwrap()).collect();
    serve(&server, addresses);
    let (resolver, order) = (network.machine.path("resolv.conf"), network.machine.path("nss"));
    fs::write(&resolver, format!("nameserver {server}\n")).unwrap();
    fs::write(&order, "hosts: dns\n").unwrap();
    let script = format!(
        "mount --bind {} /etc/resolv.conf && mount --bind {} /etc/nsswitch.conf && exec \"$@\"",
        resolver.display(),
        order.display()
    );
    let around = ["unshare", "--mount", "sh", "-c", &script, "sh"];
    let start = |nth: usize| {
        let words = network.words(nth, &["--expected-voters", "3"]);
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let mut command = network.machine.command_in(&around, &words);
        command.env("SEED_HOST", format!("{NAME}:7100")).env("VOTER_URL", "/elections");
        network.machine.spawn(IDS[nth], command)
    };
    let voters: Vec<_> = (0..3).map(start).collect();
    let (leader, fence) = network.await_leader(0, 0);
    // The asker uses the name as well.
    let mut ask = network.machine.command_in(&around, &["leader"]);
    ask.env("SEED_HOST", format!("{NAME}:7100")).env("VOTER_URL", "/elections");
    let answer = tenure_testkit::processes::output(&mut ask);
    let answer = String::from_utf8_lossy(&answer.stdout).into_owned();
    assert!(answer.starts_with(&format!("leader {leader}, fence {fence}")), "{answer}");
    end(voters);
}
