//! Network options of a voter: its address, seeds, secrets, TLS.

use std::net::SocketAddr;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use tenure_tls::{Identity, Pem, PemError};

use crate::auth::Secrets;
use crate::seeds::Seeds;
use crate::server::is_loopback;

/// Options of a voter in addition to the settings of the protocol. Checked by
/// [`check`](Self::check); cheap to clone afterwards.
///
/// ```
/// use tenure_voter::Options;
///
/// let options = Options::new("127.0.0.1:7001".parse()?).check()?;
/// assert_eq!(options.listen.port(), 7001);
/// let anywhere = Options::new("0.0.0.0:7001".parse()?);
/// assert!(anywhere.check().unwrap_err().to_string().contains("loopback"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// The address to bind. Other voters call the `voter-url` of the settings.
    pub listen: SocketAddr,
    /// The state directory, of this voter alone. `majority` needs a directory, `available` uses
    /// none.
    pub state: Option<PathBuf>,
    /// The seeds that name other voters, in addition to the voter list. Seeds without a scheme use
    /// `https://` where TLS is configured.
    pub seeds: Option<Seeds>,
    /// The secrets of the network, for a MAC over each request and answer.
    pub secrets: Option<Secrets>,
    pub tls: Option<Tls>,
    /// Lets every process that can reach this voter take part, even from beyond loopback.
    pub unprotected: bool,
}

/// TLS on both sides. The node reads the files again now and then, and uses a renewed certificate
/// without a restart. The node reads the system's authorities only at the start. Without secrets
/// the node calls only voters with `https://`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tls {
    /// The certificates of the authority that signs the voters' certificates. `None`: the system's
    /// authorities; these need secrets, too, because they sign certificates for any host.
    pub authority: Option<Pem>,
    /// Certificate and key of this voter, as a server and as a client. Without secrets other voters
    /// must show a certificate of the authority, too. `None`: other voters reach this voter without
    /// TLS, or through a proxy that ends TLS.
    pub identity: Option<Identity>,
}

impl Options {
    /// Options with this address, without seeds, secrets, TLS and a directory.
    #[must_use]
    pub const fn new(listen: SocketAddr) -> Self {
        Self { listen, state: None, seeds: None, secrets: None, tls: None, unprotected: false }
    }

    /// Checks that the options can work, and reads the certificates.
    pub fn check(self) -> Result<CheckedOptions, OptionsError> {
        let mut options = self;
        if options.tls.is_some() {
            options.seeds = options.seeds.map(Seeds::or_https);
        }
        let checked = CheckedOptions(Arc::new(options));
        checked.client_tls()?;
        checked.server_tls()?;
        let shown = checked.tls.as_ref().filter(|tls| tls.identity.is_some());
        if shown.is_some_and(|tls| tls.authority.is_none()) && checked.secrets.is_none() {
            return Err(OptionsError::AnyCertificate);
        }
        let plain = checked.seeds.as_ref().filter(|seeds| checked.needs_tls() && seeds.is_plain());
        if let Some(seeds) = plain {
            return Err(OptionsError::PlainSeeds { seeds: seeds.clone() });
        }
        let protected = checked.secrets.is_some() || shown.is_some();
        if protected || checked.unprotected || is_loopback(checked.listen) {
            Ok(checked)
        } else {
            Err(OptionsError::Unprotected { listen: checked.listen })
        }
    }
}

/// [`Options`] that have passed [`Options::check`].
#[derive(Clone, Debug)]
pub struct CheckedOptions(Arc<Options>);

impl CheckedOptions {
    /// Whether the node calls no voter without TLS, because only a certificate identifies a voter.
    pub(crate) fn needs_tls(&self) -> bool {
        self.tls.is_some() && self.secrets.is_none()
    }

    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let Some(Tls { authority, identity }) = &self.tls else { return Vec::new() };
        let identity = identity.iter().flat_map(|identity| [&identity.certificate, &identity.key]);
        let file = |pem: &Pem| match pem {
            Pem::File(path) => Some(path.clone()),
            Pem::Text(_) => None,
        };
        authority.iter().chain(identity).filter_map(file).collect()
    }

    /// TLS of a client. Without configured TLS the client trusts the system's authorities.
    pub(crate) fn client_tls(&self) -> Result<rustls::ClientConfig, PemError> {
        let tls = self.tls.as_ref();
        let authority = tls.and_then(|tls| tls.authority.as_ref());
        tenure_tls::client_config(authority, tls.and_then(|tls| tls.identity.as_ref()))
    }

    /// TLS of a server. Without secrets the server asks for certificates.
    pub(crate) fn server_tls(&self) -> Result<Option<rustls::ServerConfig>, PemError> {
        let Some(tls) = &self.tls else { return Ok(None) };
        let Some(identity) = &tls.identity else { return Ok(None) };
        let authority = tls.authority.as_ref().filter(|_| self.secrets.is_none());
        tenure_tls::server_config(authority, identity).map(Some)
    }
}

impl Deref for CheckedOptions {
    type Target = Options;

    fn deref(&self) -> &Options {
        &self.0
    }
}

/// Options that cannot work.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OptionsError {
    #[error(
        "listening on {listen}, beyond loopback, with neither a secret nor TLS: every host that \
         reaches this voter could vote; give a secret file or certificates, or listen on 127.0.0.1"
    )]
    Unprotected { listen: SocketAddr },
    #[error(
        "there is no secret, and TLS trusts the system's authorities, whose certificates every \
         host of the web has; give the voters' own authority, or a secret file"
    )]
    AnyCertificate,
    #[error(
        "{seeds} has http://, but without secrets only certificates identify voters: write \
         https://, or no scheme"
    )]
    PlainSeeds { seeds: Seeds },
    #[error(transparent)]
    Pem(#[from] PemError),
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "one secret of sixteen bytes and more";

    fn at(listen: &str) -> Options {
        Options::new(listen.parse().unwrap())
    }

    #[test]
    fn only_loopback_goes_unprotected() {
        for listen in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            at(listen).check().unwrap();
        }
        for listen in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "[::ffff:10.0.0.1]:1"] {
            let refused = at(listen).check().unwrap_err();
            assert!(matches!(refused, OptionsError::Unprotected { .. }), "{listen}");
            let secrets = Some(Secrets::parse(SECRET).unwrap());
            Options { secrets, ..at(listen) }.check().unwrap();
            Options { unprotected: true, ..at(listen) }.check().unwrap();
        }
    }

    #[test]
    fn unreadable_certificates_stop_start() {
        let missing = || Pem::File("/nowhere/voter.pem".into());
        let identity = Identity { certificate: missing(), key: missing() };
        let tls = Some(Tls { authority: None, identity: Some(identity) });
        let told = Options { tls, ..at("127.0.0.1:1") }.check().unwrap_err().to_string();
        assert_eq!(told, "cannot read /nowhere/voter.pem: No such file or directory (os error 2)");
    }
}
