//! Logins, tokens, permissions.

#![expect(clippy::unwrap_used, reason = "it is a test")]

#[path = "../common/mod.rs"]
mod common;

mod expiry;
mod logins;
mod rights;
mod tokens;

use tempfile::TempDir;
use tenure_core::ElectionName;
use tenure_etcd::{CheckedOptions, Credentials, Options};
use tenure_services::etcd::{Cluster, ClusterConfig, Version};

use crate::common::{PATIENCE, all};

const PASSWORD: &str = "secret";

/// A member with users: `root`, and `poor`, which may write below `poor/` only.
fn with_users(config: ClusterConfig) -> Cluster {
    let cluster = config.start().unwrap();
    cluster.enable_auth(PASSWORD).unwrap();
    cluster.etcdctl(&["role", "add", "poor"]).unwrap();
    permit(&cluster, "poor/");
    cluster.etcdctl(&["user", "add", &format!("poor:{PASSWORD}")]).unwrap();
    cluster.etcdctl(&["user", "grant-role", "poor", "poor"]).unwrap();
    cluster
}

/// A member with signed tokens, configured by `more`. The folder has the key that signs.
fn with_signed_tokens(version: Version, more: &str) -> (Cluster, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, "not much of a secret").unwrap();
    let token = format!("--auth-token=jwt,sign-method=HS256,priv-key={}{more}", key.display());
    (with_users(ClusterConfig::new(version, 1).argument(token)), folder)
}

/// `poor` may read and write below `prefix` from now on.
fn permit(cluster: &Cluster, prefix: &str) {
    let grant = ["role", "grant-permission", "poor", "readwrite", prefix, "--prefix"];
    cluster.etcdctl(&grant).unwrap();
}

fn user(cluster: &Cluster, user: &str, password: &str) -> CheckedOptions {
    let mut options = Options::clone(&all(cluster));
    // Options so patient that a standstill of the machine causes no error.
    options.connect_within = PATIENCE;
    options.credentials = Some(Credentials { user: user.into(), password: password.into() });
    options.check().unwrap()
}

fn names(names: &[&str]) -> Vec<ElectionName> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}
