//! Texts in PEM format, from files or as they are.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

/// Something in PEM format.
#[derive(Clone, PartialEq, Eq)]
pub enum Pem {
    /// In this file.
    File(PathBuf),
    /// This text.
    Text(Vec<u8>),
}

impl fmt::Debug for Pem {
    /// Without the text: it may be a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Text(_) => f.write_str("Text(..)"),
        }
    }
}

/// A client's certificate and its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The certificate, and those between it and the authority.
    pub certificate: Pem,
    /// Its private key.
    pub key: Pem,
}

/// What an [`Identity`] holds, in PEM format.
#[derive(Clone, PartialEq, Eq)]
pub struct Pair {
    /// The certificate, and those between it and the authority.
    pub certificate: Vec<u8>,
    /// Its private key.
    pub key: Vec<u8>,
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pair(..)")
    }
}

impl Pem {
    /// The text of certificates.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or has none.
    pub fn certificates(&self) -> Result<Vec<u8>, PemError> {
        self.read("CERTIFICATE")
    }

    /// The text, if it has at least one section of that kind: a library further down takes
    /// anything else for an empty list.
    fn read(&self, kind: &'static str) -> Result<Vec<u8>, PemError> {
        let text = match self {
            Self::File(path) => {
                let refused = |source: io::Error| PemError::File {
                    path: path.clone(),
                    source: Arc::new(source),
                };
                std::fs::read(path).map_err(refused)?
            }
            Self::Text(text) => text.clone(),
        };
        let ends = format!("{kind}-----");
        let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let is_begin =
            |line: &[u8]| line.starts_with(b"-----BEGIN ") && line.ends_with(ends.as_bytes());
        if lines.into_iter().any(is_begin) {
            return Ok(text);
        }
        Err(PemError::NotPem { place: self.place(), kind })
    }

    pub(crate) fn place(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Text(_) => "the PEM text".to_owned(),
        }
    }
}

impl Identity {
    /// Both texts, which are of each other as far as the TLS library can read them.
    ///
    /// # Errors
    ///
    /// When one cannot be read or is something else, or they are not of each other.
    pub fn read(&self) -> Result<Pair, PemError> {
        let (certificate, key) = (self.certificate.certificates()?, self.key.read("PRIVATE KEY")?);
        let certificates = CertificateDer::pem_slice_iter(&certificate).filter_map(Result::ok);
        if let Ok(key) = PrivateKeyDer::from_pem_slice(&key) {
            let provider = rustls::crypto::ring::default_provider();
            let pair = CertifiedKey::from_der(certificates.collect(), key, &provider);
            if matches!(pair, Err(rustls::Error::InconsistentKeys(_))) {
                return Err(PemError::KeyOfAnother);
            }
        }
        Ok(Pair { certificate, key })
    }
}

/// Certificates and keys that cannot work.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PemError {
    /// A certificate or key cannot be read.
    #[error("cannot read {path}: {source}", path = path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: Arc<io::Error>,
    },
    /// It is read, and is something else.
    #[error("{place} has no PEM section \"BEGIN {kind}\"")]
    NotPem {
        /// Where it was.
        place: String,
        /// What was expected.
        kind: &'static str,
    },
    /// Both are read, and are not of each other.
    #[error("the client's private key is not that of its certificate")]
    KeyOfAnother,
    /// It looks like PEM, and what it holds is damaged or of an unknown kind.
    #[error("{place} cannot be used: {why}")]
    Unusable {
        /// Where it was.
        place: String,
        /// What the TLS library says.
        why: Arc<str>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::client_config;

    fn text(pem: impl Into<Vec<u8>>) -> Pem {
        Pem::Text(pem.into())
    }

    fn told<T>(result: Result<T, PemError>) -> String {
        result.map(drop).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_certificate_is_told() {
        let missing = Pem::File("/nowhere/ca.pem".into());
        assert_eq!(
            told(client_config(Some(&missing), None)),
            "cannot read /nowhere/ca.pem: No such file or directory (os error 2)"
        );
        assert_eq!(
            told(client_config(Some(&text("hello")), None)),
            "the PEM text has no PEM section \"BEGIN CERTIFICATE\""
        );
        let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let said = told(client_config(Some(&text(damaged)), None));
        assert!(said.starts_with("the PEM text cannot be used: "), "{said}");
    }

    #[test]
    fn a_key_of_another_certificate_is_told() {
        let [one, other] = [(); 2].map(|()| rcgen::generate_simple_self_signed([]).unwrap());
        let identity = |key: &rcgen::KeyPair| Identity {
            certificate: text(one.cert.pem()),
            key: text(key.serialize_pem()),
        };
        let (right, wrong) = (identity(&one.signing_key), identity(&other.signing_key));
        client_config(None, Some(&right)).unwrap();
        let said = "the client's private key is not that of its certificate";
        assert_eq!(told(client_config(None, Some(&wrong))), said);
        assert_eq!(told(wrong.read()), said);
    }

    #[test]
    fn secrets_are_not_printed() {
        assert_eq!(format!("{:?}", text("secret")), "Text(..)");
        let pair = Pair { certificate: b"secret".to_vec(), key: b"secret".to_vec() };
        assert_eq!(format!("{pair:?}"), "Pair(..)");
    }
}
