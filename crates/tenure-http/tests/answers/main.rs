//! Answers of a server, for real nodes in one process.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

mod bounds;
mod events;
mod lists;
mod orders;
mod places;
mod states;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tenure::{AtMostOne, Election};
use tenure_http::{About, Monitor, Options, Place, Server, Watch};
use tenure_nerio::{Config, Member, Node, Opening, Storage};
use tenure_testkit::processes::{Web, addresses};

/// Three members, and a server that watches an election at the first.
pub(crate) struct Stage {
    pub(crate) nodes: Vec<Node>,
    pub(crate) monitor: Monitor,
    pub(crate) watch: Watch,
    pub(crate) web: Web,
    _server: Server,
}

pub(crate) const ELECTION: &str = "jobs/3";
/// The path of the election, with its name in one segment.
pub(crate) const PATH: &str = "/v1/elections/jobs%2F3";

pub(crate) fn anywhere() -> Options {
    Options::new(Place::Address((Ipv4Addr::LOCALHOST, 0).into()))
}

pub(crate) fn web(server: &Server) -> Web {
    let Place::Address(address) = server.place() else { panic!("{server:?}") };
    Web(*address)
}

/// A connection from another address of this machine.
pub(crate) async fn connect_from(last: u8, web: Web) -> std::net::TcpStream {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::new(127, 0, 0, last), 0).into()).unwrap();
    let stream = socket.connect(web.0).await.unwrap().into_std().unwrap();
    stream.set_nonblocking(false).unwrap();
    stream
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(anywhere())
    }

    pub(crate) fn with(options: Options) -> Self {
        let names = ["a", "b", "c"];
        let places: [SocketAddr; 3] = addresses();
        let member =
            |(name, place): (&&str, &SocketAddr)| Member::at(name.parse().unwrap(), *place);
        let members: Vec<_> = names.iter().zip(&places).map(member).collect();
        let mut config = Config::new("http".parse().unwrap(), members);
        // The lease outlasts a machine that stands still for some seconds.
        config.lease = Duration::from_secs(8);
        let config = config.check().unwrap();
        let start = |name: &&str| {
            let node = Node::builder(config.clone(), name.parse().unwrap());
            node.grantor(Storage::Memory { opening: Opening::New }).start().unwrap()
        };
        let nodes: Vec<_> = names.iter().map(start).collect();
        let server = Server::bind(options).unwrap();
        let monitor = Monitor::new(About::new("a", "nerio"), server.runtime());
        let watch = monitor.watch(&nodes[0].election(ELECTION).unwrap());
        server.serve(&monitor);
        Self { nodes, monitor, watch, web: web(&server), _server: server }
    }

    pub(crate) fn election(&self) -> Election<AtMostOne> {
        self.nodes[0].election(ELECTION).unwrap()
    }

    /// Campaigns, and leads.
    pub(crate) async fn lead(&self) -> tenure::Leadership<AtMostOne> {
        let campaign = self.election().campaign("10.0.0.7:80");
        self.watch.campaigns(&campaign);
        let leadership = campaign.await.unwrap();
        self.watch.leads(&leadership);
        leadership
    }
}
