//! Where a conversation takes place: the real cores, each with its clock and its disk, on a
//! network without chance. True time is the judge: two leaders end the story.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::nerio::{self, Effect, Event, Extra, Message, Nerio, Remembered, Sender, To};
use tenure_core::{Command, ElectionName, Fence, Input, NodeName, Protocol, Standing};
use tenure_testkit::{Clock, handle};

use super::cast::{self, Beginning, Cluster};
use super::directive::{Character, Deed, Restart, Words, explain};
use super::network::{Letter, Link, Network};
use super::record::Record;
use crate::story::members;

/// A story that goes on for longer within one directive never ends.
const STEPS_MAX: usize = 10_000;

/// A node of the story: what outlives its process.
struct Node {
    name: NodeName,
    /// `None` while no process runs.
    core: Option<Nerio>,
    clock: Clock,
    disk: Option<Remembered>,
    disk_works: bool,
}

pub(super) struct Stage {
    cluster: Cluster,
    network: Network,
    /// Everybody who was ever mentioned; the place gives the address and the clock's origin.
    known: Vec<String>,
    nodes: BTreeMap<String, Node>,
    /// How many lives each name has had.
    lives: BTreeMap<NodeName, u32>,
    /// How many directories each node has had.
    directories: BTreeMap<String, u32>,
    /// True time in nanoseconds.
    now: u64,
    last_fence: Fence,
    pub(super) record: Record,
}

/// Nothing, or the complaint about a directive.
type Outcome = Result<(), String>;

impl Stage {
    pub(super) fn new(mut words: Words) -> Result<Self, String> {
        let cluster = Cluster::new(&mut words).and_then(|cluster| {
            words.finish()?;
            Ok(cluster)
        });
        let cluster = cluster.map_err(|what| explain("cluster", &what))?;
        let known: Vec<_> = cluster.members().iter().map(ToString::to_string).collect();
        let mut record = Record::default();
        for (n, node) in known.iter().enumerate() {
            record.short.add(cast::address(n).to_string(), node.clone());
        }
        Ok(Self {
            network: Network::new(nanos(cluster.delay)),
            cluster,
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
    pub(super) fn perform(&mut self, deed: Deed) -> Outcome {
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
                let To::Address(leader) = self.address(&leader)? else {
                    unreachable!("places are addresses")
                };
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

    /// Checks that all announced fates have happened.
    pub(super) fn finish(&self) -> Outcome {
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
        self.record.short.add(cast::address(place).to_string(), node.clone());
        let origin = (place as u64 + 1) * 10_000_000_000;
        let clock = Clock { origin, since: self.now, rate: like.rate };
        let is_member = self.cluster.members().contains(&name) && like.name.is_none();
        let disk = is_member.then(|| self.directory(&node, true));
        let entering = Node { name, core: None, clock, disk, disk_works: true };
        self.nodes.insert(node.clone(), entering);
        self.live(&node)
    }

    /// A directory for a node, and a short name for it.
    fn directory(&mut self, node: &str, fresh: bool) -> Remembered {
        let count = self.directories.entry(node.to_owned()).or_default();
        *count += 1;
        let place = self.known.iter().position(|known| known == node).unwrap_or_default();
        let (disk, identity) = cast::disk(place, *count, fresh);
        self.record.short.add(identity, format!("{node}/{count}"));
        disk
    }

    /// Begins the next life of a node.
    fn live(&mut self, node: &str) -> Outcome {
        let name = self.node(node)?.name.clone();
        let life = self.lives.entry(name.clone()).or_default();
        *life += 1;
        let life = *life;
        let core = self.cluster.core(&name);
        self.node(node)?.core = Some(core);
        let disk = self.nodes[node].disk.as_ref();
        let Beginning { start, identity, finds } = cast::begin(&name, life, disk);
        let short = format!("{name}.{life}");
        self.record.short.add(identity, short.clone());
        self.step(node, Input::Start(start), &format!("{short} begins{finds}"))
    }

    fn crash(&mut self, node: &str) -> Outcome {
        self.running(node)?;
        let now = self.now;
        let at = self.node(node)?.clock;
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
                    disk.forget_grants();
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

    fn command(&mut self, node: &str, command: nerio::Command) -> Outcome {
        self.running(node)?;
        let said = format!("{}: {command}", election());
        self.step(node, Input::Command { election: election(), command }, &said)
    }

    /// Lets everything happen up to the true time `end`, in its order.
    fn run_until(&mut self, end: u64) -> Outcome {
        self.record.time_passes();
        for _ in 0..STEPS_MAX {
            let timer = self.next_timer();
            let letter = self.network.next();
            let due = timer.as_ref().map(|(at, _)| *at);
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
        let said = Record::arrival(&letter.from, cast::kind(&message), &message.to_string());
        if self.nodes.get(&to).is_some_and(|node| node.core.is_some()) {
            return self.step(&to, Input::Message { from, message }, &said);
        }
        Ok(())
    }

    /// Hands one input to one node and carries out what it answers, as a driver does.
    fn step(&mut self, name: &str, input: Input<nerio::Words>, said: &str) -> Outcome {
        let now = self.now;
        let node = self.node(name)?;
        let clock = node.clock.shows(now);
        let core = node.core.as_mut().ok_or_else(|| format!("{name} does not run"))?;
        let mut effects = Vec::new();
        handle(core, clock, input, &mut effects);
        self.record.input(now, name, clock, said);
        let mut answers = Vec::new();
        for effect in effects {
            let works = self.node(name)?.disk_works;
            match effect {
                Effect::Send { to, message } => {
                    let to = self.addressee(name, to)?;
                    let said = message.to_string();
                    let fate = self.send(name, &to, message)?;
                    self.record.sent(said, &to, fate);
                    continue;
                }
                Effect::Persist(_) if !works => {
                    self.record.effect(&format!("{effect} (fails)"));
                    answers = vec![Input::Failed(None)];
                    break;
                }
                Effect::Persist(ref record) => {
                    self.record.effect(&effect.to_string());
                    self.write(name, record.clone())?;
                }
                Effect::Flush(ticket, ref record) if works => {
                    self.record.effect(&effect.to_string());
                    self.write(name, record.clone())?;
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
                    let worth = cast::is_worth_a_line(event);
                    self.record.event(now, name, clock, &effect.to_string(), worth);
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
        from: &str,
        to: &str,
        message: Message,
    ) -> Result<Option<&'static str>, String> {
        let sender = self.sender(from)?;
        let up = self.nodes.get(to).is_some_and(|node| node.core.is_some());
        let from = from.to_owned();
        let to = to.to_owned();
        let fate = self.network.send(self.now, Letter { sender, from, to, message });
        Ok(fate.or((!up).then_some("down")))
    }

    fn sender(&self, name: &str) -> Result<Sender, String> {
        let core = self.core(name)?;
        Ok(members::sender(core.config(), core.who().clone(), self.address(name)?))
    }

    fn write(&mut self, node: &str, record: nerio::Record) -> Outcome {
        let disk = self.node(node)?.disk.as_mut();
        let disk = disk.ok_or_else(|| format!("{node} has no directory to write to"))?;
        disk.write(record);
        Ok(())
    }

    /// At most one, in true time.
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

    /// Present answers of all members, given by copies, so that the question changes nothing.
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
            let Some(core) = node.core.clone().filter(|_| node.disk.is_some()) else {
                continue;
            };
            let said = cast::answers(core, now, self.sender(name)?);
            lines.extend(said.into_iter().map(|said| (name.clone(), now, said)));
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

    fn core(&self, name: &str) -> Result<&Nerio, String> {
        let core = self.nodes.get(name).and_then(|node| node.core.as_ref());
        core.ok_or_else(|| format!("{name} does not run"))
    }

    fn address(&self, name: &str) -> Result<To, String> {
        let place = self.known.iter().position(|known| known == name);
        place.map(cast::address).ok_or_else(|| format!("nobody is called {name}"))
    }

    fn addressee(&self, from: &str, to: To) -> Result<String, String> {
        let address = members::place(self.core(from)?, to);
        let is_there = |(place, _): &(usize, &String)| cast::address(*place) == address;
        let known = self.known.iter().enumerate().find(is_there);
        known.map(|(_, name)| name.clone()).ok_or_else(|| format!("nobody is at {address}"))
    }
}

/// The election of all stories.
fn election() -> ElectionName {
    "db".parse().unwrap()
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap()
}
