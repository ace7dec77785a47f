//! What nodes make of inputs: computed by the real core once, and looked up ever after.

use std::collections::HashMap;
use std::rc::Rc;

use tenure_core::nerio::{Checked, QuorumTimestamp, Who};
use tenure_core::{Fence, Time};

use crate::known::{Known, Pool};
use crate::node::{Letter, Node, Outward, Stimulus};

/// The node afterwards and what others notice of it, or the property that it violated.
pub type Reaction = Result<(Known<Node>, Vec<Noticed>), String>;

/// What others notice of a node.
pub enum Noticed {
    Raised { first: Time, fence: Fence, until: u64 },
    Lowered,
    Elected(Known<QuorumTimestamp>),
    Sent(Known<Letter>),
}

type Key = (u128, u8, Stimulus);

/// All reactions so far.
pub struct Reactions {
    pub config: Checked,
    /// True time from tick to tick, in nanoseconds.
    tick: u64,
    /// How many of the permutations are symmetries.
    pub permutations: usize,
    pub nodes: Pool<Node>,
    pub letters: Pool<Letter>,
    timestamps: Pool<QuorumTimestamp>,
    called: HashMap<Key, Rc<Reaction>>,
    /// Those of them whose outcome knows its twins.
    pub paired: HashMap<Key, Rc<Reaction>>,
    grants: HashMap<(u128, u8), (bool, Option<Who>)>,
}

impl Reactions {
    pub fn new(config: Checked, tick: u64, permutations: usize) -> Self {
        Self {
            config,
            tick,
            permutations,
            nodes: Pool::new(),
            letters: Pool::new(),
            timestamps: Pool::new(),
            called: HashMap::new(),
            paired: HashMap::new(),
            grants: HashMap::new(),
        }
    }

    /// The true time of a tick.
    pub fn time(&self, tick: u8) -> u64 {
        self.tick * u64::from(tick)
    }

    /// How often a core was called.
    pub fn calls(&self) -> usize {
        self.called.len()
    }

    /// Calls the core, unless it was called with the same before.
    pub fn call(&mut self, node: &Known<Node>, tick: u8, stimulus: &Stimulus) -> Rc<Reaction> {
        let key = (node.print(), tick, stimulus.clone());
        if let Some(reaction) = self.called.get(&key) {
            return Rc::clone(reaction);
        }
        let hit = node.hit(&self.config, self.time(tick), stimulus);
        let reaction = Rc::new(hit.map(|(node, outward)| {
            let noticed = outward.into_iter().map(|outward| match outward {
                Outward::Raised { first, fence, until } => Noticed::Raised { first, fence, until },
                Outward::Lowered => Noticed::Lowered,
                Outward::Elected(timestamp) => Noticed::Elected(self.timestamps.keep(timestamp)),
                Outward::Sent(letter) => Noticed::Sent(self.letters.keep(letter)),
            });
            (self.nodes.keep(node), noticed.collect())
        }));
        self.called.insert(key, Rc::clone(&reaction));
        reaction
    }

    /// Whether a grantor serves, and who holds the election there.
    pub fn grant(&mut self, node: &Known<Node>, tick: u8) -> &(bool, Option<Who>) {
        let at = self.time(tick);
        self.grants.entry((node.print(), tick)).or_insert_with(|| node.grant(at))
    }
}
