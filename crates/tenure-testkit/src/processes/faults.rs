//! Faults of a deployment, one for each round.

use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;
use tenure::clock;

use super::host::NODES;
use super::rounds::is_soak;
use super::{Deployment, Fleet, Host, Leadership, Network, Weather, eventually};
use crate::Rng;

/// A fault. Faults that leave the nodes alone come first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    /// kill -9 of the leader's `tenure run`.
    RunnerKilled,
    /// SIGTERM to the leader's `tenure run`.
    RunnerTerminated,
    /// SIGSTOP of the leader's `tenure run` beyond its lease, then SIGCONT.
    RunnerStopped,
    /// The leader's `tenure run` is ended or killed, and another `tenure run` joins at that moment.
    RunnerJoins,
    /// Nothing passes between the leader's runner and one, two or all nodes, one or both ways.
    RunnerCutOff,
    /// kill -9 of CMD.
    CommandKilled,
    /// kill -9 of the guard.
    GuardKilled,
    /// SIGSTOP of the guard, while the lease ends.
    GuardStopped,
    /// `tenure resign`.
    Resigned,
    /// `tenure transfer`.
    Transferred,
    /// kill -9 of one to three nodes, which are back within a lease.
    NodesRestarted,
    /// SIGSTOP of one or two nodes for longer than a lease, then SIGCONT.
    NodesStopped,
    /// Nothing passes to or from a node.
    NodeCutOff,
    /// The leader's runner and a node stay connected, and all others are cut off from both, until
    /// two leaders lead.
    RoutesCut,
    /// The leader's connection to each node breaks in turn, so that the leader must use another
    /// node.
    ClientMoved,
    /// kill -9 of a node, whose state directory is deleted before it is started again.
    StateDeleted,
    /// Up to three nodes get other addresses, to which their names then lead; kill -9 restarts some
    /// of these nodes, too.
    NodesMoved,
    /// Packets are lost, repeated and reordered.
    Storm,
}

impl Fault {
    /// All faults, each once.
    pub const ALL: [Self; 18] = [
        Self::RunnerKilled,
        Self::RunnerTerminated,
        Self::RunnerStopped,
        Self::RunnerJoins,
        Self::RunnerCutOff,
        Self::CommandKilled,
        Self::GuardKilled,
        Self::GuardStopped,
        Self::Resigned,
        Self::Transferred,
        Self::NodesRestarted,
        Self::NodesStopped,
        Self::NodeCutOff,
        Self::RoutesCut,
        Self::ClientMoved,
        Self::StateDeleted,
        Self::NodesMoved,
        Self::Storm,
    ];

    /// Whether all participants reach each other during the fault.
    pub(super) fn spares_network(self) -> bool {
        let alone = matches!(self, Self::RunnerCutOff | Self::GuardStopped);
        self.spares_nodes() && !alone
    }

    /// Whether all nodes work during the fault.
    pub(super) fn spares_nodes(self) -> bool {
        self <= Self::Transferred
    }
}

/// Outcome of a fault.
#[derive(Debug)]
pub(super) struct Strike {
    /// Details, for the printed line.
    pub(super) how: String,
    /// Whether the fault certainly ends the leadership.
    pub(super) ends_leadership: bool,
}

impl Strike {
    fn ending(how: impl Into<String>) -> Self {
        Self { how: how.into(), ends_leadership: true }
    }

    /// The outcome of a fault whose leadership had ended before, for example because a candidate of
    /// a higher priority had joined.
    fn late() -> Self {
        Self::ending("too late")
    }

    fn passing(how: impl Into<String>) -> Self {
        Self { how: how.into(), ends_leadership: false }
    }
}

fn names(nodes: &[Host]) -> String {
    nodes.iter().map(|node| node.name()).collect::<Vec<_>>().join(",")
}

/// A fault that strikes a leader.
pub(super) struct Blow<'a, D> {
    pub(super) fleet: &'a mut Fleet<D>,
    pub(super) rng: &'a mut Rng,
    pub(super) leader: &'a Leadership,
    pub(super) runner: Host,
}

impl<D: Deployment> Blow<'_, D> {
    /// Causes the fault, and waits. Lets stopped processes go on, and starts killed nodes again.
    /// The caller starts ended runners again, and ends the remaining cuts of the network.
    pub(super) fn strike(&mut self, fault: Fault) -> Strike {
        match fault {
            Fault::RunnerKilled => {
                self.fleet.kill(self.runner);
                Strike::ending("")
            }
            Fault::RunnerTerminated => {
                self.fleet.signal(self.runner, Signal::TERM);
                assert_eq!(self.fleet.ended(self.runner).code(), Some(143), "128 + SIGTERM");
                Strike::ending("")
            }
            Fault::RunnerStopped => self.runner_stopped(),
            Fault::RunnerJoins => self.runner_joins(),
            Fault::RunnerCutOff => self.runner_cut_off(),
            Fault::CommandKilled => self.command_killed(),
            Fault::GuardKilled => self.guard_killed(),
            Fault::GuardStopped => self.guard_stopped(),
            Fault::Resigned => {
                self.tell(D::RESIGN);
                Strike::ending("")
            }
            Fault::Transferred => self.transferred(),
            Fault::NodesRestarted => self.nodes_restarted(),
            Fault::NodesStopped => self.nodes_stopped(),
            Fault::NodeCutOff => self.node_cut_off(),
            Fault::RoutesCut => self.routes_cut(),
            Fault::ClientMoved => self.client_moved(),
            Fault::StateDeleted => self.state_deleted(),
            Fault::NodesMoved => self.nodes_moved(),
            Fault::Storm => self.storm(),
        }
    }

    /// The network. Only deployments with a network know the faults that call this.
    fn network(&self) -> &dyn Network {
        self.fleet.deployment.network().expect("a network that can be made worse")
    }

    /// Waits for `from` to `to` tenths of a lease in the soak; otherwise for the shortest of these
    /// spans.
    fn hold(&mut self, from: u32, to: u32) {
        let tenth = self.fleet.deployment.timing().lease / 10;
        let span = self.rng.span(&(tenth * from..tenth * to));
        sleep(if is_soak() { span } else { tenth * from });
    }

    /// Some of the nodes, in a drawn order.
    fn some_nodes(&mut self, count: usize) -> Vec<Host> {
        let mut nodes: Vec<_> = Host::nodes().collect();
        self.rng.shuffle(&mut nodes);
        nodes.truncate(count);
        nodes
    }

    fn isolate_leader(&self) {
        Host::nodes().for_each(|node| self.network().part(self.runner, node));
    }

    fn runner_stopped(&mut self) -> Strike {
        self.fleet.freeze(self.runner);
        // The next leader shows that the lease has ended.
        self.fleet.await_leader(self.leader.fence, clock::now());
        self.hold(0, 5);
        self.fleet.signal(self.runner, Signal::CONT);
        Strike::ending("")
    }

    fn runner_joins(&mut self) -> Strike {
        let others = Host::runners().filter(|runner| *runner != self.runner);
        let joins = *self.rng.pick(&others.collect::<Vec<_>>());
        self.fleet.signal(joins, Signal::TERM);
        self.fleet.ended(joins);
        let signal = *self.rng.pick(&[Signal::TERM, Signal::KILL]);
        self.fleet.signal(self.runner, signal);
        self.fleet.start_runner(joins, *self.rng.pick(D::MANNERS));
        self.fleet.ended(self.runner);
        Strike::ending(format!("{signal:?}, {joins} joins"))
    }

    fn runner_cut_off(&mut self) -> Strike {
        let count = 1 + self.rng.index(NODES);
        let nodes = self.some_nodes(count);
        let (to, from) = *self.rng.pick(&[(true, true), (true, false), (false, true)]);
        for node in &nodes {
            if to {
                self.network().cut(self.runner, *node);
            }
            if from {
                self.network().cut(*node, self.runner);
            }
        }
        self.hold(15, 25);
        let arrow = match (to, from) {
            (true, true) => "<->",
            (true, false) => "-->",
            _ => "<--",
        };
        let how = format!("{} {arrow} {}", self.runner, names(&nodes));
        if NODES - nodes.len() >= D::NEEDED {
            return Strike::passing(how);
        }
        // If the machine stood still, a server may not have noticed yet that the leader is silent.
        self.fleet.await_leader(self.leader.fence, clock::now());
        Strike::ending(how)
    }

    fn command_killed(&mut self) -> Strike {
        let campaigns =
            |blow: &Self| blow.fleet.said(blow.runner).matches(" campaigns for ").count();
        let before = campaigns(self);
        let Some((command, _)) = self.fleet.work_of(self.leader) else { return Strike::late() };
        command.signal(Signal::KILL);
        let status = eventually("CMD's end is noticed", || {
            // If the leadership ended just before the signal, the guard ended CMD, and the runner
            // goes on: the runner then campaigns again.
            let again = (campaigns(self) > before).then_some(None);
            self.fleet.departed().pop().map(|(_, status)| Some(status)).or(again)
        });
        let Some(status) = status else { return Strike::late() };
        assert_eq!(status.code(), Some(137), "CMD's own end passes through");
        Strike::ending("")
    }

    fn guard_killed(&mut self) -> Strike {
        let Some((_, guard)) = self.fleet.work_of(self.leader) else { return Strike::late() };
        guard.signal(Signal::KILL);
        Strike::ending("")
    }

    fn guard_stopped(&mut self) -> Strike {
        let Some((_, guard)) = self.fleet.work_of(self.leader) else { return Strike::late() };
        guard.signal(Signal::STOP);
        self.isolate_leader();
        self.fleet.await_leader(self.leader.fence, clock::now());
        guard.signal(Signal::CONT);
        Strike::ending("")
    }

    fn transferred(&mut self) -> Strike {
        let others = Host::runners().filter(|runner| *runner != self.runner);
        let to = *self.rng.pick(&others.collect::<Vec<_>>());
        if self.tell(&["transfer", "--to", to.name()]) {
            let next = self.fleet.await_leader(self.leader.fence, clock::now());
            // If the named candidate stood still, another candidate may have won.
            assert!(next.id == to.name() || !is_soak(), "{next}, and {to} was named");
        }
        Strike::ending(format!("to {to}"))
    }

    /// Gives a command to the leader. Returns `false` if the leadership had ended, as on a machine
    /// that stood still for a lease.
    fn tell(&mut self, words: &[&str]) -> bool {
        eventually(&format!("{} obeys {}, see tell.log", self.runner, words.join(" ")), || {
            if self.fleet.tell(self.runner, words) == Some(0) {
                return Some(true);
            }
            // Without a new leader, an error means that the leader does not know the waiting
            // candidates yet.
            (self.fleet.judged().fence() > self.leader.fence).then_some(false)
        })
    }

    fn nodes_restarted(&mut self) -> Strike {
        let count = 1 + self.rng.index(NODES);
        let nodes = self.some_nodes(count);
        // With the leader cut off, other candidates ask the restarted nodes at once: this shows a
        // node that forgot its grant.
        let isolated = self.rng.chance(50) && self.fleet.deployment.network().is_some();
        if isolated {
            self.isolate_leader();
        }
        nodes.iter().for_each(|node| D::kill(self.fleet, *node));
        self.hold(0, 4);
        nodes.iter().for_each(|node| D::restart(self.fleet, *node));
        self.hold(2, 10);
        if !isolated {
            return Strike::passing(names(&nodes));
        }
        self.fleet.await_leader(self.leader.fence, clock::now());
        Strike::ending(names(&nodes) + ", the leader cut off")
    }

    fn nodes_stopped(&mut self) -> Strike {
        let count = 1 + self.rng.index(NODES - 1);
        let nodes = self.some_nodes(count);
        nodes.iter().for_each(|node| D::stop(self.fleet, *node));
        self.hold(12, 20);
        nodes.iter().for_each(|node| D::cont(self.fleet, *node));
        let ends_leadership = NODES - count < D::WORKING;
        Strike { how: names(&nodes), ends_leadership }
    }

    fn nodes_moved(&mut self) -> Strike {
        let count = 1 + self.rng.index(NODES);
        let nodes = self.some_nodes(count);
        let restarted = self.rng.chance(50);
        for node in &nodes {
            if restarted {
                D::kill(self.fleet, *node);
            }
            self.network().move_host(*node);
            if restarted {
                D::restart(self.fleet, *node);
            }
        }
        self.hold(5, 25);
        let how = if restarted { ", restarted" } else { "" };
        Strike::passing(names(&nodes) + how)
    }

    fn node_cut_off(&mut self) -> Strike {
        let node = self.some_nodes(1)[0];
        Host::all().for_each(|host| self.network().part(host, node));
        self.hold(5, 25);
        Strike::passing(node.name())
    }

    /// Cuts the leader's runner and one node off from the others, until the journal shows a leader
    /// on either side. Without a second leader the heal would prove nothing.
    fn routes_cut(&mut self) -> Strike {
        let node = self.some_nodes(1)[0];
        let cut_at = clock::now();
        for other in Host::nodes() {
            if other != node {
                self.network().part(node, other);
            }
            for runner in Host::runners() {
                if (runner == self.runner) != (other == node) {
                    self.network().part(runner, other);
                }
            }
        }
        eventually("two lead while routes are cut", || {
            let overlap = self.fleet.judged().overlap(cut_at);
            (overlap > Duration::ZERO).then_some(())
        });
        self.hold(0, 12);
        Strike::passing(node.name())
    }

    fn client_moved(&mut self) -> Strike {
        for node in self.some_nodes(NODES) {
            self.network().part(self.runner, node);
            self.hold(2, 4);
            self.network().heal();
        }
        Strike::passing("")
    }

    /// In half of the rounds the leader holds only two grants, and another candidate holds the
    /// third. If the struck node forgot its grant and did not wait, two candidates would lead.
    fn state_deleted(&mut self) -> Strike {
        let nodes = self.some_nodes(2);
        let lost = nodes[0];
        let distant = nodes[1];
        let narrow = self.rng.chance(50);
        if narrow {
            self.network().part(self.runner, distant);
            self.hold(12, 16);
        }
        D::kill(self.fleet, lost);
        D::lose_state(self.fleet, lost);
        self.hold(0, 3);
        D::restart(self.fleet, lost);
        D::await_ready(self.fleet);
        if !narrow {
            return Strike::passing(lost.name());
        }
        Strike::passing(format!("{lost}, the leader cut off from {distant}"))
    }

    fn storm(&mut self) -> Strike {
        let slow = Duration::from_millis(self.rng.within(10..80));
        let loss = self.rng.within(5..40) as u8;
        let twice = self.rng.within(5..50) as u8;
        self.network().set_weather(Weather { loss, twice, delay: Duration::ZERO..slow });
        self.hold(10, 30);
        Strike::passing(format!("{loss} % lost, {twice} % twice, up to {slow:?} late"))
    }
}
