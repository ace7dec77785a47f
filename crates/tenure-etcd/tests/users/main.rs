//! Logins, tokens, permissions.

#![expect(clippy::unwrap_used, reason = "it is a test")]

#[path = "../common/mod.rs"]
mod common;

mod logins;
mod rights;
mod tokens;

use tenure_core::ElectionName;
use tenure_etcd::{CheckedOptions, Credentials, Options};
use tenure_services::etcd::{Cluster, ClusterConfig};

use crate::common::all;

const PASSWORD: &str = "secret";

/// One member with users: `root`, and `poor` who may write below `poor/` only.
fn with_users(config: ClusterConfig) -> Cluster {
    let cluster = config.start().unwrap();
    cluster.enable_auth(PASSWORD).unwrap();
    cluster.etcdctl(&["role", "add", "poor"]).unwrap();
    permit(&cluster, "poor/");
    cluster.etcdctl(&["user", "add", &format!("poor:{PASSWORD}")]).unwrap();
    cluster.etcdctl(&["user", "grant-role", "poor", "poor"]).unwrap();
    cluster
}

/// `poor` may read and write below `prefix` from now on.
fn permit(cluster: &Cluster, prefix: &str) {
    let grant = ["role", "grant-permission", "poor", "readwrite", prefix, "--prefix"];
    cluster.etcdctl(&grant).unwrap();
}

fn user(cluster: &Cluster, user: &str, password: &str) -> CheckedOptions {
    let mut options = Options::clone(&all(cluster));
    options.credentials = Some(Credentials { user: user.into(), password: password.into() });
    options.check().unwrap()
}

fn names(names: &[&str]) -> Vec<ElectionName> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}
