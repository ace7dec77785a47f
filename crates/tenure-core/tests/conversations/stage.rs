//! Where a conversation takes place: the real cores, each with its clock and its disk, on a
//! network without chance. True time is the judge: two leaders end the story.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::{
    Checked, Command, Config, Effect, Event, Extra, Inc, Kept, Member, Message, Nerio, Query,
    Sender, Start, Who,
};
use tenure_core::{ElectionName, Fence, Input, NodeName, Protocol, Standing};

use crate::clock::Clock;
use crate::directive::{Character, Deed, Restart, Setup};
use crate::disk::Disk;
use crate::network::{Letter, Link, Network};
use crate::record::Record;

/// A story that goes on for longer within one directive never ends.
const STEPS_MAX: usize = 10_000;

/// A node of the story: what outlives its process.
struct Node {
    name: NodeName,
    /// None while no process runs.
    core: Option<Nerio>,
    clock: Clock,
    disk: Option<Disk>,
    disk_works: bool,
}

pub struct Stage {
    config: Checked,
    network: Network,
    /// Everybody who was ever mentioned; the place gives the port and the clock's origin.
    known: Vec<String>,
    nodes: BTreeMap<String, Node>,
    /// How many lives each name has had.
    lives: BTreeMap<NodeName, u32>,
    /// How many directories each node has had.
    directories: BTreeMap<String, u32>,
    /// True time in nanoseconds.
    now: u64,
    last_fence: Fence,
    pub record: Record,
}

/// What a directive did not allow.
type Outcome = Result<(), String>;

impl Stage {
    pub fn new(setup: &Setup) -> Result<Self, String> {
        let known: Vec<_> = setup.members.iter().map(ToString::to_string).collect();
        let members = setup.members.iter().enumerate();
        let members = members.map(|(n, name)| Member { name: name.clone(), address: port(n) });
        let mut config = Config::new("talks".parse().unwrap(), members.collect());
        config = config.with_lease(setup.lease);
        config.drift = setup.drift;
        config.refresh = setup.refresh;
        config.verify_max = setup.promise;
        config.round_trip = setup.delay * 10;
        config.grace = setup.refresh;
        config.kill_margin = setup.refresh / 10;
        let mut record = Record::default();
        for (n, node) in known.iter().enumerate() {
            record.short.add(port(n).to_string(), node.clone());
        }
        Ok(Self {
            config: config.check().map_err(|error| error.to_string())?,
            network: Network::new(nanos(setup.delay)),
            known,
            nodes: BTreeMap::new(),
            lives: BTreeMap::new(),
            directories: BTreeMap::new(),
            now: 0,
            last_fence: Fence::NONE,
            record,
        })
    }

    /// Does what a directive asks for.
    pub fn perform(&mut self, deed: Deed) -> Outcome {
        match deed {
            Deed::Cluster(_) => Err("the cluster is there already".into()),
            Deed::Start { nodes, like } => {
                nodes.into_iter().try_for_each(|node| self.enter(node, &like))
            }
            Deed::Campaign { node, priority } => {
                let value = node.parse().map_err(|error| format!("{error}"))?;
                self.command(&node, Command::Campaign { value, priority })
            }
            Deed::Resign { node } => self.command(&node, Command::Resign),
            Deed::Transfer { node, to } => {
                self.command(&node, Command::Transfer { to, probe: false })
            }
            Deed::Verify { node, leader } => {
                let leader = self.address(&leader)?;
                self.command(&node, Command::Extra(Extra::Verify { leader }))
            }
            Deed::Observe { node, every } => self.command(&node, Command::Observe { every }),
            Deed::Run(span) => self.run_until(self.now + nanos(span)),
            Deed::Deliver => {
                let last = self.network.last().ok_or("nothing is on its way")?;
                self.run_until(last)
            }
            Deed::Delay(link, span) => {
                self.know(&link)?;
                self.network.slow_down(link, nanos(span));
                Ok(())
            }
            Deed::Cut(link) => {
                self.know(&link)?;
                self.network.cut(link);
                Ok(())
            }
            Deed::Heal => {
                self.network.heal();
                Ok(())
            }
            Deed::Trap(trap) => {
                self.know(&Link::OneWay(trap.from.clone(), trap.to.clone()))?;
                self.network.set(trap);
                Ok(())
            }
            Deed::Arrive => match self.network.let_go(self.now) {
                0 => Err("nothing is held".into()),
                _ => self.run_until(self.now),
            },
            Deed::Crash { node } => self.crash(&node),
            Deed::Restart { node, from } => self.restart(&node, from),
            Deed::Disk { node, works } => {
                self.node(&node)?.disk_works = works;
                Ok(())
            }
            Deed::Standing => self.standing(),
        }
    }

    /// What the script announced must have happened.
    pub fn finish(&self) -> Outcome {
        self.network.unfulfilled().map_or(Ok(()), Err)
    }

    fn enter(&mut self, node: String, like: &Character) -> Outcome {
        if self.nodes.contains_key(&node) {
            return Err(format!("{node} has started before; `restart` begins its next life"));
        }
        let name = match &like.name {
            Some(name) => name.clone(),
            None => node.parse().map_err(|error| format!("{error}"))?,
        };
        if !self.known.contains(&node) {
            self.known.push(node.clone());
        }
        let place = self.known.iter().position(|known| *known == node).unwrap_or_default();
        self.record.short.add(port(place).to_string(), node.clone());
        let origin = (place as u64 + 1) * 10_000_000_000;
        let clock = Clock { origin, since: self.now, rate: like.rate };
        let is_member = self.config.position(&name).is_some() && like.name.is_none();
        let disk = is_member.then(|| self.directory(&node, true));
        let entering = Node { name, core: None, clock, disk, disk_works: true };
        self.nodes.insert(node.clone(), entering);
        self.live(&node)
    }

    /// A directory for a node, and a short name for it.
    fn directory(&mut self, node: &str, fresh: bool) -> Disk {
        let count = self.directories.entry(node.to_owned()).or_default();
        *count += 1;
        let place = self.known.iter().position(|known| known == node).unwrap_or_default();
        let disk = Disk::new(((place as u128 + 1) << 100) + (u128::from(*count) << 96), fresh);
        self.record.short.add(disk.instance.to_string(), format!("{node}/{count}"));
        disk
    }

    /// Begins the next life of a node.
    fn live(&mut self, node: &str) -> Outcome {
        let config = self.config.clone();
        let (name, memory) = {
            let node = self.node(node)?;
            node.core = Some(Nerio::new(config, node.name.clone()));
            (node.name.clone(), node.disk.as_ref().map(Disk::memory))
        };
        let life = self.lives.entry(name.clone()).or_default();
        *life += 1;
        let spelled = name.as_str().bytes().fold(0, |sum, byte| (sum << 8) | u128::from(byte));
        let inc = Inc((u128::from(*life) << 120) | ((spelled & 0xff_ffff) << 96));
        let short = format!("{name}.{life}");
        self.record.short.add(Who { name, inc }.to_string(), short.clone());
        let finds = match memory.as_ref().map(|memory| &memory.kept) {
            None => "".into(),
            Some(Kept::New) => ", new directory".into(),
            Some(Kept::Grants(grants)) => format!(", grants written: {}", grants.len()),
            Some(Kept::Reserve) => ", grants of another boot".into(),
            Some(Kept::Nothing) => ", directory lost".into(),
            Some(Kept::Founding) => ", directory lost or never used".into(),
        };
        self.step(
            node,
            Input::Start(Start { inc, seed: 1, memory }),
            &format!("{short} begins{finds}"),
        )
    }

    fn crash(&mut self, node: &str) -> Outcome {
        self.running(node)?;
        let (now, at) = (self.now, self.node(node)?.clock);
        self.node(node)?.core = None;
        self.record.input(now, node, at.shows(now), "ends");
        Ok(())
    }

    fn restart(&mut self, node: &str, from: Restart) -> Outcome {
        if self.node(node)?.core.is_some() {
            self.crash(node)?;
        }
        let now = self.now;
        match from {
            Restart::SameBoot => {}
            Restart::OtherBoot => {
                let node = self.node(node)?;
                node.clock = Clock { origin: 1_000_000_000, since: now, rate: node.clock.rate };
                if let Some(disk) = &mut node.disk {
                    disk.reboot();
                }
            }
            Restart::LostDisk => {
                if self.node(node)?.disk.is_none() {
                    return Err(format!("{node} has no directory to lose"));
                }
                let disk = self.directory(node, false);
                self.node(node)?.disk = Some(disk);
            }
        }
        self.live(node)
    }

    fn command(&mut self, node: &str, command: Command) -> Outcome {
        self.running(node)?;
        let said = format!("{}: {command}", election());
        self.step(node, Input::Command { election: election(), command }, &said)
    }

    /// Lets everything happen up to the true time `end`, in its order.
    fn run_until(&mut self, end: u64) -> Outcome {
        self.record.time_passes();
        for _ in 0..STEPS_MAX {
            let timer = self.next_timer();
            let (letter, due) = (self.network.next(), timer.as_ref().map(|(at, _)| *at));
            let next = [letter, due].into_iter().flatten().min().filter(|at| *at <= end);
            let Some(next) = next else {
                self.now = end;
                return Ok(());
            };
            self.now = next;
            if letter == Some(next) {
                if let Some(letter) = self.network.take() {
                    self.deliver(letter)?;
                }
            } else if let Some((_, node)) = timer {
                let deadline = self.nodes[&node].core.as_ref().and_then(Protocol::deadline);
                let why = deadline.map_or("", |deadline| deadline.why);
                self.step(&node, Input::Timeout, &format!("timer: {why}"))?;
            }
        }
        Err(format!("more than {STEPS_MAX} steps in one directive"))
    }

    /// The earliest deadline of all, in true time, and whose it is.
    fn next_timer(&self) -> Option<(u64, String)> {
        let due = |(name, node): (&String, &Node)| {
            let at = node.core.as_ref()?.deadline()?.at;
            Some((node.clock.reaches(at).max(self.now), name.clone()))
        };
        self.nodes.iter().filter_map(due).min()
    }

    fn deliver(&mut self, letter: Letter) -> Outcome {
        let Letter { sender: from, to, message, .. } = letter;
        let said = self.record.arrival(&letter.from, &message);
        if self.nodes.get(&to).is_some_and(|node| node.core.is_some()) {
            return self.step(&to, Input::Message { from, message }, &said);
        }
        Ok(())
    }

    /// Hands one input to one node and carries out what it answers, as a driver does.
    fn step(&mut self, name: &str, input: Input<tenure_core::nerio::Words>, said: &str) -> Outcome {
        let now = self.now;
        let node = self.node(name)?;
        let clock = node.clock.shows(now);
        let core = node.core.as_mut().ok_or_else(|| format!("{name} does not run"))?;
        let mut effects = Vec::new();
        core.handle(clock, input, &mut effects);
        let who = core.who().clone();
        self.record.input(now, name, clock, said);
        let mut answers = Vec::new();
        for effect in effects {
            let works = self.node(name)?.disk_works;
            match effect {
                Effect::Send { to, message } => {
                    let to = self.addressee(to)?;
                    let sender = Sender { who: who.clone(), address: self.address(name)? };
                    let fate = self.send(sender, name, &to, &message);
                    self.record.sent(&message, &to, fate);
                    continue;
                }
                Effect::Persist(_) if !works => {
                    self.record.effect(&format!("{effect} (fails)"));
                    answers = vec![Input::Failed(None)];
                    break;
                }
                Effect::Persist(ref record) => {
                    self.record.effect(&effect.to_string());
                    self.write(name, record)?;
                }
                Effect::Flush(ticket, ref record) if works => {
                    self.record.effect(&effect.to_string());
                    self.write(name, record)?;
                    answers.push(Input::Flushed(ticket));
                }
                Effect::Flush(ticket, _) => {
                    self.record.effect(&effect.to_string());
                    answers.push(Input::Failed(Some(ticket)));
                }
                Effect::Raise { .. } | Effect::Lower { .. } => {
                    self.record.effect(&effect.to_string())
                }
                Effect::Emit { ref event, .. } => {
                    self.record.event(now, name, clock, &effect.to_string(), event);
                    self.judge_fence(event)?;
                }
            }
        }
        self.judge_leaders()?;
        for answer in answers {
            let said = answer.to_string();
            self.step(name, answer, &said)?;
        }
        Ok(())
    }

    fn send(
        &mut self,
        sender: Sender,
        from: &str,
        to: &str,
        message: &Message,
    ) -> Option<&'static str> {
        let (from, to, message) = (from.to_owned(), to.to_owned(), message.clone());
        let up = self.nodes.get(&to).is_some_and(|node| node.core.is_some());
        let fate = self.network.send(self.now, Letter { sender, from, to, message });
        fate.or((!up).then_some("down"))
    }

    fn write(&mut self, node: &str, record: &tenure_core::nerio::Record) -> Outcome {
        let disk = self.node(node)?.disk.as_mut();
        disk.ok_or_else(|| format!("{node} has no directory to write to"))?.write(record);
        Ok(())
    }

    /// Section 1, Leader Uniqueness, in true time.
    fn judge_leaders(&self) -> Outcome {
        let leads = |node: &&Node| self.claim(node).is_leading();
        let leaders: Vec<_> = self.nodes.values().filter(leads).map(|node| &node.name).collect();
        match leaders[..] {
            [] | [_] => Ok(()),
            _ => Err(format!("Leader Uniqueness: {leaders:?} lead at {} ms", self.now / 1_000_000)),
        }
    }

    /// Each leadership has a higher fence than those before it.
    fn judge_fence(&mut self, event: &Event) -> Outcome {
        let Event::Elected { fence: Some(fence), .. } = event else { return Ok(()) };
        if *fence <= self.last_fence {
            return Err(format!("fence {fence} is not above {}", self.last_fence));
        }
        self.last_fence = *fence;
        Ok(())
    }

    fn claim(&self, node: &Node) -> Standing {
        let now = node.clock.shows(self.now);
        node.core.as_ref().map_or(Standing::NotLeading, |core| core.standing(&election(), now))
    }

    /// What everybody would say if they were asked now. Copies are asked, so that it changes
    /// nothing.
    fn standing(&mut self) -> Outcome {
        let mut lines = Vec::new();
        for (name, node) in &self.nodes {
            let now = node.clock.shows(self.now);
            match (&node.core, self.claim(node)) {
                (None, _) => lines.push((name.clone(), now, "does not run".to_owned())),
                (_, Standing::Leading { until, fence }) => {
                    let fence = fence.map_or_else(String::new, |fence| format!(" fence {fence}"));
                    lines.push((name.clone(), now, format!("leads until {until}{fence}")));
                }
                (_, Standing::NotLeading) if node.disk.is_none() => {
                    lines.push((name.clone(), now, "does not lead".to_owned()));
                }
                (_, Standing::NotLeading) => {}
            }
            let Some(mut core) = node.core.clone().filter(|_| node.disk.is_some()) else {
                continue;
            };
            let query = Message::Query(Query { election: election(), start: now });
            let from = Sender { who: core.who().clone(), address: self.address(name)? };
            let mut effects = Vec::new();
            core.handle(now, Input::Message { from, message: query }, &mut effects);
            for effect in effects {
                if let Effect::Send { message: Message::State(state), .. } = effect {
                    lines.push((name.clone(), now, Message::State(state).to_string()));
                }
            }
        }
        for (name, now, said) in lines {
            self.record.input(self.now, &name, now, &said);
        }
        Ok(())
    }

    fn node(&mut self, name: &str) -> Result<&mut Node, String> {
        self.nodes.get_mut(name).ok_or_else(|| format!("nobody called {name} has started"))
    }

    fn running(&mut self, name: &str) -> Outcome {
        let running = self.node(name)?.core.is_some();
        if running { Ok(()) } else { Err(format!("{name} does not run")) }
    }

    fn know(&self, link: &Link) -> Outcome {
        link.ends().into_iter().try_for_each(|end| self.address(end).map(drop))
    }

    fn address(&self, name: &str) -> Result<SocketAddr, String> {
        let place = self.known.iter().position(|known| known == name);
        place.map(port).ok_or_else(|| format!("nobody is called {name}"))
    }

    fn addressee(&self, address: SocketAddr) -> Result<String, String> {
        let known = self.known.iter().enumerate().find(|(place, _)| port(*place) == address);
        known.map(|(_, name)| name.clone()).ok_or_else(|| format!("nobody is at {address}"))
    }
}

/// The election of all stories.
fn election() -> ElectionName {
    "db".parse().unwrap()
}

/// Where the node with this place in the list is reached.
fn port(place: usize) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 7_101 + u16::try_from(place).unwrap()))
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap()
}
