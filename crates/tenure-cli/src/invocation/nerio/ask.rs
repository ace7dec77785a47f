//! `tenure elections`, `candidates` and `verify`.

use std::time::Duration;

use tenure_core::ElectionName;

use crate::failure::Failure;
use crate::invocation::ask::supported;
use crate::protocol::nerio::{Grantors, PROTOCOL, grantors};
use crate::protocol::{Layers, Purpose};
use crate::settings::table;

/// The checked settings of `tenure candidates`.
#[derive(Debug)]
pub struct CandidatesSettings {
    pub(crate) grantors: Grantors,
    pub election: ElectionName,
}

/// The checked settings of `tenure verify`.
#[derive(Debug)]
pub struct VerifySettings {
    pub(crate) grantors: Grantors,
    pub election: ElectionName,
    /// The longest wait for a leader; `None` takes the first answer.
    pub wait: Option<Duration>,
}

pub(crate) fn elections(layers: &mut Layers<'_>) -> Result<Grantors, Failure> {
    let protocol = layers.protocol()?;
    let fix = "ask tenure leader about each election";
    supported(layers, "a list of elections", protocol, std::ptr::eq(protocol, &PROTOCOL), fix)?;
    grantors(layers, Purpose::Elections)
}

impl CandidatesSettings {
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let election = layers.required(&table::ELECTION)?;
        let protocol = layers.protocol()?;
        let fix = "ask tenure leader, which says who leads";
        supported(
            layers,
            "a list of candidates",
            protocol,
            std::ptr::eq(protocol, &PROTOCOL),
            fix,
        )?;
        let grantors = grantors(layers, Purpose::Ask(&election))?;
        Ok(Self { grantors, election })
    }
}

impl VerifySettings {
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let election = layers.required(&table::ELECTION)?;
        let protocol = layers.protocol()?;
        let fix = if protocol.can.fence {
            "check the fence where the work arrives, or ask tenure leader"
        } else {
            "ask tenure leader, whose answer is not binding"
        };
        supported(layers, "verify", protocol, std::ptr::eq(protocol, &PROTOCOL), fix)?;
        let grantors = grantors(layers, Purpose::Ask(&election))?;
        let wait = layers.optional(&table::WAIT)?;
        Ok(Self { grantors, election, wait })
    }
}
