//! `etcd grpc-proxy`, which the driver refuses to use.

use std::net::SocketAddr;
use std::time::Duration;

use tenure_etcd::wire::Incoming;
use tenure_etcd::{CheckError, CheckedOptions, Config, ConnectError, Notice, Options, check};
use tenure_services::etcd::{Cluster, Version};
use tenure_services::relay::Relay;

use crate::common::{Line, PATIENCE, node, options, read, run, soon, then};

tenure_services::on_each_version!(grpc_proxies, grpc_proxies_in_the_place_of_members);

/// Options so patient that a standstill of the machine causes no error.
fn patient(endpoints: &[&str]) -> CheckedOptions {
    let endpoints: Vec<_> = endpoints.iter().map(|url| (*url).to_owned()).collect();
    let options = Options { connect_within: PATIENCE, ..Options::clone(&options(&endpoints)) };
    options.check().unwrap()
}

fn grpc_proxies(version: Version) {
    let cluster = Cluster::start(version, 1).unwrap();
    // These arguments decide whether the proxy's list of members names the proxy or the members.
    let settings: [&[&str]; 3] = [&[], &["--advertise-client-url="], &["--namespace=shop/"]];
    let proxies = settings.map(|arguments| cluster.grpc_proxy(arguments).unwrap());
    let config = Config::default().check().unwrap();
    run(async {
        for proxy in &proxies {
            let told = check(&patient(&[proxy.url()]), &config, &[]).await.unwrap_err();
            let CheckError::NoEndpoint { errors } = &told else { panic!("{told}") };
            assert!(matches!(errors[..], [ConnectError::GrpcProxy { .. }]), "{told}");
        }
        let proxy = proxies[0].url();
        let member = cluster.member(0).endpoint();
        let both = patient(&[proxy, member]);
        let report = check(&both, &config, &[]).await.unwrap();
        let good: Vec<_> = report.members().map(|(endpoint, _)| endpoint.as_str()).collect();
        assert_eq!(good, [member]);
        let node = node(&both, 20);
        let mut notices = node.notices();
        let leader = soon(node.election("e").unwrap().campaign("one")).await.unwrap();
        assert!(leader.is_current());
        let told = soon(notices.recv()).await.unwrap();
        let Notice::Unreachable { endpoint, why } = &told else { panic!("{told:?}") };
        assert_eq!(endpoint.as_str(), proxy);
        assert!(why.contains("is an etcd grpc-proxy"), "{why}");
        let told = soon(notices.recv()).await.unwrap();
        let Notice::Connected { endpoint, .. } = &told else { panic!("{told:?}") };
        assert_eq!(endpoint.as_str(), member);
    });
}

/// An idle connection ends without notice: the driver checks the server anew before the next
/// request.
fn grpc_proxies_in_the_place_of_members(version: Version) {
    let cluster = Cluster::start(version, 1).unwrap();
    let proxy = cluster.grpc_proxy(&[]).unwrap();
    let member = address(cluster.member(0).endpoint());
    let relay = Relay::start(member).unwrap();
    let lead_to = |to| {
        relay.cut();
        relay.lead_to(to);
        relay.open();
    };
    run(async {
        let mut line = Line::new(patient(&[&format!("http://{}", relay.address())]));
        line.ask(then(vec![read("idle")])).await;
        lead_to(address(proxy.url()));
        // The pause makes the test sharper: the next request finds the connection closed.
        tokio::time::sleep(Duration::from_millis(100)).await;
        let call = line.send(PATIENCE, then(vec![read("idle")]));
        soon(async {
            loop {
                match line.wire.next().await {
                    Incoming::Answer(answer) => panic!("through the proxy: {answer}"),
                    Incoming::Link(Notice::Unreachable { why, .. })
                        if why.contains("is an etcd grpc-proxy") =>
                    {
                        return;
                    }
                    Incoming::Link(_) => {}
                }
            }
        })
        .await;
        lead_to(member);
        assert!(line.answer(call).await.header.is_some());
    });
}

fn address(url: &str) -> SocketAddr {
    url.trim_start_matches("http://").parse().unwrap()
}
