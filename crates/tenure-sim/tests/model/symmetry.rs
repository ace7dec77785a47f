//! Grantors may change places: one state stands for all that differ in that alone.
//!
//! A core is opaque, so nothing is renamed inside it. Its *twin* under a permutation of the
//! grantors is found by doing: the twin of a first state is the first state of the node at the
//! other place, and when a node reacts to something, its twin reacts to the twin of that, and
//! what comes of it are the twins of what came of the first. Each twin is thus the real core in
//! a state it really reaches. [`Known::pair`] makes sure that a state has one twin however it
//! was reached; then permuting is an automorphism of the model, its properties do not tell
//! grantors apart, and one of each orbit is enough. All grantors' clocks run at one rate.
//!
//! [`Known::pair`]: crate::known::Known::pair

use std::rc::Rc;

use crate::known::Known;
use crate::node::{GRANTORS, Letter, NAMES, Node, Stimulus};
use crate::reaction::{Noticed, Reaction, Reactions};

/// Where each grantor goes; the first changes nothing.
pub const PERMUTATIONS: [[usize; 3]; 6] =
    [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// Where a node goes.
pub fn place(permutation: usize, node: usize) -> usize {
    if GRANTORS.contains(&node) { PERMUTATIONS[permutation][node] } else { node }
}

/// What turns what `one` makes of a state into what `other` makes of it.
fn between(one: usize, other: usize) -> usize {
    let turns = |then: &[usize; 3]| {
        GRANTORS.into_iter().all(|n| then[PERMUTATIONS[one][n]] == PERMUTATIONS[other][n])
    };
    PERMUTATIONS.iter().position(turns).expect("permutations are a group")
}

/// The first states of all nodes are twins.
pub fn pair_first(nodes: &[Known<Node>]) {
    for permutation in 1..PERMUTATIONS.len() {
        for (n, node) in nodes.iter().enumerate() {
            node.pair(permutation, &nodes[place(permutation, n)]);
        }
    }
}

/// What came of twins are twins. A core sends in the order of its members, so what goes to one
/// recipient is matched with what its twin sends to the other place, in their order.
pub fn pair_reactions(permutation: usize, one: &Rc<Reaction>, other: &Rc<Reaction>) {
    let (Ok((node, noticed)), Ok((twin, twins))) = (&**one, &**other) else { return };
    node.pair(permutation, twin);
    assert_eq!(noticed.len(), twins.len(), "twins do the same");
    let sent_to = |noticed: &[Noticed], to: usize| -> Vec<Known<Letter>> {
        let letter = |notice: &Noticed| match notice {
            Noticed::Sent(letter) if letter.to == to => Some(letter.clone()),
            _ => None,
        };
        noticed.iter().filter_map(letter).collect()
    };
    for to in 0..NAMES.len() {
        let twins = sent_to(twins, place(permutation, to));
        for (letter, twin) in sent_to(noticed, to).iter().zip(&twins) {
            letter.pair(permutation, twin);
        }
    }
    let elected = |noticed: &[Noticed]| {
        let timestamp = |notice: &Noticed| match notice {
            Noticed::Elected(timestamp) => Some(timestamp.clone()),
            _ => None,
        };
        noticed.iter().find_map(timestamp)
    };
    if let (Some(timestamp), Some(twin)) = (elected(noticed), elected(twins)) {
        timestamp.pair(permutation, &twin);
    }
}

impl Reactions {
    /// What a node makes of a stimulus, with the twins of everything that comes of it.
    pub fn of(&mut self, node: &Known<Node>, tick: u8, stimulus: Stimulus) -> Rc<Reaction> {
        let key = (node.print(), tick, stimulus);
        if let Some(reaction) = self.paired.get(&key) {
            return Rc::clone(reaction);
        }
        let stimulus = &key.2;
        let reaction = self.call(node, tick, stimulus);
        if reaction.is_ok() && self.permutations > 1 {
            let outcomes = std::array::from_fn::<_, { PERMUTATIONS.len() }, _>(|permutation| {
                let twin = self.nodes.twin(node, permutation);
                let stimulus = match stimulus {
                    Stimulus::Letter(letter) => {
                        Stimulus::Letter(self.letters.twin(letter, permutation))
                    }
                    other => other.clone(),
                };
                self.call(&twin, tick, &stimulus)
            });
            for (one, from) in outcomes.iter().enumerate() {
                for (other, to) in outcomes.iter().enumerate() {
                    pair_reactions(between(one, other), from, to);
                }
            }
        }
        self.paired.insert(key, Rc::clone(&reaction));
        reaction
    }
}
