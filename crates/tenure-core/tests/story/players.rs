//! Nerio: grantors with directories, and candidates.

use std::net::SocketAddr;
use std::time::Duration;

use tenure_core::nerio::{Checked, Extra, Nerio, OwnEvent, Record, Remembered, Sender};
use tenure_testkit::Players;

/// The nodes of one cluster; conversations have their settings here.
pub struct Grantors {
    pub config: Checked,
    /// How long every message is on its way.
    pub delay: Duration,
}

impl Players for Grantors {
    type Core = Nerio;
    type Extra = Extra;
    type Own = OwnEvent;
    type Disk = Remembered;

    fn sender(core: &Nerio, address: SocketAddr) -> Sender {
        Sender { who: core.who().clone(), address }
    }

    fn write(disk: &mut Remembered, record: Record) {
        disk.write(record);
    }
}
