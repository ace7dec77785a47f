//! What the handles of every driver do, in both modes.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use tempfile::TempDir;
use tenure::{AtMostOne, Election, MayOverlap};
use tenure_testkit::handles;
use tenure_testkit::handles::Group;
use tenure_voter::{Class, Config, Founding, Listed, Node, Options};

use crate::common::bind;

const IDS: [&str; 3] = ["one", "two", "three"];

/// A network of three for each election, and others, which have no vote.
struct Networks<C: Class> {
    by_election: BTreeMap<String, Network<C>>,
    directory: TempDir,
}

struct Network<C: Class> {
    list: Vec<Listed>,
    voters: BTreeMap<&'static str, Node<C>>,
}

impl<C: Class> Networks<C> {
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
        let start = |(id, bound)| (id, self.voter(election, id, &list, bound));
        let voters = IDS.into_iter().zip(bound).map(start).collect();
        Network { list, voters }
    }

    fn voter(
        &self,
        election: &str,
        id: &'static str,
        list: &[Listed],
        (listener, address): (TcpListener, SocketAddr),
    ) -> Node<C> {
        let url = format!("http://{address}").parse().unwrap();
        let config = Config {
            mode: C::MODE,
            founding: Founding::List(list.to_vec()),
            heartbeat: Duration::from_millis(500),
            tolerance: 6,
            spread: Duration::from_millis(200),
            ..Config::new(election.parse().unwrap(), id.parse().unwrap(), url)
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
        let voter = network.voters.remove(participant);
        let voter =
            voter.unwrap_or_else(|| self.voter(election, participant, &network.list, bind()));
        let handle = voter.election(election).unwrap();
        network.voters.insert(participant, voter);
        self.by_election.insert(election.to_owned(), network);
        handle
    }

    async fn close(&mut self, participant: &'static str) {
        for network in self.by_election.values() {
            network.voters[participant].close().await;
        }
    }
}

mod majority {
    use super::{AtMostOne, Networks};

    tenure_testkit::handles!(Networks::<AtMostOne>::start());
}

mod available {
    use super::{MayOverlap, Networks};

    tenure_testkit::handles!(Networks::<MayOverlap>::start());
}
