//! Addresses and senders of a cluster's members.

use std::net::SocketAddr;

use tenure_core::nerio::{Checked, Member, Nerio, Sender, To, Who};

/// Address of a member, which is no name in stories.
fn literal(member: &Member) -> SocketAddr {
    member.address.literal().unwrap()
}

/// A sender at `address`: a proved one, if a member has that name and address.
pub fn sender(config: &Checked, who: Who, address: To) -> Sender {
    let To::Address(address) = address else { panic!("{address} is nobody's address") };
    let is_it = |member: &Member| member.name == who.name && literal(member) == address;
    let proved = config.members.iter().any(is_it);
    Sender { who, address, proved }
}

/// Address of the node that receives what `core` sends to `to`.
pub fn place(core: &Nerio, to: To) -> To {
    match to {
        To::Member(name) => {
            let member = core.config().members.iter().find(|member| member.name == name);
            literal(member.unwrap()).into()
        }
        To::Address(_) => to,
    }
}
