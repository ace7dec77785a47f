//! As much of Kafka's protocol as shows which brokers there are, and makes topics, so that no
//! second client is needed.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use crate::daemon::{BETWEEN_QUESTIONS, PATIENCE};
use crate::process::since_boot;

/// How long one answer is waited for: only who never gets any waits that long.
const ANSWER: Duration = PATIENCE;

/// No answer that we ask for is longer.
const LONGEST: usize = 1 << 20;

/// How long a broker may take for what changes something: as long as is waited for it.
const TIME: i32 = 120_000;

/// The ids of all brokers that take clients, as the one at `address` knows them: the request
/// "metadata" in its version 1, about no topic.
pub(super) fn brokers(address: SocketAddr) -> io::Result<Vec<i32>> {
    let answer = ask(address, (3, 1), &0_i32.to_be_bytes())?;
    ids(&answer).ok_or_else(cut_short)
}

/// Makes a topic with one copy of each partition and these settings: the request "create topics"
/// in its version 2.
fn make_topic(
    address: SocketAddr,
    name: &str,
    partitions: i32,
    settings: &[(&str, &str)],
) -> io::Result<()> {
    let mut body = Vec::new();
    put_count(&mut body, 1);
    put_text(&mut body, name);
    body.extend(partitions.to_be_bytes());
    body.extend(1_i16.to_be_bytes());
    // Whoever wants to may have them.
    put_count(&mut body, 0);
    put_count(&mut body, settings.len());
    for (name, value) in settings {
        put_text(&mut body, name);
        put_text(&mut body, value);
    }
    body.extend(TIME.to_be_bytes());
    body.push(0);
    done(&ask(address, (19, 2), &body)?)
}

/// The same. The controller has it at once; this waits until the broker knows it.
pub(super) fn make_known_topic(
    address: SocketAddr,
    name: &str,
    partitions: i32,
    settings: &[(&str, &str)],
) -> io::Result<()> {
    make_topic(address, name, partitions, settings)?;
    let limit = since_boot() + PATIENCE;
    while !matches!(knows(address, name), Ok(true)) {
        if since_boot() > limit {
            return Err(io::Error::other(format!("the broker does not know topic {name}")));
        }
        thread::sleep(BETWEEN_QUESTIONS);
    }
    Ok(())
}

/// Whether this broker knows a topic: the request "metadata" in its version 4, which makes none.
fn knows(address: SocketAddr, name: &str) -> io::Result<bool> {
    let mut body = Vec::new();
    put_count(&mut body, 1);
    put_text(&mut body, name);
    body.push(0);
    let answer = ask(address, (3, 4), &body)?;
    Ok(known(&answer).ok_or_else(cut_short)? == 0)
}

/// Gives a topic so many partitions in all: the request "create partitions" in its version 0.
pub(super) fn set_partitions(address: SocketAddr, name: &str, partitions: i32) -> io::Result<()> {
    let mut body = Vec::new();
    put_count(&mut body, 1);
    put_text(&mut body, name);
    body.extend(partitions.to_be_bytes());
    // Whoever wants to may have them: an array that is not there.
    body.extend((-1_i32).to_be_bytes());
    body.extend(TIME.to_be_bytes());
    body.push(0);
    done(&ask(address, (37, 0), &body)?)
}

/// Deletes a topic: the request "delete topics" in its version 1.
pub(super) fn delete_topic(address: SocketAddr, name: &str) -> io::Result<()> {
    let mut body = Vec::new();
    put_count(&mut body, 1);
    put_text(&mut body, name);
    body.extend(TIME.to_be_bytes());
    done(&ask(address, (20, 1), &body)?)
}

/// Sets something for one group: the request "incremental alter configs" in its version 0.
pub(super) fn set_of_group(
    address: SocketAddr,
    group: &str,
    setting: &str,
    value: &str,
) -> io::Result<()> {
    let mut body = Vec::new();
    put_count(&mut body, 1);
    // That it is a group.
    body.push(32);
    put_text(&mut body, group);
    put_count(&mut body, 1);
    put_text(&mut body, setting);
    // That it is set.
    body.push(0);
    put_text(&mut body, value);
    body.push(0);
    accepted(&ask(address, (44, 0), &body)?)
}

/// What a user may be allowed to do anything with.
#[derive(Clone, Copy, Debug)]
pub enum Resource<'a> {
    /// The topic of this name.
    Topic(&'a str),
    /// The group of this name.
    Group(&'a str),
}

impl Resource<'_> {
    /// Its kind, its name, and that the name is meant literally.
    fn put(self, body: &mut Vec<u8>) {
        let (kind, name) = match self {
            Self::Topic(name) => (2, name),
            Self::Group(name) => (3, name),
        };
        body.push(kind);
        put_text(body, name);
        body.push(3);
    }
}

/// Allows a user something with a resource, or takes that back: the requests "create ACLs" and
/// "delete ACLs" in their versions 1.
pub(super) fn allow(
    address: SocketAddr,
    user: &str,
    resource: Resource<'_>,
    operation: Operation,
    allowed: bool,
) -> io::Result<()> {
    let mut body = Vec::new();
    put_count(&mut body, 1);
    resource.put(&mut body);
    put_text(&mut body, &format!("User:{user}"));
    put_text(&mut body, "*");
    // That it is allowed.
    body.extend([operation as u8, 3]);
    let answer = ask(address, (if allowed { 30 } else { 31 }, 1), &body)?;
    accepted(&answer)
}

/// One thing that a user may be allowed to do, by its number in Kafka's protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// All that there is.
    All = 2,
    /// To read records, or to be a member.
    Read = 3,
    /// To write records.
    Write = 4,
    /// To hear that it is there.
    Describe = 8,
    /// To read its settings.
    DescribeConfigs = 10,
}

fn put_count(body: &mut Vec<u8>, count: usize) {
    body.extend(i32::try_from(count).unwrap_or(i32::MAX).to_be_bytes());
}

fn put_text(body: &mut Vec<u8>, text: &str) {
    body.extend(i16::try_from(text.len()).unwrap_or(i16::MAX).to_be_bytes());
    body.extend(text.as_bytes());
}

/// What a broker answers to a request with this key and version, number 1, from nobody.
fn ask(address: SocketAddr, (key, version): (i16, i16), body: &[u8]) -> io::Result<Vec<u8>> {
    let mut request = [key.to_be_bytes(), version.to_be_bytes()].concat();
    request.extend(1_i32.to_be_bytes());
    request.extend((-1_i16).to_be_bytes());
    request.extend(body);
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    let length = u32::try_from(request.len()).unwrap_or(u32::MAX);
    stream.write_all(&[&length.to_be_bytes()[..], &request].concat())?;
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = usize::try_from(i32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if length > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "an answer that is too long"));
    }
    let mut answer = vec![0; length];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

fn cut_short() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "an answer cut short")
}

/// Whether what was asked for of one topic is done.
fn done(mut answer: &[u8]) -> io::Result<()> {
    let mut code = || {
        let _number = integer(&mut answer)?;
        let _throttle = integer(&mut answer)?;
        let _count = integer(&mut answer)?;
        text(&mut answer)?;
        answer.first_chunk().map(|bytes| i16::from_be_bytes(*bytes))
    };
    match code().ok_or_else(cut_short)? {
        0 => Ok(()),
        code => Err(refused(code)),
    }
}

/// Whether one change of rights is made.
fn accepted(mut answer: &[u8]) -> io::Result<()> {
    let mut code = || {
        let _number = integer(&mut answer)?;
        let _throttle = integer(&mut answer)?;
        let _count = integer(&mut answer)?;
        answer.first_chunk().map(|bytes| i16::from_be_bytes(*bytes))
    };
    match code().ok_or_else(cut_short)? {
        0 => Ok(()),
        code => Err(refused(code)),
    }
}

fn refused(code: i16) -> io::Error {
    io::Error::other(format!("the broker refuses it with error {code}"))
}

/// What the answer says of brokers, which come first in it.
fn ids(mut answer: &[u8]) -> Option<Vec<i32>> {
    let _number = integer(&mut answer)?;
    let count = integer(&mut answer)?;
    (0..count).map(|_| broker(&mut answer)).collect()
}

/// With which error the broker answers of the one topic it was asked about.
fn known(mut answer: &[u8]) -> Option<i16> {
    let _number = integer(&mut answer)?;
    let _throttle = integer(&mut answer)?;
    for _ in 0..integer(&mut answer)? {
        broker(&mut answer)?;
    }
    text(&mut answer)?;
    let _controller = integer(&mut answer)?;
    let _count = integer(&mut answer)?;
    answer.first_chunk().map(|bytes| i16::from_be_bytes(*bytes))
}

/// The id of one broker: its host, its port and its rack follow.
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

/// Skips a text; -1 is the length of none.
fn text(answer: &mut &[u8]) -> Option<()> {
    let (bytes, rest) = answer.split_first_chunk()?;
    let length = usize::try_from(i16::from_be_bytes(*bytes)).unwrap_or(0);
    *answer = rest.get(length..)?;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brokers_are_read_and_half_an_answer_is_none() {
        let mut answer = vec![0, 0, 0, 1, 0, 0, 0, 2];
        for id in [0_u8, 7] {
            answer.extend([0, 0, 0, id, 0, 9]);
            answer.extend(b"127.0.0.1");
            answer.extend([0, 0, 0x23, 0x84, 0xff, 0xff]);
        }
        assert_eq!(ids(&answer), Some(vec![0, 7]));
        for length in 0..answer.len() {
            assert_eq!(ids(&answer[..length]), None, "{length}");
        }
        assert_eq!(ids(&[0, 0, 0, 1, 0, 0, 0, 0]), Some(vec![]));
    }

    #[test]
    fn whether_a_topic_is_known_stands_behind_the_brokers() {
        let mut answer = vec![0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 9];
        answer.extend(b"127.0.0.1");
        answer.extend([0, 0, 0x23, 0x84, 0xff, 0xff, 0, 1, b'c', 0, 0, 0, 0, 0, 0, 0, 1, 0, 3]);
        assert_eq!(known(&answer), Some(3));
        for length in 0..answer.len() {
            assert_eq!(known(&answer[..length]), None, "{length}");
        }
    }

    #[test]
    fn what_is_refused_is_told_by_its_number() {
        let answer = |code: u8| {
            let begin = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, b't'];
            [&begin[..], &[0, code, 0xff, 0xff]].concat()
        };
        done(&answer(0)).unwrap();
        let said = done(&answer(36)).unwrap_err().to_string();
        assert_eq!(said, "the broker refuses it with error 36");
        assert!(done(&answer(0)[..16]).is_err());
        let changed = |code: u8| [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, code];
        accepted(&changed(0)).unwrap();
        assert_eq!(accepted(&changed(31)).unwrap_err().to_string(), said.replace("36", "31"));
        assert!(accepted(&changed(0)[..13]).is_err());
    }
}
