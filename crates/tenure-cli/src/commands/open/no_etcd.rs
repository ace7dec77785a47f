//! What stands for etcd in a build without it.

use tenure::ElectionName;

use super::{Participant, Purpose};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Ledger;
use crate::settings::etcd::Store;

/// Never comes to that: the protocol was refused as it was read.
pub(super) fn start(
    _: &Store,
    _: &ElectionName,
    _: Purpose,
    ledger: &Ledger,
) -> Result<Box<dyn Participant>, Failure> {
    let failure = Failure::new(Exit::Bug, "this tenure was built without etcd", "report it");
    Err(ledger.explain(failure, &["protocol"]))
}
