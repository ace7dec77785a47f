//! Certificates and keys as the drivers of all protocols with servers read them.
//!
//! Files are read anew for each connection, so that a renewed certificate is used without a
//! restart. Files that cannot work are refused before the first connection: the TLS library would
//! fail at each connection, where the failure looks like the network's fault.

mod client;
mod pem;
mod server;

pub use client::{HANDSHAKE_CAUSE, HANDSHAKE_CURE, TlsCause, client_config, is_no_tls, reason};
pub use pem::{Identity, Pair, Part, Pem, PemError};
pub use server::server_config;
