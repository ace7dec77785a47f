//! What a protocol brings to be explored.

use std::fmt::Debug;
use std::hash::Hash;

use tenure_core::{ElectionName, Protocol, Time};

use super::{Claim, Clock, Judge, Life, Node, Setting};
use crate::players::{AddressOf, CommandOf, MessageOf, Players, SenderOf, StartOf};

/// The clocks that a core is given.
pub type NowOf<C> = <<C as Players>::Core as Protocol>::Now;

/// Asks a node, without changing it, what [`Cluster::look`] says.
pub type Looks<'a, C> = &'a mut dyn FnMut(usize) -> <C as Cluster>::Look;

/// A cluster so small that each of its states can be visited. The type itself is empty; what
/// differs from one exploration to the next is in its [`Settings`](Self::Settings).
pub trait Cluster: Players<Disk: Clone + Eq + Hash> + Copy + Eq + Hash + Debug {
    /// What the settings of this protocol are.
    type Settings: Clone;
    /// How often each trouble of this protocol may still come, beside those of a [`Budget`].
    ///
    /// [`Budget`]: super::Budget
    type Troubles: Copy + Eq + Hash + Debug;
    /// What a node loses when it starts again.
    type Lost: Copy + Eq + Hash + Debug;
    /// What is noted of a node beside its core.
    type Note: Clone + Eq + Hash + Default;
    /// What orders leaders beside the fence.
    type Stamp: Clone + Eq + Hash;
    /// What a look at a node shows.
    type Look: Clone;

    /// The nodes.
    const NAMES: &'static [&'static str];

    /// The election of the cluster.
    fn election() -> ElectionName {
        "x".parse().unwrap()
    }

    /// A node that has not started.
    fn core(setting: &Setting<Self>, node: usize) -> Self::Core;

    /// What the disk of a node holds at first, if it has one.
    fn disk(setting: &Setting<Self>, node: usize) -> Option<Self::Disk>;

    /// What a life of a node begins with.
    fn start(life: Life, disk: Option<&Self::Disk>) -> StartOf<Self>;

    /// Where a node is reached.
    fn address(node: usize) -> AddressOf<Self>;

    /// The nodes that get what `from` sends there.
    fn recipients(from: usize, to: &AddressOf<Self>) -> Vec<usize>;

    /// What is read, at the true time `at` in nanoseconds, by a node whose clock shows `local`.
    fn now(setting: &Setting<Self>, node: usize, local: Time, at: u64) -> NowOf<Self>;

    /// The command with which a node campaigns.
    fn campaign(node: usize) -> CommandOf<Self>;

    /// What a node can lose when it starts again.
    fn restarts(setting: &Setting<Self>, node: usize) -> Vec<Self::Lost>;

    /// How often a node may still start again with this loss.
    fn restarts_left(left: &mut Self::Troubles, node: usize, lost: Self::Lost) -> &mut u8;

    /// What is left on the disk of the life that begins, and of the clock at the true time `at`.
    fn lose(
        lost: Self::Lost,
        life: Life,
        at: u64,
        clock: &mut Clock,
        disk: &mut Option<Self::Disk>,
    );

    /// How often messages of this kind may still be repeated.
    fn repeats<'a>(left: &'a mut Self::Troubles, message: &MessageOf<Self>) -> Option<&'a mut u8>;

    /// Whether this is always lost, to keep the states few.
    fn leaves_out(_: &Node<Self>, _: &MessageOf<Self>) -> bool {
        false
    }

    /// What is noted when a node sends something; an error is a property violated.
    fn sends(_node: &mut Node<Self>, _message: &MessageOf<Self>) -> Result<(), String> {
        Ok(())
    }

    /// What must hold of the claims when a message leaves a life.
    fn leaves(_claims: &[Claim<Self>], _from: Life, _to: &MessageOf<Self>) -> Result<(), String> {
        Ok(())
    }

    /// The stamp of a leadership that this event announces.
    fn stamp(_event: &Self::Own) -> Option<Self::Stamp> {
        None
    }

    /// That one leadership comes after another; `left` is what may still happen.
    fn order(
        _setting: &Setting<Self>,
        _left: &Self::Troubles,
        _earlier: &Self::Stamp,
        _later: &Self::Stamp,
    ) -> Result<(), String> {
        Ok(())
    }

    /// Whether two may lead at once. `disturbed` says that something was late or a node stopped.
    fn may_overlap(_one: &Claim<Self>, _other: &Claim<Self>, _disturbed: bool) -> bool {
        false
    }

    /// What must hold of the claims at the end of a tick. `disturbed` says that something was
    /// late, now or before, or a node stopped; else all that was sent has arrived.
    fn passes(_claims: &[Claim<Self>], _disturbed: bool) -> Result<(), String> {
        Ok(())
    }

    /// What can be seen of a node from outside, at the true time `at`.
    fn look(node: &Node<Self>, at: u64) -> Self::Look;

    /// What must hold in every state.
    fn check(_: &Setting<Self>, _: &Judge<Self>, _looks: Looks<'_, Self>) -> Result<(), String> {
        Ok(())
    }

    /// What of its own a state shows to have happened.
    fn marks(
        _setting: &Setting<Self>,
        _left: &Self::Troubles,
        _judge: &Judge<Self>,
        _looks: Looks<'_, Self>,
    ) -> Vec<(bool, &'static str)> {
        Vec::new()
    }

    /// The sender that the others see on a message of a node.
    fn sender_of(node: &Node<Self>) -> SenderOf<Self> {
        Self::sender(&node.core, Self::address(node.number))
    }
}
