//! A server, and participants.

use std::time::Duration;

use tenure::{Leadership, MayOverlap};
use tenure_nats::{Callers, Config, Node, Options};
use tenure_services::nats::{Cluster, Version};

use crate::Result;

pub(crate) const VERSION: Version = Version::Newest;
pub(crate) const ELECTION: &str = "billing";

pub(crate) fn start() -> Result<Cluster> {
    Ok(Cluster::start(VERSION, 1)?)
}

pub(crate) fn config(rank: u64, callers: Callers) -> Result<Config> {
    let id = format!("node-{rank}").parse()?;
    Ok(Config { rank: Some(rank), callers, ..Config::new("bench".parse()?, id) })
}

pub(crate) fn node(config: Config, url: &str) -> Result<Node> {
    let options = Options::new(vec![url.parse()?]).check()?;
    Ok(Node::builder(config.check()?, options).start()?)
}

/// Participants with these settings, all of which campaign. When `start` returns, the best leads
/// and the others wait; a drop ends them all.
pub(crate) struct Company {
    pub(crate) leadership: Leadership<MayOverlap>,
    waiting: Vec<tokio::task::JoinHandle<()>>,
}

impl Company {
    pub(crate) async fn start(
        count: u64,
        cluster: &Cluster,
        config: impl Fn(u64) -> Result<Config>,
    ) -> Result<Self> {
        let nodes: Result<Vec<_>> =
            (0..count).map(|rank| node(config(rank)?, cluster.server(0).url())).collect();
        let nodes = nodes?;
        let mut waiting = Vec::new();
        for node in &nodes[1..] {
            let election = node.election(ELECTION)?;
            waiting.push(tokio::spawn(async move {
                // Each leadership is held until its end, so that the best participant leads in the
                // end.
                while let Ok(leadership) = election.campaign("v").await {
                    leadership.lost().await;
                }
            }));
        }
        let leadership = nodes[0].election(ELECTION)?.campaign("v").await?;
        Ok(Self { leadership, waiting })
    }
}

impl Drop for Company {
    fn drop(&mut self) {
        self.waiting.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

/// A span in seconds, for people.
pub(crate) fn seconds(span: Duration) -> String {
    format!("{:.2} s", span.as_secs_f64())
}
