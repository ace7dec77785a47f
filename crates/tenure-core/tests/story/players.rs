//! Nerio: grantors with directories, and candidates.

use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::{
    Checked, Extra, Member, Nerio, OwnEvent, Record, Remembered, Sender, To, Who,
};
use tenure_testkit::Players;

/// The nodes of one cluster; conversations have their settings here.
pub struct Grantors {
    pub config: Checked,
    /// How long every message is on its way.
    pub delay: Duration,
}

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

impl Players for Grantors {
    type Core = Nerio;
    type Extra = Extra;
    type Own = OwnEvent;
    type Disk = Remembered;

    fn sender(core: &Nerio, address: To) -> Sender {
        sender(core.config(), core.who().clone(), address)
    }

    fn place(core: &Nerio, to: To) -> To {
        match to {
            To::Member(position) => literal(&core.config().members[position]).into(),
            To::Address(_) => to,
        }
    }

    fn write(disk: &mut Remembered, record: Record) {
        disk.write(record);
    }
}
