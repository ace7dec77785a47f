//! The settings of etcd elections: endpoints, login, and lengths.

use tenure::driver::ServerUrl;
use tenure_core::ElectionName;
use tenure_core::etcd::{Checked, Config, ConfigError};
use tenure_etcd::Tls;

use super::{ENDPOINTS, FENCE_EPOCH, NAMESPACE};
use crate::failure::{Failure, quoted};
use crate::protocol::tls::{self, Login};
use crate::protocol::{Layers, pem};
use crate::settings::parse::ANOTHER;
use crate::settings::{Origins, table, timing};

/// A cluster of etcd, and the access to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Store {
    pub config: Checked,
    /// Endpoints: at least one, all with TLS or all without.
    pub endpoints: Vec<ServerUrl>,
    /// Authority of the members' certificates, and the certificate of this client.
    pub tls: Option<Tls>,
    pub login: Option<Login>,
}

impl Store {
    /// Reads the settings for a command about `election`.
    pub fn read(layers: &mut Layers<'_>, election: Option<&ElectionName>) -> Result<Self, Failure> {
        if let Some(election) = election.filter(|election| election.as_str().ends_with('/')) {
            let what = format!(
                "election {} ends in a slash, which on etcd stands between a name and its \
                 candidates",
                quoted(election.as_str())
            );
            let fix = format!(
                "give all candidates, also those in other programs, an election without a slash at \
                 the end: {ANOTHER}"
            );
            return Err(layers.origins.usage(what, fix, &["election"]));
        }
        let endpoints = layers.required(&ENDPOINTS)?;
        let config = Config {
            namespace: layers.required(&NAMESPACE)?,
            fence_epoch: layers.required(&FENCE_EPOCH)?,
            drift: layers.required(&table::DRIFT)?,
            lease: layers.required(&table::LEASE)?,
            grace: layers.required(&table::GRACE)?,
            kill_margin: layers.required(&table::KILL_MARGIN)?,
            ..Config::default()
        };
        let config = config.check().map_err(|error| refused(&error, &layers.origins))?;
        let tls =
            pem::tls(layers, |authority, identity| Tls { authority, identity, ..Tls::default() })?;
        let login = tls::login(layers)?;
        if endpoints.iter().any(|endpoint| !endpoint.is_secure()) {
            tls::refuse_without(layers, ENDPOINTS.spec.name, "http", "https")?;
        }
        Ok(Self { config, endpoints, tls, login })
    }
}

fn refused(error: &ConfigError, origins: &Origins) -> Failure {
    let fix = match error {
        ConfigError::NotWholeSeconds { .. } => {
            Some("write whole seconds, such as --lease 2s".to_owned())
        }
        ConfigError::Timing(error) => timing::fix(error),
        ConfigError::Namespace { .. } | ConfigError::OutOfRange(_) => None,
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
        let refusals = [
            Config { namespace: "x".repeat(257), ..Config::default() },
            Config { lease: Duration::from_millis(1500), ..Config::default() },
            Config { lease: Duration::from_secs(86_401), ..Config::default() },
            Config { drift: "0.2".parse().unwrap(), ..Config::default() },
            Config { kill_margin: Duration::from_secs(2), ..Config::default() },
            Config { lease: Duration::from_secs(1), ..Config::default() },
        ];
        expect_origins(|origins| {
            let refused = |config: Config| refused(&config.check().unwrap_err(), origins);
            refusals.into_iter().map(refused).collect()
        });
    }
}
