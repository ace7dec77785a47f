//! The driver of Tenure's elections on etcd. They share one keyspace with `etcdctl elect` and with
//! Go's `clientv3/concurrency`: candidates of all three contend in one election and agree on who
//! leads.

mod endpoint;
mod options;
mod version;
pub mod wire;

pub use endpoint::{Endpoint, EndpointError};
pub use options::{CheckedOptions, Credentials, Identity, Options, OptionsError, Pem, Tls};
pub use version::Version;
pub use wire::connect::{ConnectError, Status};
