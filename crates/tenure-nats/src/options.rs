//! Network options: servers, subjects, TLS, a login.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use tenure_tls::{Identity, Pem, PemError};

use crate::login::{Login, LoginError};
use crate::server::Server;
use crate::subject::SubjectPrefix;

/// Options of the connection to the bus. Checked by [`check`](Self::check); cheap to clone
/// afterwards.
///
/// ```
/// use tenure_nats::Options;
///
/// let options = Options::new(vec!["nats://127.0.0.1:4222".parse()?]).check()?;
/// assert_eq!(options.servers.len(), 1);
/// assert_eq!(
///     Options::new(vec![]).check().unwrap_err().to_string(),
///     "no server is given: give at least one, such as nats://127.0.0.1:4222",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The servers. The node uses one server at a time. When that server fails, the node uses the
    /// next server in order.
    pub servers: Vec<Server>,
    pub prefix: SubjectPrefix,
    /// Certificates for TLS. `None` with `tls` servers: the system's authorities are trusted.
    pub tls: Option<Tls>,
    /// The login, if servers ask for one.
    pub login: Option<Login>,
    /// The longest time to connect to one server, before the node tries the next. Default 2 s.
    pub connect_within: Duration,
}

/// Certificates for TLS. Files are read anew for each connection, so that a renewed certificate is
/// used without a restart.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tls {
    /// The certificates of the authority that signs the servers' certificates. `None`: the
    /// system's.
    pub authority: Option<Pem>,
    /// The client's certificate and key, where servers ask for them (mTLS).
    pub identity: Option<Identity>,
    /// Whether TLS begins before the server's greeting, for servers with `handshake_first`.
    pub first: bool,
}

impl Options {
    /// Options with these servers.
    #[must_use]
    pub fn new(servers: Vec<Server>) -> Self {
        Self {
            servers,
            prefix: SubjectPrefix::default(),
            tls: None,
            login: None,
            connect_within: Duration::from_secs(2),
        }
    }

    /// Checks that the options can work, and reads the certificates and the files of the login.
    pub fn check(self) -> Result<CheckedOptions, OptionsError> {
        if self.servers.is_empty() {
            return Err(OptionsError::NoServer);
        }
        if self.connect_within.is_zero() {
            return Err(OptionsError::NoTime);
        }
        if let Some(tls) = &self.tls {
            if let Some(server) = self.servers.iter().find(|server| !server.is_secure()) {
                return Err(OptionsError::TlsWithoutScheme { server: server.clone() });
            }
            tenure_tls::client_config(tls.authority.as_ref(), tls.identity.as_ref())?;
        }
        if let Some(login) = &self.login {
            login.auth(b"")?;
        }
        Ok(CheckedOptions(Arc::new(self)))
    }
}

/// [`Options`] that [`Options::check`] has let pass.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckedOptions(Arc<Options>);

impl Deref for CheckedOptions {
    type Target = Options;

    fn deref(&self) -> &Options {
        &self.0
    }
}

/// Options that cannot work.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OptionsError {
    #[error("no server is given: give at least one, such as nats://127.0.0.1:4222")]
    NoServer,
    #[error("the time to connect to a server is 0 s: give more, such as 2 s")]
    NoTime,
    #[error("TLS is set up, but server {server} may connect without TLS: write tls:// instead")]
    TlsWithoutScheme { server: Server },
    #[error(transparent)]
    Pem(#[from] PemError),
    #[error(transparent)]
    Login(#[from] LoginError),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(options: Options) -> String {
        options.check().unwrap_err().to_string()
    }

    #[test]
    fn options_that_cannot_work_are_told() {
        let plain = || Options::new(vec!["nats://host:4222".parse().unwrap()]);
        let secure = |tls| {
            let servers = vec!["tls://host:4222".parse().unwrap()];
            Options { tls: Some(tls), ..Options::new(servers) }
        };
        assert_eq!(
            told(Options { tls: Some(Tls::default()), ..plain() }),
            "TLS is set up, but server nats://host:4222 may connect without TLS: write tls:// \
             instead"
        );
        assert_eq!(
            told(Options { connect_within: Duration::ZERO, ..plain() }),
            "the time to connect to a server is 0 s: give more, such as 2 s"
        );
        let missing = Tls { authority: Some(Pem::File("/nowhere/ca".into())), ..Tls::default() };
        assert_eq!(
            told(secure(missing)),
            "cannot read /nowhere/ca: No such file or directory (os error 2)"
        );
        let login = Some(Login::NKey("/nowhere/seed".into()));
        assert_eq!(
            told(Options { login, ..plain() }),
            "cannot read /nowhere/seed: No such file or directory (os error 2)"
        );
        secure(Tls::default()).check().unwrap();
    }
}
