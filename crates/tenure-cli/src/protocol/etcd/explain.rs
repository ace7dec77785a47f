//! Explains errors of etcd and of the way to it, with the settings that they come from.

use std::time::Duration;

use tenure_core::ElectionName;
use tenure_core::etcd::Refusal;
use tenure_etcd::{CheckError, ConnectError, OptionsError};

use super::store::Store;
use crate::exit::Exit;
use crate::failure::{Failure, shell_word};
use crate::settings::Origins;
use crate::settings::hidden::PASSWORD_ENTRY;

#[derive(Clone)]
pub(super) struct Explain {
    store: Store,
    /// The prefix of the keys of the election.
    prefix: String,
    origins: Origins,
}

impl Explain {
    pub(super) fn new(store: &Store, election: &ElectionName, origins: &Origins) -> Self {
        let prefix = format!("{}{election}/", store.config.namespace);
        Self { store: store.clone(), prefix, origins: origins.clone() }
    }

    /// Explains why no election is possible. Also returns whether the error may pass by itself.
    pub(super) fn check(&self, error: &CheckError) -> (Failure, bool) {
        match error {
            CheckError::NoEndpoint { errors } => {
                let lasts = |error: &&ConnectError| !error.passes();
                let Some(error) = errors.iter().find(lasts).or(errors.first()) else {
                    return (Failure::new(Exit::Bug, error.to_string(), "report it"), false);
                };
                // An endpoint that does not answer yet may accept this client. A refused login,
                // however, would fail there as well.
                let permanent = errors.iter().all(|error| !error.passes())
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
                (self.origins.failure(Exit::Usage, error.to_string(), fix, &["endpoints"]), false)
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

    pub(super) fn silent(&self, why: &str) -> Failure {
        self.origins.failure(Exit::Unknown, why, NO_ANSWER, &["endpoints"])
    }

    /// Explains that, for this span, only another cluster than at the start has answered.
    pub(super) fn other_cluster(&self, lasting: Duration) -> Failure {
        let what = format!("for {lasting:.0?}, only another etcd cluster has answered");
        let fix = "start this process again if etcd was restored with a new token; else correct \
                   --endpoints";
        self.origins.failure(Exit::Refused, what, fix, &["endpoints"])
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
        self.origins.failure(Exit::Refused, what, fix, &["user", "election", "namespace"])
    }

    /// Explains a refused login. All members of etcd have the same users, so one refusal is enough.
    fn no_login(&self, said: &str) -> Failure {
        self.login(format!("etcd does not accept the login: {said}"))
    }

    fn login(&self, what: String) -> Failure {
        let fix = match self.store.login {
            Some(_) => "correct --user or the password",
            None => "give --user NAME, and its password by TENURE_PASSWORD or --password-file",
        };
        self.origins.failure(Exit::Usage, what, fix, &["user", PASSWORD_ENTRY])
    }

    fn of_connect(&self, error: &ConnectError) -> Failure {
        let names: &[&str] = match error {
            ConnectError::Login { said, .. } => return self.no_login(said),
            ConnectError::Options(error) => return self.options(error),
            ConnectError::Closed { .. } | ConnectError::Expired { .. }
                if self.shows_certificate() =>
            {
                &["endpoints", "cert"]
            }
            ConnectError::NoTrust { .. } => &["endpoints", "cacert"],
            ConnectError::NotTrusted { .. } => &["endpoints", "cert"],
            ConnectError::Refused { .. } => &["endpoints", "user"],
            _ => &["endpoints"],
        };
        let exit = match error {
            ConnectError::Refused { .. } | ConnectError::TooOld { .. } => Exit::Refused,
            error if error.passes() => Exit::Unknown,
            _ => Exit::Usage,
        };
        self.origins.failure(exit, error.to_string(), error.fix().unwrap_or(NO_ANSWER), names)
    }

    fn shows_certificate(&self) -> bool {
        self.store.tls.as_ref().is_some_and(|tls| tls.identity.is_some())
    }

    pub(super) fn options(&self, error: &OptionsError) -> Failure {
        let (names, fix): (&[&str], &str) = match error {
            OptionsError::Pem(error) => (error.settings(), error.fix()),
            OptionsError::TlsWithoutHttps { .. } => {
                (&["endpoints"], "write https:// in --endpoints")
            }
            // Settings cannot cause these errors.
            OptionsError::NoEndpoint | OptionsError::NoTime => (&[], "report it"),
        };
        self.origins.failure(Exit::Usage, error.to_string(), fix, names)
    }
}

/// The remedy where etcd does not answer.
const NO_ANSWER: &str = "check that etcd runs and has a quorum, or correct --endpoints";
