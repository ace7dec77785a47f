//! Explains errors of NATS and of the way to it, with the settings that they come from.

use std::time::Duration;

use tenure::NodeName;
use tenure_core::allcall::Times;
use tenure_nats::{Asks, ConnectError, LoginError, OptionsError, Server};

use super::bus::{Proof, Settings};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Origins;
use crate::settings::hidden::{PASSWORD_ENTRY, TOKEN_ENTRY};
use crate::settings::table;

#[derive(Clone)]
pub(super) struct Explain {
    settings: Settings,
    origins: Origins,
}

impl Explain {
    pub(super) fn new(settings: &Settings, origins: &Origins) -> Self {
        Self { settings: settings.clone(), origins: origins.clone() }
    }

    pub(super) fn options(&self, error: &OptionsError) -> Failure {
        let (names, fix): (&[&str], &str) = match error {
            OptionsError::Pem(error) => (error.settings(), error.fix()),
            OptionsError::Login(LoginError::File { .. }) => {
                (self.proofs(), "name a file that this user may read")
            }
            OptionsError::Login(_) => (self.proofs(), "name another file"),
            OptionsError::TlsWithoutScheme { .. } => (&["servers"], "write tls:// in --servers"),
            // Settings cannot cause these errors.
            OptionsError::NoServer | OptionsError::NoTime => (&[], "report it"),
        };
        self.origins.failure(Exit::Usage, error.to_string(), fix, names)
    }

    pub(super) fn unreachable(&self, server: &Server, error: &ConnectError) -> Failure {
        let mut what = format!("{server} cannot be used: {error}");
        let (exit, names, fix): (_, &[&str], _) = match error {
            ConnectError::Silent { .. } | ConnectError::Failed { .. } => return self.silent(&what),
            ConnectError::Refused { asks, .. } => (Exit::Usage, self.proofs(), self.login(*asks)),
            ConnectError::Login { .. } => {
                (Exit::Usage, self.proofs(), "correct the login of this process".into())
            }
            ConnectError::NoTls => {
                let fix = "write nats:// for this server in --servers, without --cacert, --cert \
                           and --key; or have the server speak TLS";
                (Exit::Usage, &["servers"], fix.into())
            }
            ConnectError::Tls { .. } if !server.is_secure() => {
                what += "; the server wants TLS, and --servers says nats://";
                let fix = "write tls:// for this server in --servers; unless the system trusts \
                           the issuer of its certificate, also give --cacert with that issuer";
                (Exit::Usage, &["servers", "cacert"], fix.into())
            }
            ConnectError::Tls { why } => match why.cure() {
                Some(fix) => (Exit::Usage, &["servers"], fix.into()),
                None => {
                    let fix = "give --cacert with the issuer of the servers' certificates, and \
                               name servers as their certificates do. Where servers ask for a \
                               client certificate, give --cert and --key";
                    (Exit::Usage, &["servers", "cacert", "cert"], fix.into())
                }
            },
            ConnectError::PayloadTooSmall { needed, .. } => {
                let fix = format!("set max_payload: {needed} or more there, or correct --servers");
                (Exit::Refused, &["servers"], fix)
            }
        };
        self.origins.failure(exit, what, fix, names)
    }

    /// Describes how to log in at a server that asks for a login of this kind.
    fn login(&self, asks: Asks) -> String {
        let word = "--user NAME and its password, or --token-file FILE";
        let ways = match asks {
            Asks::Word => word.to_owned(),
            Asks::Signature => format!(
                "--creds FILE or --nkey FILE; or, if that server knows \
                                        passwords or tokens, {word}"
            ),
        };
        let fits = match &self.settings.proof {
            None => return format!("log in: give {ways}"),
            Some(Proof::User(_) | Proof::Token(..)) => asks == Asks::Word,
            Some(Proof::Credentials(_) | Proof::NKey(_)) => asks == Asks::Signature,
        };
        if fits {
            format!("correct the login of this process, or give {ways}")
        } else {
            format!("give {ways}; or correct the login of this process")
        }
    }

    pub(super) fn silent(&self, why: &str) -> Failure {
        let fix = "check that NATS runs there, or correct --servers";
        self.origins.failure(Exit::Unknown, why, fix, &["servers"])
    }

    /// Describes a login that the servers no longer accept, and the remedy.
    pub(super) fn logged_out(&self, why: &str) -> String {
        let again = match &self.settings.proof {
            Some(Proof::User(login)) if login.file.is_none() => {
                "if the password has changed, start this process again with the new password"
            }
            Some(Proof::Token(_, None)) => {
                "if the token has changed, start this process again with the new token"
            }
            Some(Proof::User(_)) => {
                "the password file is read again at each attempt: correct the password there"
            }
            Some(_) => "the login file is read again at each attempt: correct the login there",
            None => "start this process again with a login",
        };
        format!("{why}; {again}")
    }

    /// Explains a question without an answer: a leader may exist that this process does not hear.
    pub(super) fn not_heard(&self, wait: Duration) -> Failure {
        let what = format!(
            "no candidate has said who leads; this command must listen for {wait:.1?} before it \
             can say that nobody leads"
        );
        let fix = format!(
            "check that --cluster and --election are right and that candidates run, or ask for \
             longer: --wait {}s",
            wait.as_secs() + 2
        );
        self.origins.failure(Exit::Unknown, what, fix, &["cluster", "election", "lease"])
    }

    /// Explains that another process of the cluster uses other times than this process.
    pub(super) fn other_times(
        &self,
        who: &NodeName,
        theirs: Times,
        ours: Times,
        asks: bool,
    ) -> Failure {
        let times = [
            ("heartbeat", theirs.heartbeat, ours.heartbeat),
            ("lease", theirs.lease, ours.lease),
            ("max-clock-skew", theirs.max_clock_skew, ours.max_clock_skew),
        ];
        let other = || times.iter().filter(|(_, theirs, ours)| theirs != ours);
        let told = |of: fn(&(&str, Duration, Duration)) -> Duration| {
            let told = other().map(|time| format!("{} {:?}", time.0, of(time)));
            told.collect::<Vec<_>>().join(", ")
        };
        let cluster = &self.settings.config.cluster;
        let what = format!(
            "{who} takes part in cluster {cluster} with {}, and {} has {}: all processes of a \
             cluster must have the same times",
            told(|(_, theirs, _)| *theirs),
            if asks { "this command" } else { "this candidate" },
            told(|(_, _, ours)| *ours),
        );
        let flags = other().map(|(name, theirs, _)| format!("--{name} {}", table::span(theirs)));
        let fix = format!(
            "give {}, or correct the settings of {who}; or give the --cluster that you mean",
            flags.collect::<Vec<_>>().join(" ")
        );
        let names: Vec<_> = other().map(|(name, ..)| *name).chain(["cluster"]).collect();
        self.origins.failure(Exit::Refused, what, fix, &names)
    }

    pub(super) fn denied(&self, why: &str) -> Failure {
        let fix = "give this login the permissions that docs/howto/nats.md names for participants, \
                   or for askers";
        let names = [self.proofs(), &["cluster", "subject-prefix"]].concat();
        self.origins.failure(Exit::Refused, why, fix, &names)
    }

    fn proofs(&self) -> &'static [&'static str] {
        match self.settings.proof {
            Some(Proof::Credentials(_)) => &["creds"],
            Some(Proof::NKey(_)) => &["nkey"],
            Some(Proof::Token(..)) => &[TOKEN_ENTRY],
            Some(Proof::User(_)) | None => &["user", PASSWORD_ENTRY],
        }
    }
}
