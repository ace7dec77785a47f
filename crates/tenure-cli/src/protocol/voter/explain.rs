//! Explains errors among voters, with the settings that they come from.

use tenure_voter::{MemoryError, Mode, OptionsError, StartError};

use super::network::{Files, Settings};
use crate::exit::Exit;
use crate::failure::{Failure, clipped};
use crate::protocol::{pem, start};
use crate::settings::Origins;

/// Makes failures of errors.
#[derive(Clone)]
pub(super) struct Explain {
    files: Files,
    origins: Origins,
}

impl Explain {
    pub(super) fn new(settings: &Settings, origins: &Origins) -> Self {
        Self { files: settings.files.clone(), origins: origins.clone() }
    }

    pub(super) fn failure(&self, exit: Exit, what: &str, fix: &str, names: &[&str]) -> Failure {
        // Texts of others have a bound, but longer than a line.
        let what = if what.len() > 400 { clipped(what) } else { what.to_owned() };
        self.origins.explain(Failure::new(exit, what, fix), names)
    }

    /// Options that do not work.
    pub(super) fn options(&self, error: &OptionsError) -> Failure {
        let (fix, names): (&str, &[&str]) = match error {
            OptionsError::Unprotected { .. } => (
                "give --secret-file or set TENURE_SECRET, or give --cacert, --cert and --key; or \
                 --insecure-any-address where nobody else can reach it",
                &["listen", "voter-url", "secret-file", "cert"],
            ),
            OptionsError::AnyCertificate => (
                "give --cacert with the authority of the voters alone, or --secret-file",
                &["cacert", "cert", "secret-file"],
            ),
            OptionsError::PlainSeeds { .. } => (
                "write https:// in --seed-host, or no scheme; or give all voters a --secret-file",
                &["seed-host", "cacert", "cert"],
            ),
            OptionsError::Pem(error) => {
                let (names, fix) = pem::fix(error, &self.files.authority, &self.files.identity);
                (fix, names)
            }
        };
        self.failure(Exit::Usage, &error.to_string(), fix, names)
    }

    /// The failure of a voter that did not start.
    pub(super) fn start(&self, error: &StartError) -> Failure {
        let text = error.to_string();
        match error {
            StartError::System(error) => start::refused(error),
            StartError::Listen { .. } => {
                let fix = "end what has this address, or give another one with --listen";
                self.failure(Exit::System, &text, fix, &["listen", "voter-url"])
            }
            StartError::Memory(MemoryError::OtherVoter { .. }) => {
                let fix = "correct the name, or give this voter a directory of its own; one that \
                           was made under a wrong name, and has never had a vote, can be removed";
                self.failure(Exit::Usage, &text, fix, &["state", "voter-id", "id", "election"])
            }
            StartError::Promised { .. } => {
                let fix = "give --mode majority, as the others have it, or leave --state out";
                self.failure(Exit::Usage, &text, fix, &["mode", "state"])
            }
            StartError::Memory(_) => {
                let fix = "settle that; a directory that was lost or emptied makes another voter";
                self.failure(Exit::System, &text, fix, &["state"])
            }
            StartError::Tls { .. } => {
                let fix = "name files that can be used";
                self.failure(Exit::Usage, &text, fix, &["cacert", "cert", "key"])
            }
            // The settings were read so that neither can be.
            StartError::NoState | StartError::Mode { .. } => {
                self.failure(Exit::Bug, &text, "report it", &[])
            }
        }
    }

    /// No voter has said what was asked, for this reason.
    pub(super) fn silent(&self, why: &str) -> Failure {
        let fix = "see that voters run there, or correct --voter-list or --seed-host";
        self.failure(Exit::Unknown, why, fix, &["voter-list", "seed-host"])
    }

    /// The failure of two sides that do not believe each other, for this reason.
    pub(super) fn unauthenticated(&self, why: &str) -> Failure {
        let fix = "give --secret-file or set TENURE_SECRET, as the voters have it, and see that \
                   the clocks agree";
        self.failure(Exit::Refused, why, fix, &["secret-file", "voter-list", "seed-host"])
    }

    /// TLS did not come about, for this reason.
    pub(super) fn no_tls(&self, why: &str) -> Failure {
        if let Some(fix) = tenure_tls::cure(why) {
            return self.failure(Exit::Usage, why, fix, &["voter-list"]);
        }
        let fix = "give --cacert with the authority of the voters' certificates, and --cert and \
                   --key that it has signed; for voters without TLS write http://";
        self.failure(Exit::Usage, why, fix, &["voter-list", "cacert", "cert"])
    }

    /// The failure where all answers are of another network.
    pub(super) fn other_network(&self, why: &str, mode: Mode) -> Failure {
        let fix = format!("ask for that election, with --mode {mode}, or ask others");
        self.failure(Exit::Usage, why, &fix, &["election", "mode", "voter-list", "seed-host"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_certificates_name_their_flags() {
        let files = Files { authority: None, identity: None };
        let explain = Explain { files, origins: Origins::default() };
        let Failure { exit, fix, .. } = explain.no_tls("none was shown");
        assert_eq!(exit, Exit::Usage);
        assert!(fix.starts_with("give --cacert with the authority"), "{fix}");
    }
}
