//! Explains errors among voters, with the settings that they come from.

use tenure_voter::{MemoryError, Mode, OptionsError, StartError, TlsCause};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::protocol::start as system;
use crate::settings::Origins;

pub(super) fn options(error: &OptionsError, origins: &Origins) -> Failure {
    let (names, fix): (&[&str], &str) = match error {
        OptionsError::Unprotected { .. } => (
            &["listen", "voter-url", "secret-file", "cert"],
            "give --secret-file or set TENURE_SECRET, or give --cacert, --cert and --key; or \
             --insecure-any-address where nobody else can reach this voter",
        ),
        OptionsError::AnyCertificate => (
            &["cacert", "cert", "secret-file"],
            "give --cacert with the authority of the voters alone, or --secret-file",
        ),
        OptionsError::PlainSeeds { .. } => (
            &["seed-host", "cacert", "cert"],
            "write https:// in --seed-host, or no scheme; or give all voters a --secret-file",
        ),
        OptionsError::Pem(error) => (error.settings(), error.fix()),
    };
    origins.failure(Exit::Usage, error.to_string(), fix, names)
}

pub(super) fn start(error: &StartError, origins: &Origins) -> Failure {
    let (exit, names, fix): (_, &[&str], _) = match error {
        StartError::System(error) => return system::refused(error),
        StartError::Listen { .. } => (
            Exit::System,
            &["listen", "voter-url"],
            "end the process that has this address, or give another address with --listen",
        ),
        StartError::Memory(MemoryError::OtherVoter { .. }) => (
            Exit::Usage,
            &["state", "voter-id", "id", "election"],
            "correct the name, or give this voter another directory. You may remove a directory \
             that was made under a wrong name, if its voter has never had a vote",
        ),
        StartError::Promised { .. } => (
            Exit::Usage,
            &["mode", "state"],
            "give --mode majority, as the other voters do, or remove --state",
        ),
        StartError::Memory(_) => (
            Exit::System,
            &["state"],
            "mend the state directory; with an empty directory in its place this process is \
             another voter",
        ),
        StartError::Tls { .. } => (Exit::Usage, &["cacert", "cert", "key"], "name other files"),
        // The settings of the command rule out both errors.
        StartError::NoState | StartError::Mode { .. } => (Exit::Bug, &[], "report it"),
    };
    origins.failure(exit, error.to_string(), fix, names)
}

/// Explains that no voter has answered, for this reason.
pub(super) fn silent(why: &str, origins: &Origins) -> Failure {
    let fix = "check that voters run there, or correct --voter-list or --seed-host";
    origins.failure(Exit::Unknown, why, fix, &["voter-list", "seed-host"])
}

/// Explains that this process and a voter do not believe each other, for the reason `why`.
pub(super) fn unauthenticated(why: &str, origins: &Origins) -> Failure {
    let fix = "give --secret-file or set TENURE_SECRET, with the secret of the voters, and check \
               that the clocks agree";
    origins.failure(Exit::Refused, why, fix, &["secret-file", "voter-list", "seed-host"])
}

/// Explains a failed TLS connection, for this cause.
pub(super) fn no_tls(why: &str, cause: &TlsCause, origins: &Origins) -> Failure {
    if let Some(fix) = cause.cure() {
        return origins.failure(Exit::Usage, why, fix, &["voter-list"]);
    }
    let fix = "give --cacert with the authority of the voters' certificates, and --cert and --key \
               with a certificate that this authority has signed. For voters without TLS write \
               http://";
    origins.failure(Exit::Usage, why, fix, &["voter-list", "cacert", "cert"])
}

/// Explains answers that all come from another network.
pub(super) fn other_network(why: &str, mode: Mode, origins: &Origins) -> Failure {
    let fix =
        format!("ask for the election of these voters, with --mode {mode}, or ask other voters");
    origins.failure(Exit::Usage, why, fix, &["election", "mode", "voter-list", "seed-host"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_certificates_name_their_flags() {
        let cause = TlsCause::other("none was shown");
        let Failure { exit, fix, .. } = no_tls("none was shown", &cause, &Origins::default());
        assert_eq!(exit, Exit::Usage);
        assert!(fix.starts_with("give --cacert with the authority"), "{fix}");
    }
}
