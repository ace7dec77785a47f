//! Users with roles, and roles that are revoked.

use tenure_services::etcd::{Cluster, Version};

use crate::runner::Host;
use crate::runs::{WORK, leads};

/// `poor` may do what it likes below `poor/`.
fn with_users() -> (Cluster, Host) {
    let cluster = Cluster::start(Version::Newest, 1).unwrap();
    cluster.etcdctl(&["role", "add", "poor"]).unwrap();
    let grant = ["role", "grant-permission", "poor", "readwrite", "poor/", "--prefix"];
    cluster.etcdctl(&grant).unwrap();
    cluster.etcdctl(&["user", "add", "poor:se:cret"]).unwrap();
    cluster.etcdctl(&["user", "grant-role", "poor", "poor"]).unwrap();
    cluster.enable_auth("root's").unwrap();
    let host = Host::of(&cluster)
        .with("TENURE_USER", "poor")
        .with("TENURE_PASSWORD", "se:cret")
        .with("TENURE_NAMESPACE", "poor/");
    (cluster, host)
}

#[test]
fn a_user_with_a_role_takes_part() {
    let (_cluster, host) = with_users();
    // Whoever leads has no use for the password, and may show what it has to anybody.
    let ours = host.run("ours", &[], &format!("env; {WORK}"));
    ours.line("work", 1);
    leads(&host, "ours");
    let log = ours.log();
    assert!(log.contains("TENURE_USER=poor"), "{log}");
    assert!(!log.contains("TENURE_PASSWORD") && !log.contains("se:cret"), "{log}");
    assert_eq!(host.ask(&["resign", "--election", "billing"]).code, Some(0));
    let shown = host.ask(&["leader", "--election", "billing", "--show-settings"]);
    assert!(shown.out.contains("(not shown)") && !shown.out.contains("se:cret"), "{}", shown.out);
}

/// CMD ends with the lease, and there is no use in campaigning again.
#[test]
fn one_that_is_revoked() {
    let (cluster, host) = with_users();
    let ours = host.run("ours", &["--lease", "12s"], WORK);
    ours.line("work", 1);
    cluster.etcdctl(&["role", "revoke-permission", "poor", "poor/", "poor0"]).unwrap();
    let denied = "etcdserver: permission denied";
    let told = ours.line("warning: etcd refuses", 1);
    assert_eq!(told, format!("warning: etcd refuses renewing the lease: {denied}"));
    ours.line("error: ", 1);
    let log = ours.log();
    assert_eq!(ours.ended(), Some(6), "{log}");
    let at = |text: &str| log.find(text).unwrap_or_else(|| panic!("{text}: {log}"));
    assert!(at("CMD ended") < at("error: "), "{log}");
    let error = log.lines().find(|line| line.starts_with("error: ")).unwrap();
    let whole = format!("error: etcd refuses keys that begin with poor/billing/: {denied}");
    assert_eq!(error, whole, "as if it had been so from the start");
    assert!(log.contains("fix: grant a role of this user the keys: etcdctl role grant-permission"));
}
