//! Checks that each name of a peer resolves to an address.

use std::time::Duration;

use tenure::driver::host_and_port;
use tokio::task::JoinSet;

use super::finding::Finding;

/// The longest wait for name servers.
const PATIENCE: Duration = Duration::from_secs(5);

/// The port for a URL without a port: only the name is looked up.
const ANY_PORT: u16 = 1;

/// Looks up all names of a list of peers, all at once.
pub(super) async fn check(peers: &str) -> Vec<Finding> {
    let places: Vec<_> = peers.split(',').filter_map(place).collect();
    let mut asked = JoinSet::new();
    for (nth, (host, port)) in places.iter().cloned().enumerate() {
        asked.spawn(async move { (nth, look_up(host, port).await) });
    }
    let mut wrong = Vec::new();
    while let Some(answer) = asked.join_next().await {
        if let Ok((nth, Err(why))) = answer {
            wrong.push((nth, why));
        }
    }
    wrong.sort();
    let fix = "correct the name, or make the name servers of this machine know it";
    let finding = |(nth, why): &(usize, String)| {
        Finding::fails("names", format!("{} does not resolve: {why}", places[*nth].0), fix)
    };
    match (wrong.is_empty(), places.len()) {
        (true, 0) => Vec::new(),
        (true, 1) => vec![Finding::ok("names", "1 address is known".to_owned())],
        (true, count) => vec![Finding::ok("names", format!("{count} addresses are known"))],
        (false, _) => wrong.iter().map(finding).collect(),
    }
}

async fn look_up(host: String, port: u16) -> Result<(), String> {
    let host = host.trim_matches(['[', ']']);
    match tokio::time::timeout(PATIENCE, tokio::net::lookup_host((host, port))).await {
        Ok(Ok(mut found)) => found.next().map(drop).ok_or_else(|| "it has no address".to_owned()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer within {PATIENCE:?}")),
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
}
