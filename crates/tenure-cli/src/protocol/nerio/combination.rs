//! Settings that are correct alone and contradict each other.

use tenure_core::nerio::{Checked, Config, ConfigError, QuorumTextError, Quorums};

use crate::failure::{Failure, quoted};
use crate::settings::{Origins, timing};

pub(crate) fn check(config: Config, quorums: &str, origins: &Origins) -> Result<Checked, Failure> {
    // Check the members first: with a faulty list, the error about quorums would mislead.
    let mut config = (*config.check().map_err(|error| refused(&error, origins))?).clone();
    config.quorums = Quorums::parse(quorums, &config.names())
        .map_err(|error| refused_quorums(quorums, &error, origins))?;
    config.check().map_err(|error| refused(&error, origins))
}

/// Checks settings that were checked before, after the caller has added some settings.
pub(super) fn again(config: Config, origins: &Origins) -> Result<Checked, Failure> {
    config.check().map_err(|error| refused(&error, origins))
}

fn refused_quorums(text: &str, error: &QuorumTextError, origins: &Origins) -> Failure {
    const FORMS: &str = "majority, weights:a=2,b=1,c=1, grid:2x3 or sets:a+b,b+c,a+c";
    let (what, fix, names): (_, _, &[&str]) = match error {
        QuorumTextError::UnknownForm { .. } => (
            format!("quorums {}: it is no quorum system", quoted(text)),
            format!("write {FORMS}"),
            &["quorums"],
        ),
        QuorumTextError::System { .. } => (
            format!("quorums {}: {error}", quoted(text)),
            "change --quorums, or remove --quorums for a majority".into(),
            &["quorums", "members"],
        ),
        QuorumTextError::Shape { .. } | QuorumTextError::Repeated { .. } => (
            format!("quorums {}: {error}", quoted(text)),
            format!("write --quorums as in {FORMS}"),
            &["quorums"],
        ),
        QuorumTextError::UnknownMember { .. }
        | QuorumTextError::NoWeight { .. }
        | QuorumTextError::NoRow { .. } => (
            format!("quorums {}: {error}", quoted(text)),
            "name the members of --members, each once".into(),
            &["quorums", "members"],
        ),
    };
    origins.usage(what, fix, names)
}

fn refused(error: &ConfigError, origins: &Origins) -> Failure {
    let fix = match error {
        ConfigError::NoMembers => "list the nodes: --members a=127.0.0.1:7101,b=127.0.0.1:7102,…",
        ConfigError::TooManyMembers { .. } => {
            "list three, five or seven; candidates need not be members"
        }
        ConfigError::DuplicateName { .. } => "give every node its own name",
        ConfigError::DuplicateAddress { .. } => "give every node its own address",
        ConfigError::Unreachable { .. } => {
            "give the address of one host and a port from 1 to 65535"
        }
        ConfigError::Timing(error) => return origins.refuse(error, timing::fix(error)),
        ConfigError::QuorumMembers { .. }
        | ConfigError::Quorums(_)
        | ConfigError::OutOfRange(_) => {
            return origins.refuse(error, None);
        }
    };
    origins.refuse(error, Some(fix.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure_core::nerio::{Detector, Member, RingConfig};
    use tenure_core::{ClusterName, Drift, NodeName};

    use super::*;
    use crate::protocol::expect_origins;

    fn config() -> Config {
        let member = |name: &str, port| {
            Member::at(NodeName::new(name).unwrap(), ([127, 0, 0, 1], port).into())
        };
        Config::new(ClusterName::new("x").unwrap(), vec![member("a", 1), member("b", 2)])
    }

    fn ring(silence: Duration) -> Option<RingConfig> {
        Some(RingConfig { silence, ..RingConfig::new(Detector::Ping) })
    }

    /// If a setting can cause a refusal of the core, the failure names a setting to change.
    #[test]
    fn every_refusal_names_a_setting() {
        let second = Duration::from_secs(1);
        let changes: [fn(&mut Config, Duration); 13] = [
            |c, _| c.members.clear(),
            |c, _| c.members[1] = c.members[0].clone(),
            |c, _| c.members[0].address = "127.0.0.1:0".parse().unwrap(),
            |c, _| c.drift = Drift::from_parts_per_billion(900_000_000).unwrap(),
            |c, s| c.delta_max = s * 1_000_000,
            |c, s| c.lease = s / 1_000,
            |c, s| c.lease = s * 1_000_000,
            |c, s| c.verify_max = s * 1_000_000,
            |c, s| c.clock_skew_max = Some(s * 61),
            |c, s| c.kill_margin = s * 2,
            |c, _| c.refresh = Duration::ZERO,
            |c, _| c.ring = ring(Duration::ZERO),
            |c, s| c.ring = ring(s * 1_000_000),
        ];
        expect_origins(|origins| {
            let refused = |change: &fn(&mut Config, Duration)| {
                let mut config = config();
                change(&mut config, second);
                refused(&config.check().unwrap_err(), origins)
            };
            changes.iter().map(refused).collect()
        });
    }
}
