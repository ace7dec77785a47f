//! `etcd grpc-proxy` in front of a cluster.

use super::cluster::Cluster;
use crate::daemon::{Daemon, on_free_ports};
use crate::error::Error;
use crate::port;

/// A proxy in front of all members of a cluster. Dropping it kills it by pid.
#[derive(Debug)]
pub struct GrpcProxy {
    daemon: Daemon,
}

impl GrpcProxy {
    /// Its URL for clients.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.daemon.url
    }
}

impl Cluster {
    /// Starts a proxy on loopback with more arguments (`--namespace=shop/`), and waits until a
    /// read is answered through it. For clusters without TLS and wrappers.
    ///
    /// # Errors
    ///
    /// [`Error::NotReady`] when it ends, or no read is answered in time.
    pub fn grpc_proxy(&self, arguments: &[&str]) -> Result<GrpcProxy, Error> {
        let ready = |proxy: &GrpcProxy| {
            let ask = ["--command-timeout=2s", "get", "tenure-services-ready"];
            let answer = || self.control(&[], proxy.endpoint(), &ask);
            proxy.daemon.wait(|| answer().map(drop).map_err(|error| error.to_string()))
        };
        on_free_ports(|| self.launch_grpc_proxy(arguments), ready)
    }

    fn launch_grpc_proxy(&self, arguments: &[&str]) -> Result<GrpcProxy, Error> {
        let address = format!("127.0.0.1:{}", port::free(1)[0]);
        let log = self.folder().join(format!("grpc-proxy-{address}.log"));
        let daemon = Daemon::new("grpc-proxy".to_owned(), format!("http://{address}"), log);
        let mut words = vec![
            "grpc-proxy".to_owned(),
            "start".to_owned(),
            format!("--endpoints={}", self.endpoints().join(",")),
            format!("--listen-addr={address}"),
        ];
        words.extend(arguments.iter().map(|argument| (*argument).to_owned()));
        daemon.start(self.binaries().etcd.as_os_str(), &words)?;
        Ok(GrpcProxy { daemon })
    }
}
