//! Unsealed messages that end leaderships or change members.

use tenure::driver::Backend;
use tenure_core::nerio::{
    Admission, Admit, ChangeError, ChangeState, Changed, Hindrance, Message, Order, Ordered,
    Passed, Sender, ToGrantor,
};

use super::Wire;
use crate::changes::has_near_hosts;
use crate::orders::{is_loopback, is_order, obeys_unsealed};
use crate::transport::Transport;

impl<T: Transport> Wire<T> {
    /// Whether to refuse this unsealed message: it ends leaderships or changes members, and another
    /// machine could have sent it, or it names a member on another machine.
    pub(super) fn is_unsafe_unsealed(&self, from: &Sender, message: &Message) -> bool {
        let obeys = || obeys_unsealed(&self.config, &self.memberships, from.address);
        match message {
            Message::Grantor(ToGrantor::Change(change)) => {
                !(has_near_hosts(&change.what) && obeys())
            }
            Message::Grantor(ToGrantor::Admit(admit)) => !(is_loopback(&admit.host) && obeys()),
            // Supervised release: a report ends leaderships.
            Message::Grantor(ToGrantor::Gone(_)) => !obeys(),
            // The core ignores orders for other epochs.
            order => is_order(order) && self.number(from.epoch).is_some() && !obeys(),
        }
    }

    pub(super) fn refuse_unsealed(&mut self, from: &Sender, message: Message) {
        let asker = from.who.inc;
        let answer = match message {
            Message::Grantor(ToGrantor::Order(Order { election, start, .. })) => {
                self.counters.drop_for("unsealed_order");
                Message::from(Ordered { election, asker, start, passed: Passed::Unsealed })
            }
            Message::Grantor(ToGrantor::Change(change)) => {
                self.counters.drop_for("unsealed_change");
                let state = ChangeState::Refused(ChangeError::Unsealed);
                let (start, number) = (change.start, change.number);
                Message::from(Changed { asker, start, number, state })
            }
            Message::Grantor(ToGrantor::Admit(Admit { start, name, instance, .. })) => {
                self.counters.drop_for("unsealed_change");
                let hindrance = Some(Hindrance::Unsealed);
                Message::from(Admission { asker, start, name, instance, hindrance })
            }
            _ => return self.counters.drop_for("unsealed_order"),
        };
        self.send(from.into(), answer);
    }
}
