//! The settings of answers over HTTP, for `tenure run` and `tenure node`.

use std::path::PathBuf;

use tenure_http::Place;

use crate::failure::Failure;
use crate::protocol::{Layers, tls};
use crate::settings::{Spec, table};

/// The settings of answers over HTTP.
pub(in crate::invocation) static OF_HTTP: [&Spec; 5] = [
    &table::HTTP.spec,
    &table::HTTP_CERT.spec,
    &table::HTTP_KEY.spec,
    &table::HTTP_TOKEN_FILE.spec,
    &table::HTTP_INSECURE.spec,
];

/// The checked settings of answers over HTTP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HttpSettings {
    pub place: Place,
    /// The files of the certificate and its key.
    pub tls: Option<(PathBuf, PathBuf)>,
    pub token_file: Option<PathBuf>,
}

impl HttpSettings {
    /// Reads the settings; `None` without `--http`.
    pub fn read(layers: &mut Layers<'_>) -> Result<Option<Self>, Failure> {
        let place = layers.optional(&table::HTTP)?;
        let cert = layers.optional(&table::HTTP_CERT)?;
        let key = layers.optional(&table::HTTP_KEY)?;
        let token_file = layers.optional(&table::HTTP_TOKEN_FILE)?;
        let insecure = layers.required(&table::HTTP_INSECURE)?;
        let Some(place) = place else {
            let [_, others @ ..] = OF_HTTP.map(|spec| spec.name);
            let given = layers.origins.given(&others);
            let Some((name, _)) = given.first() else { return Ok(None) };
            let what = format!("{name} is for answers over HTTP, and there is no --http");
            let fix = format!("add --http ADDR, or remove {name}");
            return Err(layers.origins.usage(what, fix, &[*name]));
        };
        let tls = match (cert, key) {
            (Some(cert), Some(key)) => {
                let name = table::HTTP_KEY.spec.name;
                tls::look_at(layers, name, "file of the private key", &key)?;
                Some((cert, key))
            }
            (None, None) => None,
            (Some(_), None) => {
                let fix = "add --http-key FILE";
                return Err(layers.origins.usage("--http-cert has no key", fix, &["http-cert"]));
            }
            (None, Some(_)) => {
                let fix = "add --http-cert FILE";
                let what = "--http-key has no certificate";
                return Err(layers.origins.usage(what, fix, &["http-key"]));
            }
        };
        if tls.is_some() && !cfg!(feature = "tls") {
            let fix = "build tenure with the feature tls, or listen on loopback";
            let what = "this tenure was built without TLS";
            return Err(layers.origins.usage(what, fix, &["http-cert"]));
        }
        let settings = Self { place, tls, token_file };
        settings.check(layers, insecure)?;
        Ok(Some(settings))
    }

    fn check(&self, layers: &Layers<'_>, insecure: bool) -> Result<(), Failure> {
        match &self.place {
            Place::Unix(_) if self.tls.is_some() => {
                let what = "a Unix socket needs no certificate: the mode of its file decides which \
                            users may connect";
                let fix = "remove --http-cert and --http-key";
                Err(layers.origins.usage(what, fix, &["http-cert"]))
            }
            Place::Address(address)
                if !self.place.is_local() && self.tls.is_none() && !insecure =>
            {
                let what = format!(
                    "other machines reach {address}, and without a certificate everybody on the \
                     way can read and change the answers"
                );
                let fix = "give --http-cert and --http-key; or listen on 127.0.0.1; or confirm \
                           with --http-insecure";
                Err(layers.origins.usage(what, fix, &["http"]))
            }
            _ => Ok(()),
        }
    }
}
