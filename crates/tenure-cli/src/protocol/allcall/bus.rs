//! The settings of a bus and of its elections.

use std::path::PathBuf;

use tenure::NodeName;
use tenure::driver::ServerUrl;
use tenure_core::allcall::{Config, ConfigError};
use tenure_nats::{SubjectPrefix, Tls};

use super::{
    CALLERS, CREDS, HEARTBEAT, MAX_CLOCK_SKEW, NKEY, ON_CONFLICT, RANK, REJOIN_WAIT, SERVERS,
    SUBJECT_PREFIX,
};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::protocol::tls::{self, Login, Secret};
use crate::protocol::{Layers, Purpose, pem};
use crate::settings::hidden::{TOKEN, TOKEN_ENTRY};
use crate::settings::{Origins, table};

/// The name of an asker, and of a candidate while its settings are checked.
const UNNAMED: &str = "asker";

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Settings {
    /// The core's settings, checked together. The candidate's name is added later.
    pub(super) config: Config,
    /// Servers: at least one, all with TLS or all without.
    pub(super) servers: Vec<ServerUrl>,
    pub(super) prefix: SubjectPrefix,
    /// Authority of the servers' certificates, and the certificate of this client.
    pub(super) tls: Option<Tls>,
    pub(super) proof: Option<Proof>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Proof {
    User(Login),
    /// A token, and its file, whose content may change later.
    Token(Secret, Option<PathBuf>),
    Credentials(PathBuf),
    /// A file with the seed of a key.
    NKey(PathBuf),
}

impl Settings {
    pub(super) fn read(layers: &mut Layers<'_>, purpose: Purpose<'_>) -> Result<Self, Failure> {
        let bug =
            |error: &dyn std::fmt::Display| Failure::new(Exit::Bug, error.to_string(), "report it");
        let unnamed = NodeName::new(UNNAMED).map_err(|error| bug(&error))?;
        let servers = layers.required(&SERVERS)?;
        let mut config = Config {
            heartbeat: layers.required(&HEARTBEAT)?,
            lease: layers.required(&table::LEASE)?,
            max_clock_skew: layers.required(&MAX_CLOCK_SKEW)?,
            drift: layers.required(&table::DRIFT)?,
            grace: layers.required(&table::GRACE)?,
            kill_margin: layers.required(&table::KILL_MARGIN)?,
            ..Config::new(layers.required(&table::CLUSTER)?, unnamed)
        };
        if matches!(purpose, Purpose::Campaign(_)) {
            config.rank = layers.optional(&RANK)?;
            config.on_conflict = layers.required(&ON_CONFLICT)?;
            config.rejoin_wait = layers.required(&REJOIN_WAIT)?;
            config.callers = layers.required(&CALLERS)?;
        }
        config.clone().check().map_err(|error| refused(&error, &layers.origins))?;
        let prefix = layers.required(&SUBJECT_PREFIX)?.parse().map_err(|error| bug(&error))?;
        let tls =
            pem::tls(layers, |authority, identity| Tls { authority, identity, first: false })?;
        let proof = proof(layers)?;
        if servers.iter().any(|server| !server.is_secure()) {
            tls::refuse_without(layers, SERVERS.spec.name, "nats", "tls")?;
        }
        Ok(Self { config, servers, prefix, tls, proof })
    }
}

/// Reads the login. Refuses two kinds of login at once.
fn proof(layers: &mut Layers<'_>) -> Result<Option<Proof>, Failure> {
    let login = tls::login(layers)?.map(Proof::User);
    let token = tls::line(&TOKEN, layers)?.map(|(token, file)| Proof::Token(token, file));
    let credentials = layers.optional(&CREDS)?;
    let nkey = layers.optional(&NKEY)?;
    let files = [(&CREDS.spec, "credentials file", &credentials), (&NKEY.spec, "seed file", &nkey)];
    for (spec, what, file) in files {
        if let Some(file) = file {
            tls::look_at(layers, spec.name, what, file)?;
        }
    }
    let credentials = credentials.map(Proof::Credentials);
    let nkey = nkey.map(Proof::NKey);
    let ways = [
        (login, "--user", "user"),
        (token, "a token", TOKEN_ENTRY),
        (credentials, "--creds", CREDS.spec.name),
        (nkey, "--nkey", NKEY.spec.name),
    ];
    let mut given = ways.into_iter().filter_map(|(proof, way, name)| Some((proof?, (way, name))));
    match (given.next(), given.next()) {
        (Some((_, (one, first))), Some((_, (other, second)))) => {
            let what = format!("{one} and {other} are set, and each is a login of its own");
            Err(layers.origins.usage(what, "give only one login", &[first, second]))
        }
        (first, _) => Ok(first.map(|(proof, _)| proof)),
    }
}

fn refused(error: &ConfigError, origins: &Origins) -> Failure {
    let fix = match error {
        ConfigError::LeaseTooShort { lease, heartbeat, max_clock_skew, needed } => {
            // Name only the settings whose times alone use up the whole lease.
            let long_skew = max_clock_skew.saturating_mul(4) >= *lease;
            let long_heartbeat = heartbeat.saturating_mul(6) >= *lease;
            let instead = match (long_skew, long_heartbeat) {
                (true, true) => "a smaller --max-clock-skew and a shorter --heartbeat",
                (true, false) => "a smaller --max-clock-skew",
                (false, _) => "a shorter --heartbeat",
            };
            Some(format!("give --lease {needed:?} or more, or {instead}, on every candidate"))
        }
        ConfigError::TooShort(_) => {
            Some("give a longer --lease on every candidate, or a shorter --grace".to_owned())
        }
        ConfigError::OutOfRange(_) | ConfigError::OnConflict => None,
    };
    origins.refuse(error, fix)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::protocol::expect_origins;

    #[test]
    fn every_refusal_names_a_setting() {
        let defaults = || Config::new("x".parse().unwrap(), "y".parse().unwrap());
        let refusals = [
            Config { heartbeat: Duration::from_millis(1), ..defaults() },
            Config { max_clock_skew: Duration::ZERO, ..defaults() },
            Config { drift: "0.2".parse().unwrap(), ..defaults() },
            Config { lease: Duration::from_secs(86_401), ..defaults() },
            Config { lease: Duration::from_secs(9), ..defaults() },
            Config { kill_margin: Duration::from_secs(2), ..defaults() },
            Config { grace: Duration::from_secs(5), ..defaults() },
        ];
        expect_origins(|origins| {
            let refused = |config: Config| refused(&config.check().unwrap_err(), origins);
            refusals.into_iter().map(refused).collect()
        });
    }

    #[test]
    fn defaults_are_those_of_the_core() {
        let core = Config::new("x".parse().unwrap(), "y".parse().unwrap());
        let text = |spec| crate::protocol::default(&super::super::PROTOCOL, spec).unwrap();
        let span = |value: &Duration| table::span(value);
        assert_eq!(text(&HEARTBEAT.spec), span(&core.heartbeat));
        assert_eq!(text(&MAX_CLOCK_SKEW.spec), span(&core.max_clock_skew));
        assert_eq!(text(&table::LEASE.spec), span(&core.lease));
        assert_eq!(text(&table::GRACE.spec), span(&core.grace));
        assert_eq!(text(&table::KILL_MARGIN.spec), span(&core.kill_margin));
        assert_eq!(text(&ON_CONFLICT.spec), core.on_conflict.to_string());
        assert_eq!(text(&CALLERS.spec), core.callers.to_string());
        assert_eq!(text(&REJOIN_WAIT.spec) == "on", core.rejoin_wait);
        assert_eq!(text(&SUBJECT_PREFIX.spec), SubjectPrefix::default().as_str());
    }
}
