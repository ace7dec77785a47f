//! Questions about the clocks of members, and orders to compare them anew.

use tenure::driver::Machine;
use tenure_core::ElectionName;
use tenure_core::nerio::{Command, Extra, Nerio};

use super::Wire;
use crate::notice::Notice;
use crate::request::{ClockAsk, Clocks};
use crate::transport::Transport;

pub(super) fn on_ask<T: Transport>(ask: ClockAsk, machine: &mut Machine<Wire<T>>) {
    match ask {
        ClockAsk::Show(reply) => {
            let (members, is_wrong) = (machine.core.clocks(), machine.core.has_wrong_clock());
            // The asker may have left.
            let _ = reply.send(Clocks { members, is_wrong });
        }
        ClockAsk::Clear(reply) => {
            let _ = reply.send(machine.core.has_wrong_clock());
            // The command concerns the node, whatever election it names.
            if let Ok(any) = ElectionName::new("any") {
                machine.command(any, Command::Extra(Extra::ClearBreach));
            }
        }
    }
}

/// `others`, and the notices about clocks that break the drift bound.
pub(super) fn troubles(mut others: Vec<Notice>, core: &Nerio) -> Vec<Notice> {
    others.extend(core.breaches().map(|event| Notice::Protocol { election: None, event }));
    others
}
