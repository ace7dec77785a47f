//! The part of Kafka's protocol that lists brokers, changes topics and gives rights, in place of a
//! second client library.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use super::Shared;
use crate::daemon::PATIENCE;

/// The maximum number of bytes of an answer.
const LONGEST: usize = 1 << 20;

/// A broker's time limit for a change, in milliseconds: as long as this client waits.
const TIME: i32 = 120_000;

/// The ids of all brokers that accept clients, as the broker at `address` knows them: the request
/// "metadata" in version 4, without a topic.
pub(super) fn brokers(address: SocketAddr) -> io::Result<Vec<i32>> {
    let answer = Request::new(3, 4).count(0).bytes(&[0]).ask(address)?;
    known(&answer).ok_or_else(cut_short)
}

/// Deletes a topic: the request "delete topics" in version 1.
pub(super) fn delete_topic(address: SocketAddr, name: &str) -> io::Result<()> {
    Request::new(20, 1).count(1).text(name).int(TIME).done(address)
}

impl Shared {
    /// Sets the number of partitions of a topic: the request "create partitions" in version 0.
    pub fn set_partitions(&self, name: &str, partitions: i32) -> io::Result<()> {
        // Without an array of assignments, the brokers choose the places of the partitions.
        let request = Request::new(37, 0).count(1).text(name).int(partitions).int(-1);
        request.int(TIME).bytes(&[0]).done(self.open)
    }

    /// Sets a setting of one group, such as `consumer.session.timeout.ms` of the newer protocol:
    /// the request "incremental alter configs" in version 0.
    pub fn set_of_group(&self, group: &str, setting: &str, value: &str) -> io::Result<()> {
        // In this request 32 is the type of a group, and the 0 after the setting is the operation
        // "set".
        let request = Request::new(44, 0).count(1).bytes(&[32]).text(group);
        let request = request.count(1).text(setting).bytes(&[0]).text(value);
        request.bytes(&[0]).accepted(self.open)
    }

    /// Gives ann all rights on a topic or a group, or takes them away. The change takes effect a
    /// moment later.
    pub fn allow(&self, resource: Resource<'_>, allowed: bool) -> io::Result<()> {
        self.set_right(resource, Operation::All, allowed)
    }

    /// Gives ann one right on a topic or a group.
    pub fn permit(&self, resource: Resource<'_>, operation: Operation) -> io::Result<()> {
        self.set_right(resource, operation, true)
    }

    /// Sends "create ACLs" or "delete ACLs" in version 1.
    fn set_right(
        &self,
        resource: Resource<'_>,
        operation: Operation,
        allowed: bool,
    ) -> io::Result<()> {
        let (kind, name) = match resource {
            Resource::Topic(name) => (2, name),
            Resource::Group(name) => (3, name),
        };
        // The first 3 marks a literal name, the last 3 the permission "allow".
        let request = Request::new(if allowed { 30 } else { 31 }, 1).count(1);
        let request = request.bytes(&[kind]).text(name).bytes(&[3]).text("User:ann");
        request.text("*").bytes(&[operation as u8, 3]).accepted(self.open)
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Resource<'a> {
    Topic(&'a str),
    Group(&'a str),
}

/// Operation of a permission, by its number in Kafka's protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    All = 2,
    /// The right to read records, or to be a member.
    Read = 3,
    Write = 4,
    Describe = 8,
    DescribeConfigs = 10,
}

struct Request(Vec<u8>);

impl Request {
    /// A request with this key and version, and the correlation id 1.
    fn new(key: i16, version: i16) -> Self {
        Self(Vec::new()).short(key).short(version).int(1).short(-1)
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    fn short(self, number: i16) -> Self {
        self.bytes(&number.to_be_bytes())
    }

    fn int(self, number: i32) -> Self {
        self.bytes(&number.to_be_bytes())
    }

    /// The number of following items.
    fn count(self, count: usize) -> Self {
        self.int(i32::try_from(count).unwrap_or(i32::MAX))
    }

    fn text(self, text: &str) -> Self {
        self.short(i16::try_from(text.len()).unwrap_or(i16::MAX)).bytes(text.as_bytes())
    }

    /// Sends the request and returns the answer. Only a request without an answer waits for the
    /// whole timeout.
    fn ask(self, address: SocketAddr) -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let own_length = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        stream.write_all(&[&own_length.to_be_bytes()[..], &self.0].concat())?;
        let mut header = [0; 4];
        stream.read_exact(&mut header)?;
        let length = usize::try_from(i32::from_be_bytes(header)).unwrap_or(usize::MAX);
        if length > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "an answer that is too long"));
        }
        let mut answer = vec![0; length];
        stream.read_exact(&mut answer)?;
        Ok(answer)
    }

    /// Carries out a request about one topic. In the answer, the name comes before the error.
    fn done(self, address: SocketAddr) -> io::Result<()> {
        refused(&self.ask(address)?, true)
    }

    /// Carries out a request whose answer begins with the error.
    fn accepted(self, address: SocketAddr) -> io::Result<()> {
        refused(&self.ask(address)?, false)
    }
}

fn cut_short() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "an answer cut short")
}

/// Whether the broker has refused the request.
fn refused(mut answer: &[u8], has_name: bool) -> io::Result<()> {
    let mut code = || {
        let _number = integer(&mut answer)?;
        let _throttle = integer(&mut answer)?;
        let _count = integer(&mut answer)?;
        if has_name {
            text(&mut answer)?;
        }
        short(&mut answer)
    };
    match code().ok_or_else(cut_short)? {
        0 => Ok(()),
        code => Err(io::Error::other(format!("the broker refuses the request with error {code}"))),
    }
}

/// The brokers, which come first in the answer.
fn known(mut answer: &[u8]) -> Option<Vec<i32>> {
    let _number = integer(&mut answer)?;
    let _throttle = integer(&mut answer)?;
    let count = integer(&mut answer)?;
    (0..count).map(|_| broker(&mut answer)).collect()
}

/// The id of one broker, before its host, its port and its rack.
fn broker(answer: &mut &[u8]) -> Option<i32> {
    let id = integer(answer)?;
    text(answer)?;
    let _port = integer(answer)?;
    text(answer)?;
    Some(id)
}

fn integer(answer: &mut &[u8]) -> Option<i32> {
    let (bytes, rest) = answer.split_first_chunk()?;
    *answer = rest;
    Some(i32::from_be_bytes(*bytes))
}

fn short(answer: &mut &[u8]) -> Option<i16> {
    let (bytes, rest) = answer.split_first_chunk()?;
    *answer = rest;
    Some(i16::from_be_bytes(*bytes))
}

/// Skips a text; a missing text has the length -1.
fn text(answer: &mut &[u8]) -> Option<()> {
    let length = usize::try_from(short(answer)?).unwrap_or(0);
    *answer = answer.get(length..)?;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_answers_are_read() {
        let mut answer = vec![0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2];
        for id in [0_u8, 7] {
            answer.extend([0, 0, 0, id, 0, 9]);
            answer.extend(b"127.0.0.1");
            answer.extend([0, 0, 0x23, 0x84, 0xff, 0xff]);
        }
        assert_eq!(known(&answer), Some(vec![0, 7]));
        for length in 0..answer.len() {
            assert_eq!(known(&answer[..length]), None, "{length}");
        }
    }

    #[test]
    fn refusals_name_their_number() {
        let begin = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1];
        for (name, has_name) in [(&[0, 1, b't'][..], true), (&[][..], false)] {
            let answer = |code: u8| [&begin[..], name, &[0, code]].concat();
            refused(&answer(0), has_name).unwrap();
            let said = refused(&answer(36), has_name).unwrap_err().to_string();
            assert_eq!(said, "the broker refuses the request with error 36");
            assert!(refused(&answer(0)[..begin.len() + name.len() + 1], has_name).is_err());
        }
    }
}
