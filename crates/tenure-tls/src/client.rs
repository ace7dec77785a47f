//! TLS of a client.

use std::error::Error;
use std::io;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::pem::{Identity, Pair, Part, Pem, PemError};
use crate::server::roots;

/// TLS for a client that trusts certificates signed by `authority`, or by the system's authorities,
/// and shows `identity` where a server asks for it.
///
/// # Errors
///
/// Errors of reading, and files without a certificate or key.
pub fn client_config(
    authority: Option<&Pem>,
    identity: Option<&Identity>,
) -> Result<ClientConfig, PemError> {
    let roots = match authority {
        Some(pem) => roots(pem)?,
        None => system(),
    };
    let unusable = |why: rustls::Error| PemError::Unusable {
        part: Part::Certificate,
        place: "the client's certificate".to_owned(),
        why: why.to_string().into(),
    };
    // An application may contain several libraries for cryptography: choose this one here.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_root_certificates(roots);
    let Some(identity) = identity else { return Ok(builder.with_no_client_auth()) };
    let Pair { certificate, key } = identity.read()?;
    let certificates = CertificateDer::pem_slice_iter(&certificate).filter_map(Result::ok);
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| PemError::Unusable {
        part: Part::Key,
        place: identity.key.place(),
        why: error.to_string().into(),
    })?;
    builder.with_client_auth_cert(certificates.collect(), key).map_err(unusable)
}

/// The system's authorities. Skips an unreadable certificate: the others are still trusted.
fn system() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

/// Whether this [`reason`] shows that the other side does not speak TLS.
#[must_use]
pub fn is_no_tls(reason: &(dyn Error + 'static)) -> bool {
    use rustls::InvalidMessage::{InvalidContentType, UnknownProtocolVersion};
    matches!(
        reason.downcast_ref(),
        Some(rustls::Error::InvalidMessage(InvalidContentType | UnknownProtocolVersion))
    )
}

/// The TLS error of a failed connection, if TLS failed: one side does not trust the other's
/// certificate, or the other side does not speak TLS.
#[must_use]
pub fn reason<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let mut error = Some(error);
    while let Some(one) = error {
        if one.is::<rustls::Error>() {
            return Some(one);
        }
        // `source()` skips the error that an `io::Error` wraps: take it here.
        let wrapped = one.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        error = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => one.source(),
        };
    }
    None
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TlsCause {
    /// The other side ended the handshake, and its alert names no cause.
    #[error("{said}: {}", HANDSHAKE_CAUSE)]
    Handshake { said: Arc<str> },
    /// The authority is unknown, on a system without any authorities, such as an image without
    /// `ca-certificates`.
    #[error("{said}: this system has no certificates of authorities")]
    NoAuthorities { said: Arc<str> },
    #[error("{said}")]
    Other { said: Arc<str> },
}

impl TlsCause {
    /// The cause in words, for this [`reason`], also where the library prints only a type's name.
    #[must_use]
    pub fn of(reason: &(dyn Error + 'static)) -> Self {
        Self::on(reason, || system().is_empty())
    }

    /// The cause on a system that may have no certificates of authorities.
    fn on(reason: &(dyn Error + 'static), has_none: impl FnOnce() -> bool) -> Self {
        use rustls::AlertDescription::HandshakeFailure;
        use rustls::CertificateError::UnknownIssuer;
        let said = reason.to_string();
        match reason.downcast_ref() {
            Some(rustls::Error::AlertReceived(HandshakeFailure)) => {
                return Self::Handshake { said: said.into() };
            }
            Some(rustls::Error::InvalidCertificate(UnknownIssuer)) if has_none() => {
                return Self::NoAuthorities { said: said.into() };
            }
            _ => {}
        }
        if said.contains("CaUsedAsEndEntity") {
            return Self::other(
                "the server shows the certificate of an authority: make a certificate for the \
                 server itself, with basicConstraints=CA:FALSE",
            );
        }
        Self::other(said)
    }

    #[must_use]
    pub fn other(said: impl Into<Arc<str>>) -> Self {
        Self::Other { said: said.into() }
    }

    /// The cure, if this cause has one.
    #[must_use]
    pub const fn cure(&self) -> Option<&'static str> {
        match self {
            Self::Handshake { .. } => Some(HANDSHAKE_CURE),
            Self::NoAuthorities { .. } => Some(AUTHORITY_CURE),
            Self::Other { .. } => None,
        }
    }
}

/// The likely causes of the alert `handshake_failure`. A server with a key on the curve P-521 sends
/// this alert, because the TLS library offers no signatures on that curve to servers. A server that
/// misses a client certificate sends this alert with TLS 1.2, which has no better alert.
pub const HANDSHAKE_CAUSE: &str = "the server's certificate may have a key that this program \
                                   cannot check, such as P-521, or the server may want a client \
                                   certificate";

/// The advice for [`HANDSHAKE_CAUSE`].
pub const HANDSHAKE_CURE: &str = "reissue the server's certificate with a key of P-256, P-384 or \
                                  RSA, or give a client certificate";

/// The advice for [`TlsCause::NoAuthorities`].
const AUTHORITY_CURE: &str = "give the authority that signs the server's certificate (cacert), or \
                              install the package ca-certificates";

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::{AlertDescription, CertificateError, Error, OtherError};

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("never shown")]
    struct CaUsedAsEndEntity;

    #[test]
    fn type_names_become_words() {
        let other = OtherError(Arc::new(CaUsedAsEndEntity));
        let error = Error::InvalidCertificate(CertificateError::Other(other));
        let cause = TlsCause::of(&error);
        assert!(cause.to_string().contains("basicConstraints=CA:FALSE"), "{cause}");
        let unknown = Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let cause = TlsCause::on(&unknown, || false);
        assert_eq!((cause.to_string(), cause.cure()), (unknown.to_string(), None));
    }

    #[test]
    fn missing_authorities_are_named() {
        let unknown = Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let cause = TlsCause::on(&unknown, || true);
        assert!(cause.to_string().contains("no certificates of authorities"), "{cause}");
        assert_eq!(cause.cure(), Some(AUTHORITY_CURE));
        let other = Error::InvalidCertificate(CertificateError::Expired);
        assert_eq!(TlsCause::on(&other, || true).cure(), None);
    }

    #[test]
    fn ended_handshake_has_cure() {
        let alert = Error::AlertReceived(AlertDescription::HandshakeFailure);
        let cause = TlsCause::of(&alert);
        assert_eq!(cause.to_string(), format!("{alert}: {HANDSHAKE_CAUSE}"));
        assert_eq!(cause.cure(), Some(HANDSHAKE_CURE));
    }
}
