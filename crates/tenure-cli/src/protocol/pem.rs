//! Certificates and keys from settings, as drivers read them.

use tenure_tls::{Identity, Pem};

use super::{Layers, tls};
use crate::failure::Failure;
use crate::settings::table;

/// Reads `--cacert`, `--cert` and `--key`, and makes TLS options for a driver if any of them is
/// set.
pub(super) fn tls<T>(
    layers: &mut Layers<'_>,
    tls: impl FnOnce(Option<Pem>, Option<Identity>) -> T,
) -> Result<Option<T>, Failure> {
    let authority = layers.optional(&table::CACERT)?.map(Pem::File);
    let identity = identity(layers)?;
    let any = authority.is_some() || identity.is_some();
    Ok(any.then(|| tls(authority, identity)))
}

/// Reads `--cert` and `--key`, which need each other.
fn identity(layers: &mut Layers<'_>) -> Result<Option<Identity>, Failure> {
    let certificate = layers.optional(&table::CERT)?;
    let key = layers.optional(&table::KEY)?;
    let alone = |given: &str, missing: &str| {
        let what = format!("--{given} is set and --{missing} is not");
        let fix = format!("give --{missing} too: a certificate is of no use without its key");
        Err(layers.origins.usage(what, fix, &[given, missing]))
    };
    match (certificate, key) {
        (Some(certificate), Some(key)) => {
            tls::look_at(layers, table::KEY.spec.name, "file of the private key", &key)?;
            let [certificate, key] = [certificate, key].map(Pem::File);
            Ok(Some(Identity { certificate, key }))
        }
        (Some(_), None) => alone("cert", "key"),
        (None, Some(_)) => alone("key", "cert"),
        (None, None) => Ok(None),
    }
}
