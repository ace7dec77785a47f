//! Certificates and keys from settings, as drivers read them, and explanations of faulty files.

use std::path::{Path, PathBuf};

use tenure_tls::{Pem, PemError};

use crate::protocol::tls::Identity;

/// The files of a client's certificate and key.
pub(super) fn identity(identity: &Identity) -> tenure_tls::Identity {
    tenure_tls::Identity {
        certificate: Pem::File(identity.certificate.clone()),
        key: Pem::File(identity.key.clone()),
    }
}

/// The wrong settings, and the remedy.
pub(super) fn fix(
    error: &PemError,
    authority: &Option<PathBuf>,
    identity: &Option<Identity>,
) -> (&'static [&'static str], &'static str) {
    let file = |path: &str| -> &'static [&'static str] {
        let is = |named: Option<&Path>| named.is_some_and(|it| it.display().to_string() == path);
        match error {
            // Both settings may name one file, which is good for one of them.
            PemError::NotPem { kind: "PRIVATE KEY", .. }
            | PemError::Encrypted { .. }
            | PemError::Curve { .. } => &["key"],
            _ if is(authority.as_deref()) => &["cacert"],
            _ if is(identity.as_ref().map(|identity| &*identity.certificate)) => &["cert"],
            _ if is(identity.as_ref().map(|identity| &*identity.key)) => &["key"],
            _ => &[],
        }
    };
    match error {
        PemError::File { path, .. } => {
            (file(&path.display().to_string()), "name a file that this user may read")
        }
        PemError::NotPem { place, .. } => (file(place), "name a PEM file that has one"),
        PemError::KeyOfAnother => {
            (&["cert", "key"], "name the key with which this certificate was requested")
        }
        PemError::Encrypted { place } => {
            (file(place), "decrypt it, openssl pkey -in KEY -out NEW.key, and give --key NEW.key")
        }
        PemError::Curve { place } => (
            file(place),
            "make another one, openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 \
             -out NEW.key, and have its certificate signed, openssl req -new -key NEW.key -out \
             NEW.csr",
        ),
        PemError::Unusable { place, .. } => {
            (file(place), "name a file that another program can use for TLS")
        }
    }
}
