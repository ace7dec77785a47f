//! Certificates and keys as the drivers of all protocols with servers read them.
//!
//! Drivers read the files anew for each connection, so that a renewed certificate is used without a
//! restart. Errors of the files come before any connection: the TLS library would report them at
//! each connection, where they look like the network's fault.

mod client;
mod pem;
mod server;

pub use client::{HANDSHAKE_CAUSE, HANDSHAKE_CURE, client_config, is_no_tls, reason, words};
pub use pem::{Identity, Pair, Pem, PemError};
pub use server::server_config;
