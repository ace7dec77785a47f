//! The certificate of the server, read again when its files change.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::ServerConfig;
use tenure::{Time, clock};
use tenure_tls::{Identity, Pem};
use tokio_rustls::TlsAcceptor;

use super::ServerError;

/// The pause between two looks at the files.
const LOOKS: Duration = Duration::from_secs(10);

pub(super) struct Certificate {
    files: (PathBuf, PathBuf),
    config: Arc<ServerConfig>,
    /// The last look, and the times of the files then.
    looked: Time,
    written: [Option<SystemTime>; 2],
}

impl Certificate {
    pub(super) fn read(files: (PathBuf, PathBuf)) -> Result<Self, ServerError> {
        // A change after this is noticed by the next look.
        let written = written(&files);
        let config = config(&files).map_err(ServerError::Certificate)?;
        Ok(Self { files, config, looked: clock::now(), written })
    }

    /// The acceptor for the next connection. If the present files cannot be used, the earlier
    /// certificate stays in use.
    pub(super) fn acceptor(&mut self) -> TlsAcceptor {
        let now = clock::now();
        if now.since(self.looked) >= LOOKS {
            self.looked = now;
            let written = written(&self.files);
            if written != self.written {
                self.written = written;
                match config(&self.files) {
                    Ok(config) => self.config = config,
                    Err(error) => tracing::warn!("the certificate of HTTP stays as it is: {error}"),
                }
            }
        }
        self.config.clone().into()
    }
}

fn config((certificate, key): &(PathBuf, PathBuf)) -> Result<Arc<ServerConfig>, String> {
    let identity =
        Identity { certificate: Pem::File(certificate.clone()), key: Pem::File(key.clone()) };
    let config = tenure_tls::server_config(None, &identity).map_err(|error| error.to_string())?;
    Ok(Arc::new(config))
}

fn written((certificate, key): &(PathBuf, PathBuf)) -> [Option<SystemTime>; 2] {
    [certificate, key].map(|file| file.metadata().ok()?.modified().ok())
}
