//! The certificate of the server, read again when its files change.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use rustls::ServerConfig;
use tenure::{Time, clock};
use tenure_tls::{Identity, Pem};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::ServerError;
use crate::watch::lock;

/// The pause between two looks at the files.
const LOOKS: Duration = Duration::from_secs(10);

pub(super) struct Certificate {
    files: (PathBuf, PathBuf),
    read: Arc<Mutex<Read>>,
    /// The time of the last look.
    looked: Time,
    /// The task of the running look.
    looks: Option<JoinHandle<()>>,
}

struct Read {
    config: Arc<ServerConfig>,
    /// The modification times of the files, taken before the files were read.
    written: [Option<SystemTime>; 2],
}

impl Certificate {
    pub(super) fn read(files: (PathBuf, PathBuf)) -> Result<Self, ServerError> {
        // If the files change after this line, the next look notices it.
        let written = written(&files);
        let config = config(&files).map_err(ServerError::Certificate)?;
        let read = Arc::new(Mutex::new(Read { config, written }));
        Ok(Self { files, read, looked: clock::now(), looks: None })
    }

    /// The acceptor for the next connection. This call never waits for files, because their file
    /// system may hang: another thread looks at them. If the files cannot be used, the earlier
    /// certificate stays.
    pub(super) fn acceptor(&mut self) -> TlsAcceptor {
        let now = clock::now();
        let is_idle = self.looks.as_ref().is_none_or(JoinHandle::is_finished);
        if is_idle && now.since(self.looked) >= LOOKS {
            self.looked = now;
            let (files, read) = (self.files.clone(), self.read.clone());
            self.looks = Some(tokio::task::spawn_blocking(move || look(&files, &read)));
        }
        lock(&self.read).config.clone().into()
    }
}

fn look(files: &(PathBuf, PathBuf), read: &Mutex<Read>) {
    let written = written(files);
    if written == lock(read).written {
        return;
    }
    let config = config(files);
    let mut read = lock(read);
    read.written = written;
    match config {
        Ok(config) => read.config = config,
        Err(error) => tracing::warn!(
            "the HTTP server keeps its present certificate, because the \
                                      changed files cannot be used: {error}"
        ),
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
