//! Renewals whose answers come late.

use tenure_core::etcd::{LeaseId, Op, Reply};
use tenure_services::etcd::{Cluster, Version};

use crate::common::proxy::{Lost, Proxy};
use crate::common::{Line, PATIENCE, run};

const LEASE: LeaseId = LeaseId(0x77);

/// The answer to the first keep-alive is under way while the lease is revoked, and arrives after
/// the send of the second keep-alive. If it counted as the answer to the second keep-alive, the
/// wire would wrongly report a living lease.
#[test]
fn late_answers_renew_no_revoked_lease() {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    run(async {
        let way = Proxy::start(&cluster).await;
        let mut line = Line::new(way.options());
        let granted = line.ask(Op::Grant { lease: LEASE, ttl: 600 }).await.1;
        assert_eq!(granted, Reply::Granted { ttl: 600 });
        let renew = || Op::KeepAlive { lease: LEASE };
        assert_eq!(line.ask(renew()).await.1, Reply::Alive { ttl: Some(600) });
        way.loses(Lost::Late);
        let first = line.send(PATIENCE, renew());
        way.has_late_answer().await;
        assert_eq!(line.ask(Op::Revoke { lease: LEASE }).await.1, Reply::Revoked);
        way.loses(Lost::Nothing);
        let second = line.send(PATIENCE, renew());
        let given_up = line.answer(first).await.reply;
        assert!(matches!(given_up, Reply::Unknown { .. }), "{given_up}");
        assert_eq!(line.answer(second).await.reply, Reply::Alive { ttl: None });
    });
}
