//! The choice among several servers, and TLS to a server.

use std::fs;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tenure_nats::{Config, Node, Options, Pem, Tls};
use tenure_services::nats::{Cluster, ClusterConfig, Tls as ServerTls, Version};

use crate::common::{PATIENCE, config, leads, run, start};

tenure_services::on_each_version!(server_with_small_payload_is_left);

/// The first server takes fewer bytes a message than participants need.
fn server_with_small_payload_is_left(version: Version) {
    let small = ClusterConfig::new(version, 1).settings("max_payload: 8192").start().unwrap();
    let cluster = Cluster::start(version, 1).unwrap();
    let urls = [small.server(0).url().to_owned(), cluster.server(0).url().to_owned()];
    run(async {
        let node = start(Config { rank: Some(1), ..config("one") }, &urls);
        let leadership = leads(&node).await;
        let counters = node.counters().await.unwrap();
        assert_eq!((counters.unreachable, counters.connections), (1, 1));
        assert!(leadership.is_current());
    });
}

/// The server greets only after TLS, which only newer versions can do.
#[test]
fn tls_first_server_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    fs::write(path("server.pem"), certificate.pem()).unwrap();
    fs::write(path("server.key"), key.serialize_pem()).unwrap();
    fs::write(path("ca.pem"), authority.pem()).unwrap();
    let certificate = path("server.pem");
    let key = path("server.key");
    let tls = ServerTls { certificate, key, clients: None, first: true };
    let cluster = ClusterConfig::new(Version::Newest, 1).tls(tls).start().unwrap();
    run(async {
        let authority = Some(Pem::File(path("ca.pem")));
        let tls = Some(Tls { authority, first: true, ..Tls::default() });
        let servers = vec![cluster.server(0).url().parse().unwrap()];
        let options = Options { tls, connect_within: PATIENCE, ..Options::new(servers) };
        let options = options.check().unwrap();
        let node = Node::builder(config("one").check().unwrap(), options).start().unwrap();
        assert!(leads(&node).await.is_current());
    });
}
