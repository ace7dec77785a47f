//! Nodes may change places: one state stands for all states that differ only in the places of
//! nodes.
//!
//! A core is opaque, so no name inside it changes. Its *twin* under a permutation of the nodes is
//! found by running it: the twin of a first state is the first state of the node at the other
//! place, and when a node reacts to a stimulus, its twin reacts to the stimulus' twin, and the
//! outcomes are twins. Each twin is thus the real core in a state that it really reaches.
//! [`SharedValue::pair`] makes sure that a state has one twin on every way. So each permutation is
//! an automorphism of the model, and the properties treat these nodes alike: a single state of each
//! orbit is enough. The clocks of these nodes run at one rate.

use std::ops::Range;
use std::rc::Rc;

use tenure_core::nerio::QuorumTimestamp;

use super::grantors::NAMES;
use super::known::SharedValue;
use super::node::{Letter, Node, Stimulus};
use super::reaction::{Consequence, Reaction, Reactions};

/// The largest number of permutations: of three nodes.
pub(crate) const TWINS: usize = 6;

/// The permutations of nodes.
pub(crate) struct Symmetry {
    /// New place of each node; the first permutation changes nothing.
    permutations: Vec<Vec<usize>>,
}

impl Symmetry {
    /// Permutations of the nodes that move only nodes in `alike`.
    pub(crate) fn new(alike: &Range<usize>) -> Self {
        let mut permutations = vec![Vec::from_iter(0..NAMES.len())];
        for place in alike.clone() {
            let swap = |given: &Vec<usize>| {
                let given = given.clone();
                let others = place + 1..alike.end;
                others.map(move |other| {
                    let mut swapped = given.clone();
                    swapped.swap(place, other);
                    swapped
                })
            };
            let swapped: Vec<_> = permutations.iter().flat_map(swap).collect();
            permutations.extend(swapped);
        }
        assert!(permutations.len() <= TWINS, "at most three nodes may change places");
        Self { permutations }
    }

    pub(crate) fn len(&self) -> usize {
        self.permutations.len()
    }

    /// The new place of a node.
    fn place(&self, permutation: usize, node: usize) -> usize {
        self.permutations[permutation][node]
    }

    /// The permutation that turns the result of `one` into the result of `other`.
    fn between(&self, one: usize, other: usize) -> usize {
        let [one, other] = [one, other].map(|n| &self.permutations[n]);
        let turns = |then: &Vec<usize>| (0..one.len()).all(|n| then[one[n]] == other[n]);
        self.permutations.iter().position(turns).expect("permutations are a group")
    }

    /// Pairs the first states of all nodes.
    pub(crate) fn pair_first(&self, nodes: &[SharedValue<Node>]) {
        for permutation in 1..self.len() {
            for (n, node) in nodes.iter().enumerate() {
                node.pair(permutation, &nodes[self.place(permutation, n)]);
            }
        }
    }

    /// Pairs the outcomes of twins. A core sends in the order of its members, so messages to one
    /// recipient match the twin's messages to the other place, in their order.
    fn pair(&self, permutation: usize, one: &Reaction, other: &Reaction) {
        let (Ok((node, noticed)), Ok((twin, twins))) = (one, other) else { return };
        node.pair(permutation, twin);
        assert_eq!(noticed.len(), twins.len(), "twins do the same");
        for to in 0..NAMES.len() {
            let twins = sent_to(twins, self.place(permutation, to));
            for (letter, twin) in sent_to(noticed, to).iter().zip(&twins) {
                letter.pair(permutation, twin);
            }
        }
        if let (Some(stamp), Some(twin)) = (stamp(noticed), stamp(twins)) {
            stamp.pair(permutation, twin);
        }
    }
}

fn sent_to(noticed: &[Consequence], to: usize) -> Vec<&SharedValue<Letter>> {
    let mut letters = Vec::new();
    for notice in noticed {
        if let Consequence::Sent(letter) = notice
            && letter.to == to
        {
            letters.push(letter);
        }
    }
    letters
}

fn stamp(noticed: &[Consequence]) -> Option<&SharedValue<QuorumTimestamp>> {
    noticed.iter().find_map(|notice| match notice {
        Consequence::Stamped(stamp) => Some(stamp),
        _ => None,
    })
}

impl Reactions {
    /// The reaction of a node to a stimulus, with all twins.
    pub(crate) fn of(
        &mut self,
        symmetry: &Symmetry,
        node: &SharedValue<Node>,
        tick: u8,
        stimulus: Stimulus,
    ) -> Rc<Reaction> {
        let key = (node.print(), tick, stimulus);
        if let Some(reaction) = self.paired.get(&key) {
            return Rc::clone(reaction);
        }
        let stimulus = &key.2;
        let reaction = self.call(node, tick, stimulus);
        if reaction.is_ok() && symmetry.len() > 1 {
            let outcome = |permutation| {
                let twin = self.nodes.twin(node, permutation);
                let stimulus = match stimulus {
                    Stimulus::Letter(letter) => {
                        Stimulus::Letter(self.letters.twin(letter, permutation))
                    }
                    other => other.clone(),
                };
                self.call(&twin, tick, &stimulus)
            };
            let outcomes: Vec<_> = (0..symmetry.len()).map(outcome).collect();
            for (one, from) in outcomes.iter().enumerate() {
                for (other, to) in outcomes.iter().enumerate() {
                    symmetry.pair(symmetry.between(one, other), from, to);
                }
            }
        }
        self.paired.insert(key, Rc::clone(&reaction));
        reaction
    }
}
