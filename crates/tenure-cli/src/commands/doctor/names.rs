//! Checks that each name of a peer resolves to an address, and the own name to this machine.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use tenure::driver::host_and_port;
use tokio::task::JoinSet;

use super::finding::Finding;

/// The longest wait for name servers.
const PATIENCE: Duration = Duration::from_secs(5);

/// The file with the name servers of this machine.
const SERVERS: &str = "/etc/resolv.conf";

/// The port for a URL without a port: only the name is looked up.
const ANY_PORT: u16 = 1;

/// Looks up all names of a list of peers, all at once. The name of the peer `own` must lead to this
/// machine.
pub(super) async fn check(peers: &str, own: Option<&str>) -> Vec<Finding> {
    let places: Vec<_> = peers.split(',').filter_map(place).collect();
    let own = own.and_then(|own| host_of(peers, own));
    let mut asked = JoinSet::new();
    for (nth, (host, port)) in places.iter().cloned().enumerate() {
        asked.spawn(async move { (nth, look_up(host, port).await) });
    }
    let mut wrong = Vec::new();
    let mut abroad = None;
    while let Some(answer) = asked.join_next().await {
        match answer {
            Ok((nth, Err(why))) => wrong.push((nth, why)),
            Ok((nth, Ok(found))) if own.as_ref() == Some(&places[nth]) => {
                abroad = elsewhere(&places[nth].0, &found);
            }
            Ok(_) | Err(_) => {}
        }
    }
    wrong.sort();
    let finding = |(nth, (why, fix)): &(usize, Wrong)| {
        Finding::fails("names", format!("{} does not resolve: {why}", places[*nth].0), *fix)
    };
    let mut all = match (wrong.is_empty(), places.len()) {
        (true, 0) => Vec::new(),
        (true, 1) => vec![Finding::ok("names", "1 address is known".to_owned())],
        (true, count) => vec![Finding::ok("names", format!("{count} addresses are known"))],
        (false, _) => wrong.iter().map(finding).collect(),
    };
    all.extend(abroad);
    all
}

/// Host and port of the peer `own` in a list of names and places.
fn host_of(peers: &str, own: &str) -> Option<(String, u16)> {
    let mut entries = peers.split(',').filter_map(|entry| entry.trim().split_once('='));
    entries.find_map(|(name, rest)| place(rest).filter(|_| name == own))
}

/// Warns if this member's own name leads only to other machines. An address in place of a name
/// needs no such check: the member tries to listen on it.
fn elsewhere(host: &str, found: &[SocketAddr]) -> Option<Finding> {
    let is_abroad = |at: &SocketAddr| {
        let bound = UdpSocket::bind((at.ip(), 0));
        bound.is_err_and(|error| error.kind() == ErrorKind::AddrNotAvailable)
    };
    let is_literal = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    if is_literal || !found.iter().all(is_abroad) {
        return None;
    }
    let all: Vec<_> = found.iter().map(|at| at.ip().to_string()).collect();
    let text = format!(
        "{host} is this member in the list, and leads to {}, which is no address of this machine",
        all.join(", ")
    );
    let fix = "correct the name, the list or --name; with a relay that passes datagrams on to this \
               machine, all is well";
    Some(Finding::warning("names", text, fix))
}

/// The reason why a name has no address, and the remedy.
type Wrong = (String, &'static str);

async fn look_up(host: String, port: u16) -> Result<Vec<SocketAddr>, Wrong> {
    let host = host.trim_matches(['[', ']']);
    let unknown = "correct the name, or make the name servers of this machine know it";
    match tokio::time::timeout(PATIENCE, tokio::net::lookup_host((host, port))).await {
        Ok(Ok(found)) => {
            let found: Vec<_> = found.collect();
            if found.is_empty() {
                Err(("it has no address".to_owned(), unknown))
            } else {
                Ok(found)
            }
        }
        Ok(Err(error)) => Err((error.to_string(), unknown)),
        Err(_) => {
            let servers = servers(&std::fs::read_to_string(SERVERS).unwrap_or_default());
            let why = format!("{servers} did not answer within {PATIENCE:?}");
            Err((why, "mend the name server or the network to it, or name another in that file"))
        }
    }
}

/// The name servers in a text of the form of `resolv.conf`.
fn servers(text: &str) -> String {
    let server = |line: &str| {
        let mut words = line.split_whitespace();
        words.next().filter(|word| *word == "nameserver").and(words.next()).map(str::to_owned)
    };
    let all: Vec<_> = text.lines().filter_map(server).collect();
    match &all[..] {
        [] => format!("the name server of this machine ({SERVERS})"),
        [only] => format!("the name server {only} ({SERVERS})"),
        _ => format!("the name servers {} ({SERVERS})", all.join(", ")),
    }
}

/// Host and port of `a=10.0.0.1:7101`, `http://10.0.0.1:2379/path` and the like.
fn place(text: &str) -> Option<(String, u16)> {
    let text = text.trim();
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    let text = text.split('/').next().unwrap_or_default();
    let text = text.split_once('=').map_or(text, |(_, rest)| rest);
    match host_and_port(text) {
        Some((host, port)) => Some((host.to_owned(), port)),
        None if text.is_empty() => None,
        None => Some((text.to_owned(), ANY_PORT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_of_all_forms_are_read() {
        for (text, host, port) in [
            ("a=10.0.0.1:7101", "10.0.0.1", 7101),
            (" db-2.internal:9092", "db-2.internal", 9092),
            ("b=[fd00::7]:7101", "[fd00::7]", 7101),
            ("https://db-1:2379", "db-1", 2379),
            ("west=http://west.example/path", "west.example", ANY_PORT),
        ] {
            assert_eq!(place(text), Some((host.to_owned(), port)), "{text}");
        }
        assert_eq!(place(""), None);
    }

    #[test]
    fn name_servers_are_read() {
        let text = "# nameserver 1\nsearch a.test\nnameserver 10.9.0.2\n";
        assert_eq!(servers(text), "the name server 10.9.0.2 (/etc/resolv.conf)");
        let text = format!("{text} nameserver\tfd00::7 # comment");
        assert_eq!(servers(&text), "the name servers 10.9.0.2, fd00::7 (/etc/resolv.conf)");
        assert_eq!(servers(""), "the name server of this machine (/etc/resolv.conf)");
    }

    #[test]
    fn own_name_leads_here() {
        let list = " a=db-1:7101, b=db-2:7102";
        assert_eq!(host_of(list, "b"), Some(("db-2".to_owned(), 7102)));
        assert_eq!(host_of(list, "c"), None);
        // RFC 5737 reserves this address: no machine has it.
        let [here, abroad] = ["127.0.0.1:1", "192.0.2.1:1"].map(|at| at.parse().unwrap());
        assert_eq!(elsewhere("db-1", &[here]), None);
        assert_eq!(elsewhere("db-1", &[abroad, here]), None);
        assert_eq!(elsewhere("192.0.2.1", &[abroad]), None);
        let told = elsewhere("db-1", &[abroad]).unwrap().to_string();
        assert!(told.contains("db-1 is this member in the list, and leads to 192.0.2.1"), "{told}");
    }
}
