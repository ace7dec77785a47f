//! A connection to one endpoint, with a login and a check of the member.

use std::sync::Arc;
use std::time::Duration;

use etcd_client::Error;
use tenure_core::etcd::{Refusal, Reply};

use super::dial::{self, Seal};
use super::fault::{Fault, shorten, words};
use super::grpc_proxy;
use super::login::Login;
use crate::endpoint::Endpoint;
use crate::options::{Options, OptionsError, Tls};
use crate::version::Version;

/// A connection, and the status of its member.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) login: Login,
    /// The time for which the login is good, if it is known.
    pub(crate) left: Option<Duration>,
    pub(crate) status: Status,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    pub version: Version,
    pub cluster: u64,
    pub member: u64,
    /// The id of etcd's own leader, which is no leader of our elections.
    pub leader: Option<u64>,
    /// The member's term of Raft.
    pub term: u64,
    pub revision: u64,
    /// Alarms in etcd's words, such as `NOSPACE`.
    pub alarms: Vec<String>,
}

#[derive(Clone, Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("{endpoint} cannot be reached: {why}")]
    NotReached { endpoint: Endpoint, why: Arc<str> },
    /// A member answers, and says why it cannot be used at the moment.
    #[error("{endpoint} cannot be used now: {said}")]
    NotReady { endpoint: Endpoint, said: Arc<str> },
    #[error("{endpoint} closes each new connection at once ({why})")]
    Closed { endpoint: Endpoint, why: Arc<str> },
    #[error("{endpoint} did not answer within {within:?}")]
    TimedOut { endpoint: Endpoint, within: Duration },
    #[error("{endpoint}: the server speaks TLS")]
    SpeaksTls { endpoint: Endpoint },
    #[error("{endpoint}: the server does not speak TLS")]
    SpeaksNoTls { endpoint: Endpoint },
    #[error("{endpoint}: a certificate has expired ({why})")]
    Expired { endpoint: Endpoint, why: Arc<str> },
    #[error("{endpoint}: the certificate is not trusted: {why}")]
    NoTrust { endpoint: Endpoint, why: Arc<str> },
    #[error("{endpoint} wants a client certificate that it trusts: {why}")]
    NotTrusted { endpoint: Endpoint, why: Arc<str> },
    #[error("{endpoint} ended the TLS handshake ({why}): {}", tenure_tls::HANDSHAKE_CAUSE)]
    Handshake { endpoint: Endpoint, why: Arc<str> },
    #[error("{endpoint} does not accept the login: {said}")]
    Login { endpoint: Endpoint, said: Arc<str> },
    #[error("{endpoint} refuses: {said}")]
    Refused { endpoint: Endpoint, said: Arc<str> },
    #[error("{endpoint} runs etcd {version}; elections need {} or newer", Version::OLDEST)]
    TooOld { endpoint: Endpoint, version: Version },
    #[error(
        "{endpoint} is an etcd grpc-proxy: it may answer a renewal with the result of an earlier \
         renewal, so the end of a lease is not known"
    )]
    GrpcProxy { endpoint: Endpoint },
    #[error(transparent)]
    Options(#[from] OptionsError),
}

impl ConnectError {
    /// The endpoint of the error; `None` if the options are wrong.
    #[must_use]
    pub fn endpoint(&self) -> Option<&Endpoint> {
        match self {
            Self::NotReached { endpoint, .. }
            | Self::NotReady { endpoint, .. }
            | Self::Closed { endpoint, .. }
            | Self::TimedOut { endpoint, .. }
            | Self::SpeaksTls { endpoint }
            | Self::SpeaksNoTls { endpoint }
            | Self::Expired { endpoint, .. }
            | Self::NoTrust { endpoint, .. }
            | Self::NotTrusted { endpoint, .. }
            | Self::Handshake { endpoint, .. }
            | Self::Login { endpoint, .. }
            | Self::Refused { endpoint, .. }
            | Self::TooOld { endpoint, .. }
            | Self::GrpcProxy { endpoint } => Some(endpoint),
            Self::Options(_) => None,
        }
    }

    /// Whether the error may pass by itself: the service is not up yet, or a proxy on the way is
    /// not ready.
    #[must_use]
    pub const fn passes(&self) -> bool {
        matches!(
            self,
            Self::NotReached { .. }
                | Self::NotReady { .. }
                | Self::TimedOut { .. }
                | Self::Closed { .. }
        )
    }

    /// The remedy, if the error says enough for a remedy.
    #[must_use]
    pub fn fix(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotReached { .. }
            | Self::NotReady { .. }
            | Self::TimedOut { .. }
            | Self::Login { .. }
            | Self::Options(_) => return None,
            Self::Closed { endpoint, .. } if endpoint.is_secure() => {
                "give --cert and --key that etcd trusts, or write http:// in --endpoints"
            }
            Self::Closed { .. } => "write https:// in --endpoints if etcd speaks TLS",
            Self::SpeaksTls { .. } => "write https:// instead of http://",
            Self::SpeaksNoTls { .. } => "write http:// instead of https://",
            Self::Expired { .. } => "renew the certificate, or set the clocks right",
            Self::NoTrust { .. } => {
                "give --cacert with the issuer of etcd's certificates, and --endpoints with names \
                 from these certificates"
            }
            Self::NotTrusted { .. } => "give --cert and --key of an authority that etcd trusts",
            Self::Handshake { .. } => tenure_tls::HANDSHAKE_CURE,
            Self::Refused { .. } => "check the roles of the user",
            Self::TooOld { .. } => "upgrade etcd, best to 3.6 or newer",
            Self::GrpcProxy { .. } => "name the members of etcd in --endpoints",
        })
    }

    /// The error with its remedy.
    #[must_use]
    pub fn told(&self) -> String {
        self.fix().map_or_else(|| self.to_string(), |fix| format!("{self}; {fix}"))
    }

    /// The refusal that every endpoint of the cluster would repeat.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::Login { said, .. } => Some(Refusal::Unauthenticated { said: said.clone() }),
            _ => None,
        }
    }
}

pub(crate) async fn connect(
    options: &Options,
    endpoint: &Endpoint,
) -> Result<Connection, ConnectError> {
    in_time(options, endpoint, attempt(options, endpoint)).await
}

/// Logs in anew on an open connection, within the time of the options. Returns the time for which
/// the login is good, if it is known.
pub(super) async fn log_in_again(
    options: &Options,
    endpoint: &Endpoint,
    login: &Login,
) -> Result<Option<Duration>, ConnectError> {
    in_time(options, endpoint, log_in(options, endpoint, login)).await
}

async fn in_time<T>(
    options: &Options,
    endpoint: &Endpoint,
    what: impl Future<Output = Result<T, ConnectError>>,
) -> Result<T, ConnectError> {
    let within = options.connect_within;
    let done = tokio::time::timeout(within, what).await;
    done.unwrap_or_else(|_| Err(ConnectError::TimedOut { endpoint: endpoint.clone(), within }))
}

/// Whether an endpoint that hangs up works with the other scheme. The attempt sends nothing secret.
pub(crate) async fn wants_other_scheme(options: &Options, endpoint: &Endpoint) -> bool {
    let other = endpoint.other_scheme();
    let bare = Options { credentials: None, ..options.clone() };
    match connect(&bare, &other).await {
        // Any answer shows that a connection with the other scheme works.
        Ok(_)
        | Err(
            ConnectError::GrpcProxy { .. }
            | ConnectError::TooOld { .. }
            | ConnectError::NotReady { .. }
            | ConnectError::Login { .. }
            | ConnectError::Refused { .. },
        ) => true,
        // A certificate, good or bad, shows that the server speaks TLS, and so does an alert.
        Err(
            ConnectError::NoTrust { .. }
            | ConnectError::NotTrusted { .. }
            | ConnectError::Handshake { .. }
            | ConnectError::Expired { .. },
        ) => other.is_secure(),
        Err(_) => false,
    }
}

/// Finds the reason why a server that speaks TLS hangs up. The server sends an alert, but the alert
/// is lost if this client writes into the closed connection. So the client connects again until an
/// alert comes. An attempt may also run out of time, because one side stands still for a moment.
pub(crate) async fn why_closed(options: &Options, endpoint: &Endpoint) -> Option<ConnectError> {
    let mut late = 0;
    for _ in 0..ALERTS {
        match connect(options, endpoint).await {
            Err(ConnectError::Closed { .. }) => tokio::time::sleep(ALERT_PAUSE).await,
            Err(ConnectError::TimedOut { .. }) if late < LATE => late += 1,
            Err(
                error @ (ConnectError::NotTrusted { .. }
                | ConnectError::NoTrust { .. }
                | ConnectError::Handshake { .. }
                | ConnectError::Expired { .. }),
            ) => return Some(error),
            // Another server, or no server, may have this address now.
            _ => return None,
        }
    }
    None
}

async fn attempt(options: &Options, endpoint: &Endpoint) -> Result<Connection, ConnectError> {
    let seal = Seal::default();
    let login = prepare(options, endpoint, seal.clone()).await?;
    let left = log_in(options, endpoint, &login).await?;
    let answer = login.client.maintenance_client().status().await;
    let answer = answer.map_err(|error| explain(&error, endpoint))?.0;
    let version: Version = answer.version.parse().map_err(|()| {
        let why =
            shorten(&format!("its version is {:?}, which is no version of etcd", answer.version));
        ConnectError::NotReached { endpoint: endpoint.clone(), why }
    })?;
    if version < Version::OLDEST {
        return Err(ConnectError::TooOld { endpoint: endpoint.clone(), version });
    }
    // Ask for a proxy only after the call to etcd itself: the error of that call explains a broken
    // connection best.
    let is_proxy = grpc_proxy::is_there(login.channel.clone()).await;
    if is_proxy.map_err(|error| explain(&error, endpoint))? {
        return Err(ConnectError::GrpcProxy { endpoint: endpoint.clone() });
    }
    // The checks hold only for this connection: the sealed channel makes no other.
    seal.set();
    let header = answer.header.unwrap_or_default();
    let status = Status {
        version,
        cluster: header.cluster_id,
        member: header.member_id,
        leader: (answer.leader != 0).then_some(answer.leader),
        term: answer.raft_term,
        revision: super::convert::unsigned(header.revision),
        alarms: answer.errors,
    };
    Ok(Connection { login, left, status })
}

async fn prepare(
    options: &Options,
    endpoint: &Endpoint,
    seal: Seal,
) -> Result<Login, ConnectError> {
    let read = || options.tls.as_ref().map_or_else(|| Tls::default().read(), Tls::read);
    let tls = endpoint.is_secure().then(read).transpose()?;
    let login = async {
        Login::new(dial::channel(endpoint.as_str(), tls, options.connect_within, seal)?).await
    };
    login.await.map_err(|error| explain(&error, endpoint))
}

async fn log_in(
    options: &Options,
    endpoint: &Endpoint,
    login: &Login,
) -> Result<Option<Duration>, ConnectError> {
    match &options.credentials {
        Some(credentials) => {
            login.renew(credentials).await.map_err(|error| explain(&error, endpoint))
        }
        None => Ok(None),
    }
}

fn explain(error: &Error, endpoint: &Endpoint) -> ConnectError {
    let endpoint = endpoint.clone();
    match Fault::of(error) {
        Fault::Answer(Reply::Refused(Refusal::Unauthenticated { said })) | Fault::Login(said) => {
            ConnectError::Login { endpoint, said }
        }
        Fault::Answer(_) => ConnectError::Refused { endpoint, said: words(error) },
        Fault::Outdated(said) => ConnectError::NotReady { endpoint, said },
        Fault::Lost(said) if said.contains("etcdserver: ") => {
            ConnectError::NotReady { endpoint, said }
        }
        Fault::Lost(why) => {
            // The TLS library distinguishes these errors only by their texts.
            let is = |sign: &&str| why.to_lowercase().contains(*sign);
            if endpoint.is_secure() && SIGNS_OF_NO_TLS.iter().any(is) {
                ConnectError::SpeaksNoTls { endpoint }
            } else if SIGNS_OF_AGE.iter().any(is) {
                // The rest of the text has the time in seconds since 1970, which people cannot
                // read.
                let short = why.split_once(": verification time").map(|(why, _)| why.into());
                ConnectError::Expired { endpoint, why: short.unwrap_or(why) }
            } else if why.contains(ALERT) && SIGNS_OF_NOT_TRUSTED.iter().any(is) {
                ConnectError::NotTrusted { endpoint, why }
            } else if is(&SIGN_OF_NO_TRUST) {
                ConnectError::NoTrust { endpoint, why }
            } else if is(&SIGN_OF_NO_HANDSHAKE) {
                ConnectError::Handshake { endpoint, why }
            } else if SIGNS_OF_CLOSING.iter().any(is) {
                ConnectError::Closed { endpoint, why }
            } else {
                ConnectError::NotReached { endpoint, why }
            }
        }
    }
}

/// The number of attempts to get an alert, and the pause between them.
const ALERTS: u32 = 40;
const ALERT_PAUSE: Duration = Duration::from_millis(10);
/// The maximum number of attempts that may run out of time.
const LATE: u32 = 2;

/// The TLS library's errors for bytes that are no record of TLS.
const SIGNS_OF_NO_TLS: [&str; 2] = ["invalidcontenttype", "corrupt message"];
/// Errors of a connection whose TLS alert came too late, or whose server expected TLS.
const SIGNS_OF_CLOSING: [&str; 5] = [
    "handshake eof",
    "connection closed",
    "broken pipe",
    "connection reset",
    "operation was canceled",
];
/// Errors for an expired certificate, ours or the server's.
const SIGNS_OF_AGE: [&str; 2] = ["certificate expired", "certificateexpired"];
const SIGN_OF_NO_TRUST: &str = "invalid peer certificate";
/// A server sends this alert if it has no certificate of a kind that the client can check.
const SIGN_OF_NO_HANDSHAKE: &str = "handshakefailure";
/// A server's words about a client's certificate, after [`ALERT`].
const SIGNS_OF_NOT_TRUSTED: [&str; 4] =
    ["certificaterequired", "badcertificate", "certificateunknown", "unknownca"];
const ALERT: &str = "received fatal alert";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_to_do() {
        let endpoint: Endpoint = "http://a:2379".parse().unwrap();
        let version = "3.3.27".parse().unwrap();
        assert_eq!(
            ConnectError::TooOld { endpoint: endpoint.clone(), version }.to_string(),
            "http://a:2379 runs etcd 3.3.27; elections need 3.4.0 or newer"
        );
    }
}
