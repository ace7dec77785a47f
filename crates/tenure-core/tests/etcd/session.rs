//! The lease: when it counts, and when it is over.

use tenure_core::etcd::Reply;

use crate::stage::*;

/// Contract, duty 6: a claim is lowered before anybody is told. A lease that may still be alive is
/// revoked only after that, or the next one leads while this one does.
#[cfg_attr(not(tenure_planted), test)]
pub(crate) fn a_lost_lease_is_revoked_after_its_claims_are_lowered() {
    let mut s = Stage::new();
    s.elect("db");
    s.pass(ms(3_400));
    s.answer("keep", Reply::Alive { ttl: None });
    assert!(s.position("claim db until") < s.position("revoke lease"), "{:#?}", s.told());
    assert!(s.position("claim db until") < s.position("closed lease"), "{:#?}", s.told());
    assert!(s.has_told("ended: etcd has ended its lease"));
}
