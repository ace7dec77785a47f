//! TLS of a server.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

use crate::pem::{Identity, Pair, Part, Pem, PemError};

/// TLS for a server that shows `identity`. With an `authority`, the server admits only clients with
/// a certificate signed by it.
///
/// # Errors
///
/// Errors of reading, and of files that hold no certificate or key.
pub fn server_config(
    authority: Option<&Pem>,
    identity: &Identity,
) -> Result<ServerConfig, PemError> {
    let unusable = |why: &dyn std::fmt::Display| PemError::Unusable {
        part: Part::Certificate,
        place: "the server's certificate".to_owned(),
        why: why.to_string().into(),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?;
    let builder = match authority {
        Some(pem) => {
            let roots = Arc::new(roots(pem)?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|error| unusable(&error))?)
        }
        None => builder.with_no_client_auth(),
    };
    let Pair { certificate, key } = identity.read()?;
    let certificates = CertificateDer::pem_slice_iter(&certificate).filter_map(Result::ok);
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| PemError::Unusable {
        part: Part::Key,
        place: identity.key.place(),
        why: error.to_string().into(),
    })?;
    builder.with_single_cert(certificates.collect(), key).map_err(|error| unusable(&error))
}

pub(crate) fn roots(authority: &Pem) -> Result<RootCertStore, PemError> {
    let text = authority.read(Part::Authority)?;
    let mut roots = RootCertStore::empty();
    let wrong = |why: &dyn std::fmt::Display| PemError::Unusable {
        part: Part::Authority,
        place: authority.place(),
        why: why.to_string().into(),
    };
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|error| wrong(&error))?;
        roots.add(certificate).map_err(|error| wrong(&error))?;
    }
    Ok(roots)
}
