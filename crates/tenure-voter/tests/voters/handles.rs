//! The suite for the handles of every driver, in both modes.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use tempfile::TempDir;
use tenure::{AtMostOne, Election, MayOverlap};
use tenure_testkit::handles;
use tenure_testkit::handles::Group;
use tenure_voter::{Asker, AskerConfig, Class, Config, Founding, Listed, Node, Options};

use crate::common::{bind, config};

const IDS: [&str; 3] = ["one", "two", "three"];

/// A network of three voters for each election, and askers.
struct Networks<C: Class> {
    by_election: BTreeMap<String, Network<C>>,
    directory: TempDir,
}

struct Network<C: Class> {
    list: Vec<Listed>,
    voters: BTreeMap<&'static str, Node<C>>,
    askers: BTreeMap<&'static str, Asker<C>>,
}

impl<C: Class + handles::Class> Networks<C> {
    fn start() -> Self {
        Self { by_election: BTreeMap::new(), directory: tempfile::tempdir().unwrap() }
    }

    fn network(&self, election: &str) -> Network<C> {
        let bound = IDS.map(|_| bind());
        let all = IDS.into_iter().zip(&bound);
        let listed = |(id, (_, address)): (&str, &(TcpListener, SocketAddr))| Listed {
            id: id.parse().unwrap(),
            url: format!("http://{address}").parse().unwrap(),
        };
        let list: Vec<_> = all.map(listed).collect();
        let start =
            |(id, (listener, address))| (id, self.voter(election, id, &list, listener, address));
        let voters = IDS.into_iter().zip(bound).map(start).collect();
        Network { list, voters, askers: BTreeMap::new() }
    }

    fn voter(
        &self,
        election: &str,
        id: &'static str,
        list: &[Listed],
        listener: TcpListener,
        address: SocketAddr,
    ) -> Node<C> {
        let config = Config {
            election: election.parse().unwrap(),
            mode: C::MODE,
            // In mode `available` the first election begins after this number of heartbeats, and no
            // leadership lapses.
            tolerance: if C::EXCLUSIVE { 19 } else { 5 },
            founding: Founding::List(list.to_vec()),
            ..config(id, address)
        };
        let state = Some(self.directory.path().join(format!("{election}-{id}")));
        let options = Options { state, ..Options::new(address) }.check().unwrap();
        let builder = Node::builder(config.check().unwrap(), options).listener(listener);
        builder.start().unwrap()
    }
}

impl<C: Class + handles::Class> Group for Networks<C> {
    type Class = C;

    const NO_TRANSFER: Option<&'static str> = Some("voter");

    fn election(&mut self, participant: &'static str, election: &str) -> Election<C> {
        let network = self.by_election.remove(election);
        let mut network = network.unwrap_or_else(|| self.network(election));
        let handle = match network.voters.get(participant) {
            Some(voter) => voter.election(election).unwrap(),
            None => {
                let begin = || asker(election, &network.list);
                let asker = network.askers.entry(participant).or_insert_with(begin);
                asker.election_named(election.parse().unwrap())
            }
        };
        self.by_election.insert(election.to_owned(), network);
        handle
    }

    async fn close(&mut self, participant: &'static str) {
        for network in self.by_election.values() {
            match network.voters.get(participant) {
                Some(voter) => voter.close().await,
                None => network.askers[participant].close().await,
            }
        }
    }

    async fn end(self) {
        for network in self.by_election.values() {
            for asker in network.askers.values() {
                asker.close().await;
            }
            for voter in network.voters.values() {
                voter.close().await;
            }
        }
    }
}

/// An asker that knows the first voter alone.
fn asker<C: Class>(election: &str, list: &[Listed]) -> Asker<C> {
    let config = AskerConfig {
        election: election.parse().unwrap(),
        mode: C::MODE,
        urls: vec![list[0].url.clone()],
        every: Duration::from_secs(2),
        within: Duration::from_millis(1_800),
        drift: "0.001".parse().unwrap(),
    };
    let options = Options::new("127.0.0.1:0".parse().unwrap()).check().unwrap();
    Asker::start(config, &options).unwrap()
}

mod majority {
    use super::{AtMostOne, Networks};

    tenure_testkit::handles!(Networks::<AtMostOne>::start());
}

mod available {
    use super::{MayOverlap, Networks};

    tenure_testkit::handles!(Networks::<MayOverlap>::start());
}
