//! Members of a cluster on one machine.

use std::fmt;
use std::net::SocketAddr;

use tenure_services::addresses;

/// Names, each with an address on loopback of its own. Displays in the notation of settings:
/// `a=127.0.0.1:12001,b=127.0.0.1:12002`.
#[derive(Clone, Copy, Debug)]
pub struct Members<const N: usize>([(&'static str, SocketAddr); N]);

impl<const N: usize> Members<N> {
    pub fn new(names: [&'static str; N]) -> Self {
        let mut addresses = addresses::<N>().into_iter();
        Self(names.map(|name| (name, addresses.next().unwrap())))
    }

    /// The names, each with its address.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, SocketAddr)> {
        self.0.iter().copied()
    }
}

impl<const N: usize> fmt::Display for Members<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, (name, address)) in self.0.iter().enumerate() {
            let comma = if nth == 0 { "" } else { "," };
            write!(f, "{comma}{name}={address}")?;
        }
        Ok(())
    }
}
