//! Interface of a protocol to the model.

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
    /// Settings of this protocol.
    type Settings: Clone;
    /// How often each trouble of this protocol may still come, beside those of a [`Budget`].
    ///
    /// [`Budget`]: super::Budget
    type Troubles: Copy + Eq + Hash + Debug;
    /// State that a node loses when it starts again.
    type Lost: Copy + Eq + Hash + Debug;
    /// Note about a node beside its core.
    type Note: Clone + Eq + Hash + Default;
    /// Order of leaders beside the fence.
    type Stamp: Clone + Eq + Hash;
    /// Observation of a node from outside.
    type Look: Clone;

    /// The nodes.
    const NAMES: &'static [&'static str];

    /// The election of the cluster.
    fn election() -> ElectionName {
        "x".parse().unwrap()
    }

    /// A node that has not started.
    fn core(setting: &Setting<Self>, node: usize) -> Self::Core;

    /// First contents of the disk of a node, if it has one.
    fn disk(setting: &Setting<Self>, node: usize) -> Option<Self::Disk>;

    /// Start of a life of a node.
    fn start(life: Life, disk: Option<&Self::Disk>) -> StartOf<Self>;

    /// Where a node is reached.
    fn address(node: usize) -> AddressOf<Self>;

    /// The nodes that get what `from` sends there.
    fn recipients(from: usize, to: &AddressOf<Self>) -> Vec<usize>;

    /// Reading of the clocks of a node, whose clock shows `local`, at the true time `at` in
    /// nanoseconds.
    fn now(setting: &Setting<Self>, node: usize, local: Time, at: u64) -> NowOf<Self>;

    /// The command with which a node campaigns.
    fn campaign(node: usize) -> CommandOf<Self>;

    /// States that a node can lose when it starts again.
    fn restarts(setting: &Setting<Self>, node: usize) -> Vec<Self::Lost>;

    /// How often a node may still start again with this loss.
    fn restarts_left(left: &mut Self::Troubles, node: usize, lost: Self::Lost) -> &mut u8;

    /// Takes from the disk of the life that begins, and from the clock at the true time `at`, what
    /// is lost.
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

    /// Notes that a node sends a message; an error is a violated property.
    fn sends(_node: &mut Node<Self>, _message: &MessageOf<Self>) -> Result<(), String> {
        Ok(())
    }

    /// Checks the claims when a message leaves a life.
    fn leaves(_claims: &[Claim<Self>], _from: Life, _to: &MessageOf<Self>) -> Result<(), String> {
        Ok(())
    }

    /// The stamp of a leadership that this event announces.
    fn stamp(_event: &Self::Own) -> Option<Self::Stamp> {
        None
    }

    /// Checks that a leadership comes after another; `left` is the rest of the budget.
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

    /// Checks the claims at the end of a tick. With `disturbed` something was late, now or before,
    /// or a node stopped; otherwise all messages have arrived.
    fn passes(_claims: &[Claim<Self>], _disturbed: bool) -> Result<(), String> {
        Ok(())
    }

    /// Observation of a node from outside, at the true time `at`.
    fn look(node: &Node<Self>, at: u64) -> Self::Look;

    /// Checks the properties of every state.
    fn check(_: &Setting<Self>, _: &Judge<Self>, _looks: Looks<'_, Self>) -> Result<(), String> {
        Ok(())
    }

    /// Marks that a state of this protocol shows.
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
