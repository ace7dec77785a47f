//! Options of the cluster: endpoints, TLS, a user.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenure_tls::{Identity, Pair, Part, Pem, PemError};

use crate::endpoint::Endpoint;

/// The options of a cluster. Checked by [`check`](Self::check); cheap to clone afterwards.
///
/// ```
/// use tenure_etcd::Options;
///
/// let options = Options::new(vec!["http://127.0.0.1:2379".parse()?]).check()?;
/// assert_eq!(options.endpoints.len(), 1);
/// assert_eq!(
///     Options::new(vec![]).check().unwrap_err().to_string(),
///     "no endpoint is given: give at least one, such as http://127.0.0.1:2379",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The members, preferred ones first. The node uses one member at a time. When that member
    /// fails, the node asks all members, each 200 ms after the previous member, and uses the first
    /// whose store answers.
    pub endpoints: Vec<Endpoint>,
    /// Certificates for TLS. `None` with `https` endpoints: the system's authorities are trusted.
    pub tls: Option<Tls>,
    /// The login, if etcd asks for one. A server without authentication accepts any login.
    pub credentials: Option<Credentials>,
    /// The longest time that an attempt to connect to one endpoint may take. Default 2 s.
    pub connect_within: Duration,
}

impl Options {
    /// Options with these endpoints.
    #[must_use]
    pub fn new(endpoints: Vec<Endpoint>) -> Self {
        Self { endpoints, tls: None, credentials: None, connect_within: Duration::from_secs(2) }
    }

    /// Checks that the options can work, and reads the certificates.
    pub fn check(self) -> Result<CheckedOptions, OptionsError> {
        if self.endpoints.is_empty() {
            return Err(OptionsError::NoEndpoint);
        }
        if self.connect_within.is_zero() {
            return Err(OptionsError::NoTime);
        }
        if self.tls.is_some() {
            let plain = self.endpoints.iter().find(|endpoint| !endpoint.is_secure());
            if let Some(endpoint) = plain {
                return Err(OptionsError::TlsWithoutHttps { endpoint: endpoint.clone() });
            }
        }
        if let Some(tls) = &self.tls {
            tls.read()?;
            // The client library would notice a wrong key or certificate only when it connects.
            tenure_tls::client_config(tls.authority.as_ref(), tls.identity.as_ref())?;
        }
        Ok(CheckedOptions(Arc::new(self)))
    }
}

/// [`Options`] that [`Options::check`] has let pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckedOptions(Arc<Options>);

impl CheckedOptions {
    /// These options with another `connect_within`.
    pub(crate) fn connecting_within(&self, connect_within: Duration) -> Self {
        Self(Arc::new(Options { connect_within, ..Options::clone(&self.0) }))
    }
}

impl std::ops::Deref for CheckedOptions {
    type Target = Options;

    fn deref(&self) -> &Options {
        &self.0
    }
}

/// Certificates for TLS. Files are read anew for each connection, so that a renewed certificate is
/// used without a restart.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tls {
    /// The certificates of the authorities that sign the servers' certificates. `None`: the
    /// system's.
    pub authority: Option<Pem>,
    /// The client's certificate and key, where servers ask for them (mTLS).
    pub identity: Option<Identity>,
    /// The name in the servers' certificates, if it is not the endpoint's host.
    pub domain_name: Option<String>,
}

#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub user: String,
    pub password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Tls {
    /// The options in the form of the client library.
    pub(crate) fn read(&self) -> Result<etcd_client::TlsOptions, OptionsError> {
        let mut options = etcd_client::TlsOptions::new();
        options = match &self.authority {
            Some(pem) => {
                let pem = pem.read(Part::Authority)?;
                options.ca_certificate(etcd_client::Certificate::from_pem(pem))
            }
            None => options.with_enabled_roots(),
        };
        if let Some(identity) = &self.identity {
            let Pair { certificate, key } = identity.read()?;
            options = options.identity(etcd_client::Identity::from_pem(certificate, key));
        }
        if let Some(name) = &self.domain_name {
            options = options.domain_name(name);
        }
        Ok(options)
    }
}

/// Options that cannot work.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OptionsError {
    #[error("no endpoint is given: give at least one, such as http://127.0.0.1:2379")]
    NoEndpoint,
    #[error("the time to connect to an endpoint is 0 s: give more, such as 2 s")]
    NoTime,
    #[error("TLS is set up, but endpoint {endpoint} has no TLS: write https:// instead")]
    TlsWithoutHttps { endpoint: Endpoint },
    #[error(transparent)]
    Pem(#[from] PemError),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(options: Options) -> String {
        options.check().unwrap_err().to_string()
    }

    fn secure(tls: Tls) -> Options {
        let mut options = Options::new(vec!["https://host:2379".parse().unwrap()]);
        options.tls = Some(tls);
        options
    }

    #[test]
    fn options_that_cannot_work_are_told() {
        let plain = || Options::new(vec!["http://host:2379".parse().unwrap()]);
        let mixed = Options { tls: Some(Tls::default()), ..plain() };
        assert_eq!(
            told(mixed),
            "TLS is set up, but endpoint http://host:2379 has no TLS: write https:// instead"
        );
        let hasty = Options { connect_within: Duration::ZERO, ..plain() };
        assert_eq!(
            told(hasty),
            "the time to connect to an endpoint is 0 s: give more, such as 2 s"
        );
        let missing =
            Tls { authority: Some(Pem::File("/nowhere/ca.pem".into())), ..Tls::default() };
        assert_eq!(
            told(secure(missing)),
            "cannot read /nowhere/ca.pem: No such file or directory (os error 2)"
        );
        let empty = Tls { authority: Some(Pem::Text(b"hello".to_vec())), ..Tls::default() };
        assert_eq!(told(secure(empty)), "the PEM text has no PEM section \"BEGIN CERTIFICATE\"");
    }

    #[test]
    fn foreign_key_is_refused() {
        let [one, other] = [(); 2].map(|()| rcgen::generate_simple_self_signed([]).unwrap());
        let identity = |key: &rcgen::KeyPair| Identity {
            certificate: Pem::Text(one.cert.pem().into()),
            key: Pem::Text(key.serialize_pem().into()),
        };
        let tls = |key| Tls { identity: Some(identity(key)), ..Tls::default() };
        secure(tls(&one.signing_key)).check().unwrap();
        let text = told(secure(tls(&other.signing_key)));
        assert_eq!(text, "the private key does not belong to the client's certificate");
    }

    /// Each connection would fail with such a key, as if no server answered.
    #[test]
    fn unusable_keys_are_refused() {
        let certificate = rcgen::generate_simple_self_signed([]).unwrap().cert.pem();
        for header in ["BEGIN ENCRYPTED PRIVATE KEY", "BEGIN PRIVATE KEY"] {
            let key =
                format!("-----{header}-----\nAAAA\n-----{}-----\n", header.replace("BEGIN", "END"));
            let identity = Identity {
                certificate: Pem::Text(certificate.clone().into()),
                key: Pem::Text(key.into()),
            };
            let refused = secure(Tls { identity: Some(identity), ..Tls::default() }).check();
            assert!(matches!(refused, Err(OptionsError::Pem(_))), "{refused:?}");
        }
        let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let authority = Some(Pem::Text(damaged.into()));
        let refused = secure(Tls { authority, ..Tls::default() }).check();
        assert!(matches!(refused, Err(OptionsError::Pem(_))), "{refused:?}");
    }

    #[test]
    fn secrets_are_not_printed() {
        let credentials = Credentials { user: "ann".into(), password: "secret".into() };
        assert_eq!(format!("{credentials:?}"), "Credentials { user: \"ann\", .. }");
    }
}
