//! Every request and answer of a whole run, as seen on the wire between the voters, is as the
//! description that is served says.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tenure::AtMostOne;
use tenure_core::voter::{Change, Config, Founding, Listed};
use tenure_testkit::handles::{PATIENCE, run, soon};

use super::check;
use crate::wire::Route;
use crate::{Node, Operator, Options};

/// The bytes of a connection, in both directions.
#[derive(Default)]
struct Wire([Mutex<Vec<u8>>; 2]);

/// All connections.
type Tape = Arc<Mutex<Vec<Arc<Wire>>>>;

/// Passes on what comes to `to`, and keeps it.
fn relay(listener: TcpListener, to: SocketAddr, tape: Tape) {
    let pass = |wire: Arc<Wire>, way: usize, mut from: TcpStream, mut to: TcpStream| {
        thread::spawn(move || {
            let mut buffer = [0; 4_096];
            while let Ok(length @ 1..) = from.read(&mut buffer) {
                wire.0[way].lock().unwrap().extend_from_slice(&buffer[..length]);
                if to.write_all(&buffer[..length]).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Write);
        })
    };
    thread::spawn(move || {
        for near in listener.incoming().map_while(Result::ok) {
            let Ok(far) = TcpStream::connect(to) else { continue };
            let wire = Arc::new(Wire::default());
            tape.lock().unwrap().push(wire.clone());
            drop(pass(wire.clone(), 0, near.try_clone().unwrap(), far.try_clone().unwrap()));
            drop(pass(wire, 1, far, near));
        }
    });
}

/// The messages in these bytes, each as its first line and its body. The last may be cut off.
fn messages(mut bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    while let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>())
        });
        let length = length.map_or(0, Result::unwrap);
        let Some(body) = bytes[end + 4..].get(..length) else { break };
        all.push((head.lines().next().unwrap().to_owned(), body.to_vec()));
        bytes = &bytes[end + 4 + length..];
    }
    all
}

/// Which route a request line asks for.
fn route(line: &str) -> Route {
    let mut words = line.split(' ');
    let method = words.next().unwrap();
    let path = words.next().unwrap();
    let path = path.split('?').next().unwrap();
    let is = |route: &Route| route.path() == path && route.method().as_str() == method;
    Route::ALL.into_iter().find(is).unwrap_or_else(|| panic!("{line}"))
}

/// A request of a person with a tool of their own.
fn ask(address: SocketAddr, line: &str, body: &str) {
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\nHost: voter\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 "), "{line}: {answer}");
}

/// Three voters, a leader, the next one after it, an operator, and a person.
async fn elect(tape: &Tape) {
    let bind = || TcpListener::bind("127.0.0.1:0").unwrap();
    let sockets: Vec<_> = (0..3).map(|_| (bind(), bind())).collect();
    let ids = ["a", "b", "c"];
    let url = |listener: &TcpListener| {
        format!("http://{}", listener.local_addr().unwrap()).parse().unwrap()
    };
    let listed = ids.iter().zip(&sockets);
    let list: Vec<_> = listed
        .map(|(id, (relayed, _))| Listed { id: id.parse().unwrap(), url: url(relayed) })
        .collect();
    let directory = tempfile::tempdir().unwrap();
    let start = |(id, (relayed, own)): (&str, (TcpListener, TcpListener))| {
        let address = own.local_addr().unwrap();
        let new = Config::new("billing".parse().unwrap(), id.parse().unwrap(), url(&relayed));
        let config = Config {
            founding: Founding::List(list.clone()),
            // No standstill of a busy machine ends a leadership.
            tolerance: 19,
            request_timeout: Duration::from_millis(900),
            cast_timeout: Duration::from_millis(900),
            result_timeout: Duration::from_millis(900),
            ..new
        };
        relay(relayed, address, tape.clone());
        let state = Some(directory.path().join(id));
        let options = Options { state, ..Options::new(address) }.check().unwrap();
        Node::<AtMostOne>::builder(config.check().unwrap(), options).listener(own).start().unwrap()
    };
    let addresses: Vec<_> =
        sockets.iter().map(|(relayed, _)| relayed.local_addr().unwrap()).collect();
    let voters: Vec<_> = ids.into_iter().zip(sockets).map(start).collect();
    let campaign = |n: usize| voters[n].election("billing").unwrap().campaign(ids[n]);
    let first = soon(campaign(0)).await.unwrap();

    let options = Options::new("127.0.0.1:0".parse().unwrap()).check().unwrap();
    let operator = Operator::new(&options, None, PATIENCE).unwrap();
    let leader = &list[0].url;
    assert!(operator.status(leader).await.is_ok());
    let id = |text: &str| text.parse().unwrap();
    assert!(operator.change(leader, Change::Add(id("nobody"))).await.is_err());
    while operator.change(leader, Change::Remove(id("c"))).await.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    soon(first.resign()).await;
    let second = soon(campaign(1)).await.unwrap();
    assert!(second.is_current());
    let known = r#"{"knownVoters":[{"voterId":"x","voterUrl":"http://127.0.0.1:9"}]}"#;
    let asked = [
        ("POST /reconcile", known),
        ("POST /remove", r#"{"voterId":"nobody","reason":"a test"}"#),
        ("GET /election/result", ""),
        ("POST /election/start", ""),
    ];
    let asks = move || asked.iter().for_each(|(line, body)| ask(addresses[1], line, body));
    tokio::task::spawn_blocking(asks).await.unwrap();
    for voter in &voters {
        voter.close().await;
    }
}

#[test]
fn a_whole_run_is_as_described() {
    let tape = Tape::default();
    run(elect(&tape));
    let document = check::document();
    let mut seen = BTreeSet::new();
    for wire in tape.lock().unwrap().iter() {
        let [there, back] = [0, 1].map(|way| messages(&wire.0[way].lock().unwrap()));
        for ((line, body), answer) in there.iter().zip(&back) {
            let route = route(line);
            let told = String::from_utf8_lossy(&answer.1).into_owned();
            check::request(&document, route, body).unwrap_or_else(|why| panic!("{line}: {why}"));
            let status = answer.0.split(' ').nth(1).unwrap().parse().unwrap();
            check::answer(&document, route, status, &answer.1)
                .unwrap_or_else(|why| panic!("{line}: {}: {why} in {told}", answer.0));
            seen.insert((route.method().as_str().to_owned(), route.path()));
        }
    }
    let all = Route::ALL.map(|route| (route.method().as_str().to_owned(), route.path()));
    let missing: Vec<_> = all.iter().filter(|asked| !seen.contains(*asked)).collect();
    assert!(missing.is_empty(), "{missing:?} were never asked");
}
