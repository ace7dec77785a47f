//! The other side of a [`Process`](super::process::Process): a node that obeys lines.

use std::io::{BufRead, Write};
use std::path::PathBuf;

use tenure::{AtMostOne, Leadership};
use tenure_nerio::supervision::Supervisor;
use tenure_nerio::{Node, Opening, Storage};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::Result;
use super::cluster::Settings;

/// Maximum number of simultaneous campaigns: more would overrun the buffers of the sockets.
const AT_ONCE: usize = 250;

/// Plays a node until its input ends. `heap` gives the number of allocated bytes.
pub(crate) fn play(role: &[String], heap: fn() -> usize) -> Result<()> {
    let node = match role {
        [kind, name, opening, path, settings @ ..] if kind == "grantor" => {
            let opening = if opening == "new" { Opening::New } else { Opening::Existing };
            let storage = Storage::Directory { path: PathBuf::from(path), opening };
            Settings::from_words(settings)?.node(name, true)?.grantor(storage).start()?
        }
        [kind, name, settings @ ..] if kind == "candidate" => {
            Settings::from_words(settings)?.node(name, false)?.start()?
        }
        [kind, name, supervisor, settings @ ..] if kind == "watched" => {
            let builder = Settings::from_words(settings)?.node(name, false)?;
            builder.supervised_by(supervisor.parse()?).start()?
        }
        _ => return Err(format!("no such role: {role:?}").into()),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let mut player = Player { node, runtime, held: Vec::new(), supervisor: None, heap };
    answer("ready")?;
    for line in std::io::stdin().lock().lines() {
        answer(&player.obey(&line?)?)?;
    }
    Ok(())
}

struct Player {
    node: Node,
    runtime: Runtime,
    held: Vec<Leadership<AtMostOne>>,
    supervisor: Option<Supervisor>,
    heap: fn() -> usize,
}

impl Player {
    fn obey(&mut self, order: &str) -> Result<String> {
        let mut words = order.split_whitespace();
        match (words.next(), words.next()) {
            (Some("hold"), Some(count)) => self.hold(count.parse()?),
            (Some("supervise"), Some(path)) => {
                self.supervisor = Some(self.node.supervise(path.as_ref())?);
                Ok("supervising".to_owned())
            }
            (Some("watched"), None) => Ok(self.node.is_watched().to_string()),
            (Some("until"), None) => {
                let until = self.held.iter().filter_map(|leadership| leadership.until()).min();
                Ok(until.ok_or("nothing is held")?.as_nanos().to_string())
            }
            (Some("heap"), None) => Ok((self.heap)().to_string()),
            (Some("counters"), None) => {
                let counters = self.runtime.block_on(self.node.counters());
                let counters = counters.ok_or("the node is closed")?;
                let lost = counters.unsent + counters.write_failures + counters.expired;
                let received = counters.received;
                let sent = counters.sent;
                Ok(format!("{received} {sent} {} {lost}", counters.messages))
            }
            _ => Err(format!("no such order: {order}").into()),
        }
    }

    /// Campaigns until this node holds `count` elections; returns the number that it really holds.
    fn hold(&mut self, count: usize) -> Result<String> {
        let Self { node, runtime, held, .. } = self;
        held.reserve_exact(count.saturating_sub(held.len()));
        runtime.block_on(async {
            while held.len() < count {
                let mut campaigns = JoinSet::new();
                for number in held.len()..count.min(held.len() + AT_ONCE) {
                    let election = node.election(&format!("service-{number:05}"))?;
                    campaigns.spawn(async move {
                        let leadership = election.campaign("10.0.0.7:8080").await?;
                        let _ = leadership.settled().await;
                        Ok::<_, tenure::CampaignError>(leadership)
                    });
                }
                while let Some(leadership) = campaigns.join_next().await {
                    held.push(leadership??);
                }
            }
            Ok::<_, Box<dyn std::error::Error>>(())
        })?;
        Ok(held.iter().filter(|leadership| leadership.is_current()).count().to_string())
    }
}

fn answer(line: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
