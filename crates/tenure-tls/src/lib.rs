//! Reads certificates and keys, for the drivers of all protocols with servers.
//!
//! Files are read anew for each connection, so that a renewed certificate is used without a
//! restart. Unusable files are refused before the first connection: otherwise the TLS library fails
//! at each connection, as if the network were at fault.

mod client;
mod pem;
mod server;

pub use client::{HANDSHAKE_CAUSE, HANDSHAKE_CURE, TlsCause, client_config, is_no_tls, reason};
pub use pem::{Identity, Pair, Part, Pem, PemError};
pub use server::server_config;
