//! Members that listen on all addresses of their machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tenure_nerio::{Config, Member, Node, Opening, Storage};
use tenure_testkit::processes::Members;

use crate::setup::{candidate, soon};

/// By itself the kernel would send from 127.0.0.1, whichever of these addresses was asked.
#[tokio::test]
async fn members_answer_from_asked_addresses() {
    for all in [IpAddr::from(Ipv4Addr::UNSPECIFIED), Ipv6Addr::UNSPECIFIED.into()] {
        let own = |(nth, (name, at)): (u8, (&str, SocketAddr))| {
            Member::at(name.parse().unwrap(), ([127, 0, 0, nth], at.port()).into())
        };
        let members = Members::new(["a", "b", "c"]);
        let members: Vec<_> = (2..).zip(members.iter()).map(own).collect();
        let config = Config::new("test".parse().unwrap(), members);
        let config = config.with_lease(Duration::from_secs(20)).check().unwrap();
        let grantor = |member: &Member| {
            Node::builder(config.clone(), member.name.clone())
                .grantor(Storage::Memory { opening: Opening::New })
                .listen((all, member.address.port()).into())
                .insecure_any_address()
                .start()
                .unwrap()
        };
        let nodes: Vec<_> = config.members.iter().map(grantor).collect();
        let election = candidate(&config, "p").election("e").unwrap();
        let leadership = soon(election.campaign("v")).await.unwrap();
        assert!(leadership.is_current());
        drop(nodes);
    }
}
