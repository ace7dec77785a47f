//! Texts in PEM format, from files or from memory.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

/// The byte order mark that some editors write at the beginning of a file.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Marks of an encrypted key in PEM: in PKCS #8, and in the older form.
const ENCRYPTED: [&str; 2] = ["-----BEGIN ENCRYPTED PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED"];

/// The identifier 1.3.132.0.35, of the curve P-521, in DER.
const P521: &[u8] = &[0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23];

/// A text in PEM format.
#[derive(Clone, PartialEq, Eq)]
pub enum Pem {
    File(PathBuf),
    Text(Vec<u8>),
}

impl fmt::Debug for Pem {
    /// The text stays hidden, because it may be a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Text(_) => f.write_str("Text(..)"),
        }
    }
}

/// The use of a PEM text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Certificates of the authorities that sign the other side's certificates.
    Authority,
    Certificate,
    Key,
}

impl Part {
    /// The kind of section that the text must have.
    const fn section(self) -> &'static str {
        match self {
            Self::Authority | Self::Certificate => "CERTIFICATE",
            Self::Key => "PRIVATE KEY",
        }
    }
}

/// A client's certificate and its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The certificate, followed by the certificates between it and the authority.
    pub certificate: Pem,
    pub key: Pem,
}

/// The content of an [`Identity`], in PEM format.
#[derive(Clone, PartialEq, Eq)]
pub struct Pair {
    /// The certificate, followed by the certificates between it and the authority.
    pub certificate: Vec<u8>,
    /// The private key, in PEM.
    pub key: Vec<u8>,
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pair(..)")
    }
}

impl Pem {
    /// Reads the text, which must have at least one section for this use: the TLS library treats
    /// any other text as an empty list.
    ///
    /// # Errors
    ///
    /// When the text cannot be read, or has no such section.
    pub fn read(&self, part: Part) -> Result<Vec<u8>, PemError> {
        let mut text = match self {
            Self::File(path) => {
                let refused = |source: io::Error| PemError::File {
                    part,
                    path: path.clone(),
                    source: Arc::new(source),
                };
                std::fs::read(path).map_err(refused)?
            }
            Self::Text(text) => text.clone(),
        };
        if text.starts_with(MARK) {
            text.drain(..MARK.len());
        }
        let ends = format!("{}-----", part.section());
        let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let is_begin =
            |line: &[u8]| line.starts_with(b"-----BEGIN ") && line.ends_with(ends.as_bytes());
        if lines.into_iter().any(is_begin) {
            return Ok(text);
        }
        Err(PemError::NotPem { part, place: self.place() })
    }

    /// The text for a library that reads files by itself. A file with a byte order mark is read
    /// here, because such a library treats the mark as a part of the first line.
    #[must_use]
    pub fn for_others(&self) -> Cow<'_, Self> {
        let Self::File(path) = self else { return Cow::Borrowed(self) };
        match std::fs::read(path) {
            Ok(text) if text.starts_with(MARK) => Cow::Owned(Self::Text(text[MARK.len()..].into())),
            _ => Cow::Borrowed(self),
        }
    }

    pub(crate) fn place(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Text(_) => "the PEM text".to_owned(),
        }
    }
}

impl Identity {
    /// Reads both texts, and checks that they belong together and that the TLS library can use
    /// them.
    ///
    /// # Errors
    ///
    /// When a text cannot be read or used, or they do not belong together.
    pub fn read(&self) -> Result<Pair, PemError> {
        let certificate = self.certificate.read(Part::Certificate)?;
        let key = self.key.read(Part::Key)?;
        let place = || self.key.place();
        let mut lines = key.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        if lines.any(|line| ENCRYPTED.iter().any(|said| line == said.as_bytes())) {
            return Err(PemError::Encrypted { place: place() });
        }
        let part = Part::Key;
        let unusable = |why: &str| PemError::Unusable { part, place: place(), why: why.into() };
        let der = PrivateKeyDer::from_pem_slice(&key);
        let der = der.map_err(|error| unusable(&error.to_string()))?;
        let is_p521 = der.secret_der().windows(P521.len()).any(|bytes| bytes == P521);
        let certificates = CertificateDer::pem_slice_iter(&certificate).filter_map(Result::ok);
        let provider = rustls::crypto::ring::default_provider();
        match CertifiedKey::from_der(certificates.collect(), der, &provider) {
            Err(rustls::Error::InconsistentKeys(_)) => Err(PemError::KeyOfAnother),
            // The library's error does not name the key.
            Err(_) if is_p521 => Err(PemError::Curve { place: place() }),
            Err(rustls::Error::General(why)) => Err(unusable(&why)),
            _ => Ok(Pair { certificate, key }),
        }
    }
}

/// Certificates and keys that cannot work.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PemError {
    #[error("cannot read {path}: {source}", path = path.display())]
    File { part: Part, path: PathBuf, source: Arc<io::Error> },
    #[error("{place} has no PEM section \"BEGIN {}\"", part.section())]
    NotPem { part: Part, place: String },
    #[error("the private key does not belong to the client's certificate")]
    KeyOfAnother,
    #[error("{place} holds an encrypted key, which Tenure cannot decrypt")]
    Encrypted { place: String },
    #[error("{place} holds a key on the curve P-521, and only RSA, P-256, P-384 and Ed25519 work")]
    Curve { place: String },
    #[error("{place} cannot be used: {why}")]
    Unusable { part: Part, place: String, why: Arc<str> },
}

impl PemError {
    /// The names of the settings with this error, in flags and files.
    #[must_use]
    pub const fn settings(&self) -> &'static [&'static str] {
        match self {
            Self::File { part, .. } | Self::NotPem { part, .. } | Self::Unusable { part, .. } => {
                match part {
                    Part::Authority => &["cacert"],
                    Part::Certificate => &["cert"],
                    Part::Key => &["key"],
                }
            }
            Self::KeyOfAnother => &["cert", "key"],
            Self::Encrypted { .. } | Self::Curve { .. } => &["key"],
        }
    }

    #[must_use]
    pub const fn fix(&self) -> &'static str {
        match self {
            Self::File { .. } => "name a file that this user may read",
            Self::NotPem { .. } => "name a PEM file with this section",
            Self::KeyOfAnother => "name the key with which this certificate was requested",
            Self::Encrypted { .. } => {
                "decrypt the key: openssl pkey -in KEY -out NEW.key; then give --key NEW.key"
            }
            Self::Curve { .. } => {
                "make another key: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 \
                 -out NEW.key; then request its certificate: openssl req -new -key NEW.key -out \
                 NEW.csr"
            }
            Self::Unusable { .. } => "name a file that another program can use for TLS",
        }
    }
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
    fn useless_files_are_named() {
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
    fn foreign_key_is_refused() {
        let [one, other] = [(); 2].map(|()| rcgen::generate_simple_self_signed([]).unwrap());
        let identity = |key: &rcgen::KeyPair| Identity {
            certificate: text(one.cert.pem()),
            key: text(key.serialize_pem()),
        };
        let right = identity(&one.signing_key);
        let wrong = identity(&other.signing_key);
        client_config(None, Some(&right)).unwrap();
        let said = "the private key does not belong to the client's certificate";
        assert_eq!(told(client_config(None, Some(&wrong))), said);
        assert_eq!(told(wrong.read()), said);
    }

    /// OpenSSL made these keys; the TLS library has only one general error for them.
    #[test]
    fn unusable_keys_are_named() {
        let certificate = rcgen::generate_simple_self_signed([]).unwrap().cert.pem();
        let told_of = |key: &str| {
            let identity = Identity { certificate: text(&*certificate), key: text(key) };
            let said = told(identity.read());
            assert_eq!(told(client_config(None, Some(&identity))), said);
            said
        };
        let curve = "the PEM text holds a key on the curve P-521, and only RSA, P-256, P-384 and \
                     Ed25519 work";
        assert_eq!(told_of(include_str!("../tests/keys/p521-pkcs8.pem")), curve);
        assert_eq!(told_of(include_str!("../tests/keys/p521-sec1.pem")), curve);
        let encrypted = "the PEM text holds an encrypted key, which Tenure cannot decrypt";
        assert_eq!(told_of(include_str!("../tests/keys/encrypted-pkcs8.pem")), encrypted);
        assert_eq!(told_of(include_str!("../tests/keys/encrypted-sec1.pem")), encrypted);
        let damaged = told_of("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
        assert!(damaged.starts_with("the PEM text cannot be used: "), "{damaged}");
    }

    #[test]
    fn byte_order_marks_are_skipped() {
        let one = rcgen::generate_simple_self_signed([]).unwrap();
        let marked = |pem: String| text(format!("\u{feff}{pem}"));
        let certificate = marked(one.cert.pem());
        let identity = Identity {
            certificate: certificate.clone(),
            key: marked(one.signing_key.serialize_pem()),
        };
        client_config(Some(&certificate), Some(&identity)).unwrap();
        let read = identity.read().unwrap();
        assert!(read.certificate.starts_with(b"-----BEGIN"), "a client library reads it, too");
    }

    #[test]
    fn secrets_are_not_printed() {
        assert_eq!(format!("{:?}", text("secret")), "Text(..)");
        let pair = Pair { certificate: b"secret".to_vec(), key: b"secret".to_vec() };
        assert_eq!(format!("{pair:?}"), "Pair(..)");
    }
}
