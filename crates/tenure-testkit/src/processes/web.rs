//! A client of HTTP for tests: one request on each connection.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

use super::wait::PATIENCE;

/// An answer, read to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WebAnswer {
    pub status: u16,
    /// The head of the answer, in the upper and lower case that the server sent.
    pub head: String,
    pub body: String,
}

impl WebAnswer {
    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A server of HTTP on loopback.
#[derive(Clone, Copy, Debug)]
pub struct Web(pub SocketAddr);

impl Web {
    /// Asks as soon as a server listens.
    #[track_caller]
    pub fn get(self, path: &str) -> WebAnswer {
        self.ask("GET", path, "", "")
    }

    /// Asks with a method, header lines with a line end each, and a body.
    #[track_caller]
    pub fn ask(self, method: &str, path: &str, head: &str, body: &str) -> WebAnswer {
        super::wait::eventually(path, || self.try_ask(method, path, head, body).ok())
    }

    /// Asks once.
    pub fn try_ask(
        self,
        method: &str,
        path: &str,
        head: &str,
        body: &str,
    ) -> io::Result<WebAnswer> {
        let stream = TcpStream::connect(self.0)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let host =
            if head.contains("Host:") { String::new() } else { format!("Host: {}\r\n", self.0) };
        exchange(stream, method, path, &(host + head), body)
    }

    /// Subscribes to events.
    #[track_caller]
    pub fn events(self, path: &str, head: &str) -> WebEvents {
        let stream = TcpStream::connect(self.0).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(&stream, "GET {path} HTTP/1.1\r\nHost: {}\r\n{head}\r\n", self.0).unwrap();
        WebEvents(BufReader::new(stream))
    }
}

/// Sends one request on a stream, and reads the answer to its end.
pub fn exchange(
    mut stream: impl Read + Write,
    method: &str,
    path: &str,
    head: &str,
    body: &str,
) -> io::Result<WebAnswer> {
    let length = body.len();
    let head = format!("Connection: close\r\nContent-Length: {length}\r\n{head}");
    let request = format!("{method} {path} HTTP/1.1\r\n{head}\r\n{body}");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) =
        answer.split_once("\r\n\r\n").ok_or_else(|| io::Error::other("no whole head"))?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| io::Error::other("no status"))?;
    Ok(WebAnswer { status, head: head.to_owned(), body: body.to_owned() })
}

/// A subscription to events.
#[derive(Debug)]
pub struct WebEvents(BufReader<TcpStream>);

/// An event: its kind, its id, if it has one, and its data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WebEvent {
    pub kind: String,
    pub id: Option<u64>,
    pub data: Value,
}

impl WebEvents {
    /// The next event; comments and the head are left out. `None` at the end of the stream.
    pub fn event(&mut self) -> Option<WebEvent> {
        let mut event = WebEvent { kind: String::new(), id: None, data: Value::Null };
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("event", kind)) => kind.clone_into(&mut event.kind),
                Some(("id", id)) => event.id = id.parse().ok(),
                Some(("data", data)) => event.data = serde_json::from_str(data).ok()?,
                _ if line.trim_end().is_empty() && !event.kind.is_empty() => return Some(event),
                _ => {}
            }
        }
    }

    /// The first later event for which `is` returns `true`.
    #[track_caller]
    pub fn find(&mut self, what: &str, is: impl Fn(&WebEvent) -> bool) -> WebEvent {
        loop {
            let event = self.event().unwrap_or_else(|| panic!("the stream ended before {what}"));
            if is(&event) {
                return event;
            }
        }
    }
}
