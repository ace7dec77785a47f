//! `tenure resign` and `tenure transfer`, for a runner of this machine or over the network.

use std::time::Duration;

use tenure_core::{ElectionName, NodeName};

use crate::failure::Failure;
use crate::invocation::ask::supported;
use crate::protocol::nerio::orders::Wish;
use crate::protocol::nerio::{Grantors, PROTOCOL, grantors};
use crate::protocol::{Layers, Purpose};
use crate::settings::{Origin, table};

/// Default time in which a leader must step down.
const TIMEOUT: Duration = Duration::from_secs(90);

/// An order over the network, checked.
#[derive(Debug)]
pub struct OrderSettings {
    pub(crate) grantors: Grantors,
    pub(crate) wish: Wish,
}

/// Whether the order goes to the members, and not to a socket of this machine.
pub fn is_elsewhere(layers: &mut Layers<'_>) -> Result<bool, Failure> {
    let timeout = layers.optional(&table::TIMEOUT)?.is_some();
    match layers.required(&table::REMOTE)? {
        false if timeout => {
            let what = "--timeout is for orders over the network, and --remote is not given";
            let fix = "give --remote, or remove --timeout: a runner of this machine always has 90 \
                       s to step down";
            Err(layers.origins.usage(what, fix, &[table::TIMEOUT.spec.name]))
        }
        remote => Ok(remote),
    }
}

/// Refuses a socket of this machine together with `--remote`.
pub(super) fn no_control(layers: &Layers<'_>) -> Result<(), Failure> {
    if !layers.flags().contains_id(table::CONTROL.spec.name) {
        return Ok(());
    }
    let what = "--control and --remote exclude each other: --control names a socket of this \
                machine, and --remote asks the members";
    let origin = Origin::Flag("--control".into());
    Err(Failure::usage(what, "remove --control or --remote").origin(origin))
}

impl OrderSettings {
    /// Reads the settings of `tenure resign`.
    pub fn resign(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let election = layers.required(&table::ELECTION)?;
        Self::read(layers, election, None)
    }

    /// Reads the settings of `tenure transfer`.
    pub fn transfer(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let to = layers.required(&table::TO)?;
        let election = layers.required(&table::ELECTION)?;
        Self::read(layers, election, Some(to))
    }

    fn read(
        layers: &mut Layers<'_>,
        election: ElectionName,
        to: Option<NodeName>,
    ) -> Result<Self, Failure> {
        no_control(layers)?;
        let protocol = layers.protocol()?;
        let fix = "run this command on the machine of the leader, without --remote";
        supported(layers, "--remote", protocol, std::ptr::eq(protocol, &PROTOCOL), fix)?;
        let grantors = grantors(layers, Purpose::Order(&election))?;
        let timeout = layers.or_follows(&table::TIMEOUT, || Ok(TIMEOUT))?;
        let wait = if to.is_some() { layers.optional(&table::WAIT)? } else { None };
        Ok(Self { grantors, wish: Wish { election, to, wait, timeout } })
    }
}
