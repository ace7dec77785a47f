//! Errors about an unusable etcd, each with its golden text.
//!
//! The cases are in `errors.txt` beside this file; `cargo xtask bless` rewrites them.

use std::path::PathBuf;
use std::thread;

use tenure_services::etcd::{Cluster, ClusterConfig, Tls, Version};

use crate::certificates::Authority;
use crate::{golden, old};

const CASES_AT_LEAST: usize = 16;

/// A cluster with logins: `root`, and `poor`, who may only use keys below `poor/`.
fn with_users() -> Cluster {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    cluster.etcdctl(&["role", "add", "poor"]).unwrap();
    let grant = ["role", "grant-permission", "poor", "readwrite", "poor/", "--prefix"];
    cluster.etcdctl(&grant).unwrap();
    cluster.etcdctl(&["user", "add", "poor:secret"]).unwrap();
    cluster.etcdctl(&["user", "grant-role", "poor", "poor"]).unwrap();
    cluster.enable_auth("root's").unwrap();
    cluster
}

/// A member whose certificate has a key on the curve P-521; OpenSSL made both files.
fn with_p521() -> Cluster {
    let file = |name: &str| -> PathBuf {
        format!("{}/../tenure-tls/tests/keys/{name}", env!("CARGO_MANIFEST_DIR")).into()
    };
    let certificate = file("p521-server.pem");
    let (authority, key) = (certificate.clone(), file("p521-pkcs8.pem"));
    let tls = Tls { certificate, key, authority, client: None };
    ClusterConfig::new(Version::Newest, 1).tls(tls).start().unwrap()
}

fn address(cluster: &Cluster) -> String {
    let endpoint = cluster.endpoints().swap_remove(0);
    endpoint.split_once("://").unwrap().1.to_owned()
}

#[test]
fn unusable_etcd_gets_its_golden_error() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let start: [&(dyn Fn() -> Cluster + Sync); 6] = [
        &|| Cluster::start(Version::Newest, 1).unwrap(),
        &|| authority.cluster("tls"),
        &|| authority.cluster("expired"),
        &|| authority.strict_cluster("strict", "client"),
        &with_users,
        &with_p521,
    ];
    let [plain, tls, expired, strict, users, p521] = thread::scope(|scope| {
        start.map(|start| scope.spawn(start)).map(|started| started.join().unwrap())
    });
    for name in ["expired", "late"] {
        authority.sign(name, true);
    }
    stranger.sign("client", false);
    let text = |name: &str, text: String| (format!("{{{name}}}"), text);
    let proxy = plain.grpc_proxy(&[]).unwrap();
    let texts = [
        text("plain", address(&plain)),
        text("proxy", proxy.url().trim_start_matches("http://").to_owned()),
        text("tls", address(&tls)),
        text("expired", address(&expired)),
        text("strict", address(&strict)),
        text("users", address(&users)),
        text("p521", address(&p521)),
        text("old", old::serve("3.3.27").to_string()),
        text("ca", authority.path().display().to_string()),
        text("certs", authority.folder().display().to_string()),
        text("strange", stranger.folder().display().to_string()),
    ];
    let count = golden::compare(&golden::suites("etcd"), &texts);
    assert!(count >= CASES_AT_LEAST, "{count} cases");
}
