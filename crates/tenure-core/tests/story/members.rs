//! Where the members of a cluster are reached, and who they are to others.

use std::net::SocketAddr;

use tenure_core::nerio::{Checked, Member, Nerio, Sender, To, Who};

/// Where a member of a story is reached.
fn literal(member: &Member) -> SocketAddr {
    member.address.literal().unwrap()
}

/// A sender at `address`, which is a member if name and address are one's.
pub fn sender(config: &Checked, who: Who, address: To) -> Sender {
    let To::Address(address) = address else { panic!("{address} is nobody's address") };
    let is_it = |member: &Member| member.name == who.name && literal(member) == address;
    let member = config.members.iter().position(is_it);
    Sender { who, address, member }
}

/// Where a message goes that `core` sends there.
pub fn place(core: &Nerio, to: To) -> To {
    match to {
        To::Member(position) => literal(&core.config().members[position]).into(),
        To::Address(_) => to,
    }
}
