//! Reactions of nodes to stimuli: the real core computes each once, and later calls look it up.

use std::collections::HashMap;
use std::rc::Rc;

use tenure_core::nerio::QuorumTimestamp;
use tenure_core::{Fence, Time};

use super::grantors::{self, Look};
use super::known::{Pool, SharedValue};
use super::node::{Letter, Node, Outward, Stimulus};
use super::setting::Setting;

/// The node after a stimulus with its effects on others, or the violated property.
pub(crate) type Reaction = Result<(SharedValue<Node>, Vec<Consequence>), String>;

/// Effect of a node on others, as known values.
pub(crate) enum Consequence {
    Raised { first: Time, fence: Option<Fence>, until: u64 },
    Lowered,
    Stamped(SharedValue<QuorumTimestamp>),
    Sent(SharedValue<Letter>),
}

type Key = (u128, u8, Stimulus);

/// All reactions so far.
pub(crate) struct Reactions {
    pub(crate) setting: Rc<Setting>,
    /// True time from tick to tick, in nanoseconds.
    tick: u64,
    pub(crate) nodes: Pool<Node>,
    pub(crate) letters: Pool<Letter>,
    stamps: Pool<QuorumTimestamp>,
    called: HashMap<Key, Rc<Reaction>>,
    /// Reactions whose outcome knows its twins.
    pub(crate) paired: HashMap<Key, Rc<Reaction>>,
    looks: HashMap<(u128, u8), Look>,
}

impl Reactions {
    pub(crate) fn new(setting: &Setting) -> Self {
        Self {
            setting: Rc::new(setting.clone()),
            tick: u64::try_from(setting.tick.as_nanos()).unwrap(),
            nodes: Pool::new(),
            letters: Pool::new(),
            stamps: Pool::new(),
            called: HashMap::new(),
            paired: HashMap::new(),
            looks: HashMap::new(),
        }
    }

    /// The true time of a tick.
    pub(crate) fn time(&self, tick: u8) -> u64 {
        self.tick * u64::from(tick)
    }

    pub(crate) fn calls(&self) -> usize {
        self.called.len()
    }

    /// Calls the core, unless the result is known.
    pub(crate) fn call(
        &mut self,
        node: &SharedValue<Node>,
        tick: u8,
        stimulus: &Stimulus,
    ) -> Rc<Reaction> {
        let key = (node.print(), tick, stimulus.clone());
        if let Some(reaction) = self.called.get(&key) {
            return Rc::clone(reaction);
        }
        let hit = node.hit(&self.setting, self.time(tick), stimulus);
        let reaction = Rc::new(hit.map(|(node, outward)| {
            let noticed = outward.into_iter().map(|outward| match outward {
                Outward::Raised { first, fence, until } => {
                    Consequence::Raised { first, fence, until }
                }
                Outward::Lowered => Consequence::Lowered,
                Outward::Stamped(stamp) => Consequence::Stamped(self.stamps.keep(stamp)),
                Outward::Sent(letter) => Consequence::Sent(self.letters.keep(*letter)),
            });
            (self.nodes.keep(node), noticed.collect())
        }));
        self.called.insert(key, Rc::clone(&reaction));
        reaction
    }

    /// Observation of a node from outside.
    pub(crate) fn look(&mut self, node: &SharedValue<Node>, tick: u8) -> Look {
        let at = self.time(tick);
        let look = self.looks.entry((node.print(), tick));
        look.or_insert_with(|| grantors::look(node, at)).clone()
    }
}
