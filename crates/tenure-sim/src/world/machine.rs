//! Starts, ends and stops of processes, and cuts of the network.

use super::conditions::{DiskFate, Incident};
use super::fault::Kind;
use super::{Happening, Occurrence, System, World};
use crate::rng::mix;

use tenure_core::Input;

impl<G: System> World<G> {
    /// Starts a process, if none runs there and its state directory allows it.
    pub(super) fn start(&mut self, node: usize) -> Result<(), G::Violation> {
        if self.nodes[node].core.is_some() || self.nodes[node].gone {
            return Ok(());
        }
        let seed = self.conditions.seed;
        let this = &mut self.nodes[node];
        this.lives += 1;
        let half = |salt: u64| u128::from(mix(seed ^ mix(salt ^ u64::from(this.lives) << 8)));
        let life = half(node as u64) << 64 | half(node as u64 | 1 << 63);
        let input = match self.system.start(node, life, &this.disk) {
            Ok(start) => Input::Start(start),
            Err(why) => {
                self.note(node, || format!("does not start: {why}"));
                let again = self.now + self.conditions.unit / 2;
                self.queue.push(again, Happening::Start { node });
                let mut disks: Vec<_> = self.nodes.iter_mut().map(|n| &mut n.disk).collect();
                self.system.damage(&mut disks, node, DiskFate::Kept, false);
                return Ok(());
            }
        };
        this.life = life;
        this.wake = None;
        this.woken_for = None;
        this.stopped_until = self.now;
        this.core = Some(self.system.core(node, &this.clock));
        if let Some(recorder) = &mut self.recorder {
            recorder.back(node, self.now);
        }
        self.show(node, Occurrence::Started { node, life })?;
        self.input(node, input)
    }

    fn end(&mut self, node: usize, down: u64) -> Result<(), G::Violation> {
        let this = &mut self.nodes[node];
        this.core = None;
        this.life = 0;
        this.held = None;
        this.owed.clear();
        this.wrote = false;
        this.flushing.clear();
        this.flushed_at = 0;
        self.queue.push(self.now + down, Happening::Start { node });
        if let Some(recorder) = &mut self.recorder {
            recorder.out(node, self.now);
        }
        self.show(node, Occurrence::Crashed { node })?;
        Ok(())
    }

    /// Ends a process in the middle of its work, while its machine runs on.
    pub(super) fn end_by_chance(&mut self, node: usize, count: u32) -> Result<(), G::Violation> {
        let draw = mix(self.fate.draw(Kind::Crash, node, count));
        self.end(node, 1 + draw % (self.conditions.unit * 3 / 2))
    }

    /// Stops a process until `until`.
    pub fn stop(&mut self, node: usize, until: u64) {
        let this = &mut self.nodes[node];
        this.stopped_until = this.stopped_until.max(until);
        if let Some(recorder) = &mut self.recorder {
            recorder.stopped(node, self.now, until);
        }
    }

    pub(super) fn incident(&mut self, number: usize) -> Result<(), G::Violation> {
        let (_, incident) = self.conditions.incidents[number].clone();
        if !self.fate.happens(Kind::Incident, 0, number as u32, self.now) {
            return Ok(());
        }
        self.show(0, Occurrence::Incident { number })?;
        match incident {
            Incident::Crash { node, down, reboot, disk } => self.crash(node, down, reboot, disk),
            Incident::Gone { node } => {
                self.note(node, || "is gone for ever".to_owned());
                self.nodes[node].gone = true;
                match self.nodes[node].core {
                    Some(_) => self.end(node, 0),
                    None => Ok(()),
                }
            }
            Incident::Cut { from, to, until } => {
                self.note(from, || format!("is cut off from node {to}"));
                self.cut(from, to, until);
                Ok(())
            }
            Incident::Apart { node, from, until } => {
                self.note(node, || format!("does not reach {from:b}"));
                for other in (0..self.nodes.len()).filter(|other| from >> other & 1 == 1) {
                    self.cut(node, other, until);
                    self.cut(other, node, until);
                }
                Ok(())
            }
            Incident::Split { side, until } => {
                self.note(0, || format!("the network splits: {side:b}"));
                let sides = |node: usize| side >> node & 1;
                for from in 0..self.nodes.len() {
                    for to in 0..self.nodes.len() {
                        if sides(from) != sides(to) {
                            self.cut(from, to, until);
                        }
                    }
                }
                Ok(())
            }
            Incident::Step { node, ahead } => {
                self.note(node, || format!("its wall clock is set {} s ahead", ahead as f64 / 1e9));
                self.nodes[node].wall = ahead;
                if self.conditions.reads_wall { self.set_clock(node) } else { Ok(()) }
            }
            Incident::Stop { node, until } => {
                self.note(node, || "is stopped".to_owned());
                self.stop(node, until);
                Ok(())
            }
        }
    }

    fn cut(&mut self, from: usize, to: usize, until: u64) {
        let until = until.min(self.conditions.storm_ends);
        let cut = &mut self.nodes[from].cut[to];
        *cut = until.max(*cut);
    }

    /// Ends a process. With `reboot`, restarts its machine at once, with this reading of the clock.
    /// Applies `fate` to the state directory.
    pub fn crash(
        &mut self,
        node: usize,
        down: u64,
        reboot: Option<u64>,
        fate: DiskFate,
    ) -> Result<(), G::Violation> {
        if self.nodes[node].core.is_none() {
            return Ok(());
        }
        let how = if reboot.is_some() { "machine" } else { "process" };
        let mut disks: Vec<_> = self.nodes.iter_mut().map(|n| &mut n.disk).collect();
        let damaged = self.system.damage(&mut disks, node, fate, reboot.is_some());
        self.note(node, || format!("{how} ends, disk {fate:?}, allowed {damaged}"));
        if let Some(origin) = reboot {
            self.nodes[node].clock = self.nodes[node].clock.rebooted(self.now, origin);
        }
        self.end(node, down)
    }
}
