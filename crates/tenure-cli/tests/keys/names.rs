//! Nodes that are found by the names of their hosts.
//!
//! The system's resolver is asked, so all processes run where it is set to a server of this test:
//! in mount namespaces of their own, which needs root, `unshare` and `mount` (util-linux).

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;

use simple_dns::rdata::{A, RData};
use simple_dns::{CLASS, Packet, QTYPE, ResourceRecord, TYPE};

use crate::fleet::{Fleet, LEASE, NODES};

type Zone = Arc<Mutex<BTreeMap<String, Ipv4Addr>>>;

/// Answers for the names in `zone`; of others it knows nothing. Ends with the test's process.
fn serve(at: &str, zone: &Zone) {
    let (socket, zone) = (UdpSocket::bind((at, 53)).unwrap(), Arc::clone(zone));
    thread::spawn(move || {
        let mut buffer = [0; 1_500];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let Ok(asked) = Packet::parse(&buffer[..length]) else { continue };
            let mut reply = Packet::new_reply(asked.id());
            for question in &asked.questions {
                let name = question.qname.clone();
                let known = zone.lock().unwrap().get(&name.to_string()).copied();
                if let Some(address) = known.filter(|_| question.qtype == QTYPE::TYPE(TYPE::A)) {
                    let data = RData::A(A::from(address));
                    reply.answers.push(ResourceRecord::new(name, CLASS::IN, 0, data));
                }
                reply.questions.push(question.clone());
            }
            let _ = socket.send_to(&reply.build_bytes_vec().unwrap(), from);
        }
    });
}

fn host(node: &str) -> String {
    format!("{node}.tenure.test")
}

/// Makes the system's resolver of all processes of `fleet` ask the server at `at`.
fn resolve_at(fleet: &mut Fleet, at: &str) {
    let (resolver, order) = (fleet.path("resolv.conf"), fleet.path("nss"));
    fs::write(&resolver, format!("nameserver {at}\n")).unwrap();
    fs::write(&order, "hosts: dns\n").unwrap();
    let script = format!(
        "mount --bind {} /etc/resolv.conf && mount --bind {} /etc/nsswitch.conf && exec \"$@\"",
        resolver.display(),
        order.display()
    );
    fleet.around = ["unshare", "--mount", "sh", "-c", &script, "sh"].map(str::to_owned).into();
}

/// The leader keeps its fence while a node moves to another address, with its directory, and while
/// it depends on that node.
#[test]
fn a_node_that_moves_is_found_by_its_name() {
    if !rustix::process::geteuid().is_root() {
        println!("not run: it needs root, to set the resolver of its own processes");
        return;
    }
    let zone = Zone::default();
    let moved = |node: &str, to: [u8; 4]| zone.lock().unwrap().insert(host(node), to.into());
    for (nth, node) in (1..).zip(NODES) {
        moved(node, [127, 0, 71, nth]);
    }
    let mut fleet = Fleet::new();
    serve("127.0.71.53", &zone);
    resolve_at(&mut fleet, "127.0.71.53");
    let port = fleet.addresses[0].port();
    let members = NODES.map(|node| format!("{node}={}:{port}", host(node))).join(",");
    fleet.listed = Some(members.clone());
    let key = fleet.key("cluster.key");
    for (nth, node) in (1..).zip(NODES) {
        fleet.start_node_on(node, &key, &format!("127.0.71.{nth}:{port}"), true);
    }
    let billing = fleet.issue(&key, "billing.key");
    fleet.start_runner("web", &billing);
    let fence = fleet.leader(&billing, "billing/x").expect("a leader")["fence"].clone();

    fleet.stop("a");
    moved("a", [127, 0, 71, 4]);
    fleet.start_node_on("a", &key, &format!("127.0.71.4:{port}"), false);
    let lease = format!("{}s", LEASE.as_secs());
    let wait = |fleet: &Fleet, members: &str, wait: &str| {
        let asked = ["node", "wait-safe", "--name", "a", "--key-file", &key, "--wait", wait];
        fleet.tenure(&[&asked[..], &["--members", members, "--lease", &lease]].concat())
    };
    let safe = wait(&fleet, &members, "60s");
    assert!(safe.status.success(), "{safe:?}\n{}", fleet.said("web"));
    fleet.stop("b");
    thread::sleep(LEASE * 2);
    let leader = fleet.leader(&billing, "billing/x").expect("a leader");
    assert_eq!(leader["fence"], fence, "{}", fleet.said("web"));

    // Where the others are is no matter to whom asks: with keys nodes agree on names alone.
    let wrong = members.replace("b.tenure", "nowhere.tenure");
    let refused = wait(&fleet, &wrong, "3s");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    let why = "b cannot be asked: its name nowhere.tenure.test does not resolve: ";
    assert!(said.contains(why), "{said}");
    let all = ["members", "--key-file", &key, "--members", &wrong, "--lease", &lease];
    let all = String::from_utf8_lossy(&fleet.tenure(&all).stdout).into_owned();
    let line = "b at nowhere.tenure.test:";
    assert!(all.contains(line) && all.contains("does not resolve"), "{all}");
}
