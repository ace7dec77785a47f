//! A name server of a test: what it says may change at any time.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;

use simple_dns::rdata::{A, AAAA, RData};
use simple_dns::{CLASS, Packet, QTYPE, RCODE, ResourceRecord, TYPE};

/// The names that there are, each with its addresses.
#[derive(Clone, Default)]
pub struct Zone {
    names: Arc<Mutex<BTreeMap<String, Vec<IpAddr>>>>,
    silent: Arc<Mutex<BTreeSet<String>>>,
}

impl Zone {
    /// From now on `name` has these addresses; it does not exist if there are none.
    pub fn set(&self, name: &str, addresses: &[IpAddr]) {
        let mut names = self.names.lock().unwrap();
        match addresses {
            [] => drop(names.remove(name)),
            some => drop(names.insert(name.to_owned(), some.to_vec())),
        }
    }

    /// From now on nobody who asks for `name` has an answer.
    pub fn silence(&self, name: &str) {
        self.silent.lock().unwrap().insert(name.to_owned());
    }

    /// Answers on `socket` in a thread of its own, until the test's process ends.
    pub fn serve(&self, socket: UdpSocket) {
        let zone = self.clone();
        thread::spawn(move || {
            let mut buffer = [0; 1_500];
            while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                if let Some(reply) = zone.answer(&buffer[..length]) {
                    socket.send_to(&reply, from).ok();
                }
            }
        });
    }

    /// The answer to a question of a resolver; `None` to what is none.
    fn answer(&self, question: &[u8]) -> Option<Vec<u8>> {
        let asked = Packet::parse(question).ok()?;
        let silent = self.silent.lock().unwrap();
        if asked.questions.iter().any(|question| silent.contains(&question.qname.to_string())) {
            return None;
        }
        let names = self.names.lock().unwrap();
        let mut reply = Packet::new_reply(asked.id());
        for question in &asked.questions {
            let name = question.qname.clone();
            reply.questions.push(question.clone());
            let Some(addresses) = names.get(&name.to_string()) else {
                *reply.rcode_mut() = RCODE::NameError;
                continue;
            };
            for address in addresses {
                let data = match (address, question.qtype) {
                    (IpAddr::V4(ip), QTYPE::TYPE(TYPE::A)) => RData::A(A::from(*ip)),
                    (IpAddr::V6(ip), QTYPE::TYPE(TYPE::AAAA)) => RData::AAAA(AAAA::from(*ip)),
                    _ => continue,
                };
                reply.answers.push(ResourceRecord::new(name.clone(), CLASS::IN, 0, data));
            }
        }
        reply.build_bytes_vec().ok()
    }
}
