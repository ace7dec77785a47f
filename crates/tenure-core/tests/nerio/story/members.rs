//! Addresses and senders of a cluster's members.

use std::net::SocketAddr;

use tenure_core::nerio::{Checked, Member, Nerio, Recipient, Sender, Who};

/// Address of a member; for a DNS name, the address to which it resolves in stories.
fn literal(member: &Member) -> SocketAddr {
    member.address.literal().unwrap_or_else(|| super::address(member.name.as_str()))
}

/// A sender at `address`: a proved one, if a member has that name and address.
pub fn sender(config: &Checked, who: Who, address: SocketAddr) -> Sender {
    let is_it = |member: &Member| member.name == who.name && literal(member) == address;
    let proved = config.members.iter().any(is_it);
    Sender { who, address, proved, epoch: config.membership().id() }
}

/// Address of the node that receives a message of `core` to `to`. The address comes from the list
/// of `core`, from the document of its epoch, or, for members of a proposed epoch, from the name.
pub fn place(core: &Nerio, to: Recipient) -> SocketAddr {
    let name = match to {
        Recipient::Member(name) => name,
        Recipient::Address(address) => return address,
    };
    if let Some(member) = core.config().members.iter().find(|member| member.name == name) {
        return literal(member);
    }
    let mut seats = core.membership().document().seats.iter();
    match seats.find(|seat| seat.name == name) {
        Some(seat) => seat.hosts[0].literal().unwrap_or_else(|| super::address(name.as_str())),
        None => super::address(name.as_str()),
    }
}
