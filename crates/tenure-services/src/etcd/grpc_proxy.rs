//! `etcd grpc-proxy` in front of a cluster.

use super::cluster::Cluster;
use crate::daemon::{Daemon, on_free_ports};
use crate::error::Error;
use crate::port;

impl Cluster {
    /// Starts a proxy on loopback, in front of all members, with more arguments
    /// (`--namespace=shop/`), and waits until the proxy answers a read. Only for clusters without
    /// TLS and wrappers. A drop kills the proxy by pid.
    pub fn grpc_proxy(&self, arguments: &[&str]) -> Result<Daemon, Error> {
        let ready = |proxy: &Daemon| proxy.wait(|| self.member(0).answers_at(proxy.url()));
        on_free_ports(|| self.launch_grpc_proxy(arguments), ready)
    }

    fn launch_grpc_proxy(&self, arguments: &[&str]) -> Result<Daemon, Error> {
        let address = format!("127.0.0.1:{}", port::free(1)[0]);
        let log = self.folder().join(format!("grpc-proxy-{address}.log"));
        let mut command = vec![
            self.binaries().etcd.display().to_string(),
            "grpc-proxy".to_owned(),
            "start".to_owned(),
            format!("--endpoints={}", self.endpoints().join(",")),
            format!("--listen-addr={address}"),
        ];
        command.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        let url = format!("http://{address}");
        let daemon = Daemon::new("grpc-proxy".to_owned(), url, log, command);
        daemon.restart()?;
        Ok(daemon)
    }
}
