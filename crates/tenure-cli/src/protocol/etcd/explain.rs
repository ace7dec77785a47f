//! Explains errors of etcd and of the way to it, with the settings that they come from.

use std::time::Duration;

use tenure_core::ElectionName;
use tenure_core::etcd::Refusal;
use tenure_etcd::{CheckError, ConnectError, OptionsError};

use super::store::Store;
use crate::exit::Exit;
use crate::failure::{Failure, clipped, shell_word};
use crate::protocol::pem;
use crate::settings::Origins;
use crate::settings::hidden::PASSWORD_ENTRY;

/// Makes failures of errors.
#[derive(Clone)]
pub(super) struct Explain {
    store: Store,
    /// The begin of the keys of the election.
    prefix: String,
    origins: Origins,
}

impl Explain {
    pub(super) fn new(store: &Store, election: &ElectionName, origins: &Origins) -> Self {
        let prefix = format!("{}{election}/", store.config.namespace);
        Self { store: store.clone(), prefix, origins: origins.clone() }
    }

    fn failure(&self, exit: Exit, what: String, fix: &str, names: &[&str]) -> Failure {
        self.origins.explain(Failure::new(exit, what, fix), names)
    }

    /// Why elections cannot be held, and whether that may pass by itself.
    pub(super) fn check(&self, error: &CheckError) -> (Failure, bool) {
        match error {
            CheckError::NoEndpoint { errors } => {
                let lasts = |error: &&ConnectError| !may_pass(error);
                let Some(error) = errors.iter().find(lasts).or(errors.first()) else {
                    return (Failure::new(Exit::Bug, error.to_string(), "report it"), false);
                };
                // An endpoint that is only not there yet may accept this client, but a login would
                // fail there as well.
                let permanent = errors.iter().all(|error| !may_pass(error))
                    || errors.iter().any(|error| matches!(error, ConnectError::Login { .. }));
                let mut failure = self.of_connect(error);
                for error in errors {
                    let other = self.of_connect(error).what;
                    if !failure.what.contains(&other) {
                        failure.what += &format!("; {other}");
                    }
                }
                (failure, !permanent)
            }
            CheckError::TwoClusters { .. } => {
                let fix = "name the members of one cluster in --endpoints";
                (self.failure(Exit::Usage, error.to_string(), fix, &["endpoints"]), false)
            }
            CheckError::Denied { said, .. } => (self.denied(said, "readwrite"), false),
            CheckError::NotAnswered { why } => (self.silent(why), true),
        }
    }

    /// The failure for a lasting refusal of this access to the keys: `read` or `readwrite`.
    pub(super) fn refusal(&self, refusal: &Refusal, access: &str) -> Option<Failure> {
        match refusal {
            Refusal::Denied { said } => Some(self.denied(said, access)),
            Refusal::Unauthenticated { said } => Some(self.no_login(said)),
            Refusal::NoSpace { .. } | Refusal::TooManyOperations { .. } | Refusal::Other { .. } => {
                None
            }
        }
    }

    /// There is no answer, for this reason.
    pub(super) fn silent(&self, why: &str) -> Failure {
        self.no_answer(clipped_line(why))
    }

    /// The endpoints lead elsewhere than at the start, for so long already.
    pub(super) fn other_cluster(&self, lasting: Duration) -> Failure {
        let what = format!("only another etcd cluster has answered for {lasting:.0?}");
        let fix = "start this again if etcd was restored with a new token; else correct \
                   --endpoints";
        self.failure(Exit::Refused, what, fix, &["endpoints"])
    }

    fn no_answer(&self, what: String) -> Failure {
        let fix = "see that etcd runs and has a quorum, or correct --endpoints";
        self.failure(Exit::Unknown, what, fix, &["endpoints"])
    }

    fn denied(&self, said: &str, access: &str) -> Failure {
        let prefix = &self.prefix;
        let what = format!("etcd refuses keys that begin with {prefix}: {said}");
        if self.store.login.is_none() {
            return self.login(what);
        }
        let fix = format!(
            "grant a role of this user the keys: etcdctl role grant-permission ROLE --prefix=true \
             {access} {}",
            shell_word(prefix)
        );
        self.failure(Exit::Refused, what, &fix, &["user", "election", "namespace"])
    }

    /// All members of etcd have the same users, so any member's refusal counts.
    fn no_login(&self, said: &str) -> Failure {
        self.login(format!("etcd does not accept the login: {said}"))
    }

    fn login(&self, what: String) -> Failure {
        let fix = match self.store.login {
            Some(_) => "correct --user or the password",
            None => "give --user NAME, and its password by TENURE_PASSWORD or --password-file",
        };
        self.failure(Exit::Usage, what, fix, &["user", PASSWORD_ENTRY])
    }

    fn of_connect(&self, error: &ConnectError) -> Failure {
        let (what, fix) = halves(&error.to_string());
        match error {
            ConnectError::NotReached { .. }
            | ConnectError::NotReady { .. }
            | ConnectError::TimedOut { .. } => self.no_answer(error.to_string()),
            ConnectError::Closed { endpoint, .. } => {
                let fix = if endpoint.is_secure() {
                    "give --cert and --key, or others, or write http:// in --endpoints"
                } else {
                    "write https:// in --endpoints if etcd speaks TLS"
                };
                self.failure(Exit::Unknown, what, fix, self.shown_there())
            }
            ConnectError::SpeaksTls { .. }
            | ConnectError::SpeaksNoTls { .. }
            | ConnectError::Handshake { .. } => {
                self.failure(Exit::Usage, what, &fix, &["endpoints"])
            }
            ConnectError::Expired { .. } => {
                // The text has the time in seconds since 1970, which people cannot read.
                let what = match what.split_once(": verification time") {
                    Some((what, _)) => format!("{what})"),
                    None => what,
                };
                self.failure(Exit::Usage, what, &fix, self.shown_there())
            }
            ConnectError::NoTrust { .. } => {
                let fix = "give --cacert with the issuer of etcd's certificates, and endpoints \
                           that these are good for";
                self.failure(Exit::Usage, what, fix, &["endpoints", "cacert"])
            }
            ConnectError::NotTrusted { .. } => {
                let fix = match self.store.identity {
                    Some(_) => "give another --cert and --key, signed by one whom etcd trusts",
                    None => "give --cert and --key, signed by one whom etcd trusts",
                };
                self.failure(Exit::Usage, what, fix, &["endpoints", "cert"])
            }
            ConnectError::Login { said, .. } => self.no_login(said),
            ConnectError::Refused { .. } => {
                let fix = "look at the roles of the user";
                self.failure(Exit::Refused, error.to_string(), fix, &["endpoints", "user"])
            }
            ConnectError::TooOld { .. } => {
                let fix = "upgrade etcd, best to 3.6 or newer";
                self.failure(Exit::Refused, error.to_string(), fix, &["endpoints"])
            }
            ConnectError::GrpcProxy { .. } => {
                let fix = "name the members of etcd in --endpoints";
                self.failure(Exit::Usage, what, fix, &["endpoints"])
            }
            ConnectError::Options(error) => self.options(error),
        }
    }

    /// The endpoints, and what is shown there.
    fn shown_there(&self) -> &'static [&'static str] {
        match self.store.identity {
            Some(_) => &["endpoints", "cert"],
            None => &["endpoints"],
        }
    }

    /// A file that cannot be used.
    pub(super) fn options(&self, error: &OptionsError) -> Failure {
        let (names, fix): (&[&str], &str) = match error {
            OptionsError::Pem(error) => {
                pem::fix(error, &self.store.authority, &self.store.identity)
            }
            OptionsError::TlsWithoutHttps { .. } => (&["endpoints"], "write https:// there"),
            // Neither can be had with settings.
            OptionsError::NoEndpoint | OptionsError::NoTime => (&[], "report it"),
        };
        self.failure(Exit::Usage, error.to_string(), fix, names)
    }
}

/// Whether waiting may help: the service is not there yet, or something between is not ready.
fn may_pass(error: &ConnectError) -> bool {
    matches!(
        error,
        ConnectError::NotReached { .. }
            | ConnectError::NotReady { .. }
            | ConnectError::TimedOut { .. }
            | ConnectError::Closed { .. }
    )
}

/// The fault and the remedy, where a text has both.
fn halves(text: &str) -> (String, String) {
    let (what, fix) = text.rsplit_once("; ").unwrap_or((text, "correct it"));
    (clipped_line(what), fix.to_owned())
}

/// Texts of others have a bound, but longer than a line.
fn clipped_line(text: &str) -> String {
    if text.len() > 300 { clipped(text) } else { text.to_owned() }
}
