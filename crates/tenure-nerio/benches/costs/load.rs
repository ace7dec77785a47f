//! Processor time and datagrams of nodes that hold elections and do nothing else.

use std::thread::sleep;
use std::time::Duration;

use tenure::{Time, clock};

use crate::common::Result;
use crate::common::cluster::{Cluster, Settings};
use crate::common::process::Process;
use crate::target::Targets;

const MANY: usize = 10_000;
const TARGET: f64 = 5.0;

pub(crate) fn measure(quick: bool, targets: &mut Targets) -> Result<()> {
    let span = Duration::from_secs(if quick { 5 } else { 12 });
    let settings = Settings::new()?;
    println!(
        "load: one candidate holds elections with a lease of {:?}, three grantors with a state \
         directory grant them; {span:?} of renewals",
        settings.lease
    );
    println!("  elections  node       % of a core  datagrams/s in  out  messages/datagram  lost");
    let mut held = Vec::new();
    for count in [1, 100, MANY] {
        let cluster = Cluster::start(Settings::new()?)?;
        let mut candidate = cluster.candidate("one")?;
        let hold = format!("hold {count}");
        candidate.ask(&hold)?;
        // Let every election be renewed, so that the renewals drift apart.
        sleep(settings.lease);
        let mut nodes = vec![("candidate", candidate)];
        nodes.extend(cluster.grantors.into_iter().map(|grantor| ("grantor", grantor)));
        let before =
            nodes.iter_mut().map(|(_, node)| Reading::take(node)).collect::<Result<Vec<_>>>()?;
        sleep(span);
        let mut shares = Vec::new();
        for ((role, node), before) in nodes.iter_mut().zip(before) {
            let rates = Reading::take(node)?.rates_since(&before);
            rates.print(count, role);
            shares.push(rates.percent);
        }
        // This order only counts the elections: the node does not campaign again for a lost
        // leadership.
        held.push((count, nodes[0].1.ask(&hold)?.parse()?));
        if count == MANY {
            let grantors = &shares[1..];
            let mean = grantors.iter().sum::<f64>() / grantors.len() as f64;
            targets.at_most(&format!("candidate with {MANY}"), shares[0], TARGET, " %");
            targets.at_most(&format!("grantor with {MANY}, mean of three"), mean, TARGET, " %");
        }
    }
    for (count, held) in held {
        targets.all("elections held in the end", held, count);
    }
    Ok(())
}

/// Processor time and counters of a node so far.
struct Reading {
    at: Time,
    used: Duration,
    received: u64,
    sent: u64,
    messages: u64,
    lost: u64,
}

struct Rates {
    percent: f64,
    received: f64,
    sent: f64,
    messages_each: f64,
    lost: u64,
}

impl Reading {
    fn take(node: &mut Process) -> Result<Self> {
        let counters = node.ask("counters")?;
        let numbers = counters.split_whitespace().map(str::parse);
        let numbers = numbers.collect::<std::result::Result<Vec<u64>, _>>()?;
        let [received, sent, messages, lost] = numbers[..] else {
            return Err(format!("strange counters: {counters}").into());
        };
        Ok(Self {
            at: clock::now(),
            used: processor_time(node.child.id())?,
            received,
            sent,
            messages,
            lost,
        })
    }

    fn rates_since(&self, before: &Self) -> Rates {
        let span = self.at.since(before.at).as_secs_f64();
        let received = (self.received - before.received) as f64;
        Rates {
            percent: (self.used - before.used).as_secs_f64() / span * 100.0,
            received: received / span,
            sent: (self.sent - before.sent) as f64 / span,
            messages_each: (self.messages - before.messages) as f64 / received,
            lost: self.lost - before.lost,
        }
    }
}

/// Processor time of the threads of a process, as the kernel counts it in nanoseconds.
fn processor_time(process: u32) -> Result<Duration> {
    let mut nanos = 0;
    for task in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let text = std::fs::read_to_string(task?.path().join("schedstat"))?;
        let used = text.split_whitespace().next().ok_or("an empty schedstat")?;
        nanos += used.parse::<u64>()?;
    }
    Ok(Duration::from_nanos(nanos))
}

impl Rates {
    fn print(&self, elections: usize, role: &str) {
        let Self { percent, received, sent, messages_each, lost } = self;
        println!(
            "  {elections:>9}  {role:9}  {percent:>11.3}  {received:>14.0}  {sent:>3.0}  \
             {messages_each:>17.1}  {lost:>4}"
        );
    }
}
