//! A name server for tests, whose answers may change at any time.

use std::collections::BTreeMap;
use std::net::{IpAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;

use simple_dns::rdata::{A, AAAA, RData};
use simple_dns::{CLASS, Packet, QTYPE, RCODE, ResourceRecord, TYPE};

/// Names, each with its addresses. A name with `None` gets no answer at all.
#[derive(Clone, Default)]
pub(super) struct Zone(Arc<Mutex<BTreeMap<String, Option<Vec<IpAddr>>>>>);

impl Zone {
    /// Sets the addresses of `name`. With an empty list the name does not exist.
    pub(super) fn set(&self, name: String, addresses: Option<Vec<IpAddr>>) {
        self.0.lock().unwrap().insert(name, addresses);
    }

    /// Answers on `socket` in a thread of its own, until the test process ends.
    pub(super) fn serve(&self, socket: UdpSocket) {
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

    /// The answer to a resolver's question, if there is one.
    fn answer(&self, question: &[u8]) -> Option<Vec<u8>> {
        let asked = Packet::parse(question).ok()?;
        let names = self.0.lock().unwrap();
        let mut reply = Packet::new_reply(asked.id());
        for question in &asked.questions {
            let name = question.qname.clone();
            reply.questions.push(question.clone());
            let addresses = match names.get(&name.to_string()) {
                Some(addresses) => addresses.as_deref()?,
                None => &[],
            };
            if addresses.is_empty() {
                *reply.rcode_mut() = RCODE::NameError;
            }
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
