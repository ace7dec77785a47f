//! Look-ups of DNS names.

use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use tokio::task::JoinHandle;

/// Time after which a look-up counts as unanswered for now.
const PATIENCE: Duration = Duration::from_secs(5);
const ADDRESSES_MAX: usize = 8;

/// A question to the system, which may take long. At most one question runs for each name. If the
/// caller gave up waiting, the next look-up waits for the same question.
#[derive(Debug)]
pub(crate) struct LookUp {
    name: String,
    port: u16,
    /// The question under way, even if its asker has given up.
    asked: Option<JoinHandle<io::Result<Vec<SocketAddr>>>>,
}

impl LookUp {
    pub(crate) const fn new(name: String, port: u16) -> Self {
        Self { name, port, asked: None }
    }

    /// The addresses of the name in the order in which they are to be tried, or the reason why
    /// there are none. Takes 5 s at most. The look-up itself occupies a blocking thread of the
    /// runtime until the system answers. Cancel safe.
    pub(crate) async fn ask(&mut self) -> Result<Vec<SocketAddr>, String> {
        let name = self.name.clone();
        let port = self.port;
        let ask = move || (name.as_str(), port).to_socket_addrs().map(Iterator::collect);
        let asked = self.asked.get_or_insert_with(|| tokio::task::spawn_blocking(ask));
        let answer = tokio::time::timeout(PATIENCE, asked).await;
        let Ok(answer) = answer else {
            return Err(format!("no answer in {PATIENCE:?}"));
        };
        self.asked = None;
        match answer {
            Ok(Ok(found)) => usable(found),
            Ok(Err(error)) => Err(reason(&error)),
            Err(_) => Err("the look-up was ended".to_owned()),
        }
    }
}

/// The addresses that may belong to a process, each once.
fn usable(found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, String> {
    let mut known = BTreeSet::new();
    let no_process = |ip: std::net::IpAddr| ip.is_unspecified() || ip.is_multicast();
    let usable = found.into_iter().map(|at| SocketAddr::new(at.ip().to_canonical(), at.port()));
    let usable: Vec<_> =
        usable.filter(|at| !no_process(at.ip()) && known.insert(*at)).take(ADDRESSES_MAX).collect();
    if usable.is_empty() {
        Err("it gives no address at which a process can be reached".to_owned())
    } else {
        Ok(usable)
    }
}

/// The error of the system, without its usual beginning.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let known = "failed to lookup address information: ";
    text.strip_prefix(known).map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn unusable_addresses_are_left_out() {
        let found = ["0.0.0.0:1", "10.0.0.1:1", "[::ffff:10.0.0.1]:1", "[ff02::1]:1", "[fd::1]:1"];
        let found = found.map(at).to_vec();
        assert_eq!(usable(found), Ok(vec![at("10.0.0.1:1"), at("[fd::1]:1")]));
        assert!(usable(vec![at("[::]:1")]).unwrap_err().contains("no address"));
        let many = (0..100).map(|n| SocketAddr::from(([10, 0, 0, n], 1))).collect();
        assert_eq!(usable(many).unwrap().len(), ADDRESSES_MAX);
    }

    #[tokio::test]
    async fn names_and_literals_are_looked_up() {
        let found = LookUp::new("127.0.0.1".to_owned(), 7).ask().await;
        assert_eq!(found, Ok(vec![at("127.0.0.1:7")]));
        // RFC 6761 reserves this name.
        let mut none = LookUp::new("nobody.invalid".to_owned(), 7);
        for _ in 0..2 {
            assert!(!none.ask().await.unwrap_err().is_empty());
        }
    }
}
