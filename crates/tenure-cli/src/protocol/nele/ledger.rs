//! The settings of a ledger and of its elections.

use std::time::Duration;

use tenure::{ElectionName, NodeName};
use tenure_core::nele::{Config, ConfigError, Mode};
use tenure_kafka::{
    Assignor, Broker, GroupProtocol, Login, Mechanism, Options, Password, Property, PropertyError,
    Tls,
};
use tokio::sync::watch;

use super::{
    ALLOW_UNREPLICATED, ASSIGNOR, AT_ONCE, BROKERS, CREATE_TOPIC, FENCE_BASE, GROUP,
    GROUP_PROTOCOL, HEARTBEAT_INTERVAL, HOST, KAFKA_PROPERTY, LEAD_ON, MAX_POLL_INTERVAL, MODE,
    ON_EXIT, ON_STOP, OTHER_BROKERS, PARTITIONS, PUBLISH_INTERVAL, Properties, RESTART, ROLE,
    ROLES, RoleRange, SASL_MECHANISM, SESSION_TIMEOUT, TAKEOVER, TOPIC,
};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::protocol::{Layers, Purpose, pem, tls, whole};
use crate::settings::{Origin, Origins, parse, table};

/// The name of an asker, and of a candidate while its settings are checked.
const UNNAMED: &str = "asker";

/// The number of replicas of a new topic.
const COPIES: u16 = 3;

/// The longest time for the acknowledgement of a record, and for finding the end of a partition.
const DELIVERY_MAX: Duration = Duration::from_secs(1);
/// The longest time for which a broker may hold back an answer.
const FETCH_MAX: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// The core's settings, checked together. The candidate's name is added later.
    pub(super) config: Config,
    pub(super) options: Options,
    /// Properties as the user gave them.
    pub(super) given: Properties,
    pub(super) roles: RoleRange,
    /// Brokers of the second cluster, if an asker shows two clusters.
    pub(super) other_brokers: Vec<Broker>,
    /// The machine of a candidate, if the user named it.
    pub(super) host: Option<NodeName>,
    /// Whether the user named no role.
    pub(super) any_role: bool,
    pub(super) runs_again: bool,
    /// Whether a process that must end leaves the group, and keeps leading until another process
    /// leads.
    pub(super) leads_on: bool,
    /// The reason for which no broker has answered yet.
    pub(super) silence: watch::Sender<Option<Failure>>,
}

impl Settings {
    pub(super) fn read(layers: &mut Layers<'_>, purpose: Purpose<'_>) -> Result<Self, Failure> {
        let Some(election) = purpose.election() else { return Err(bug(&"no election is named")) };
        let brokers = layers.required(&BROKERS)?;
        let role = layers.optional(&ROLE)?;
        let roles = roles(layers, role)?;
        let election = whole(election, role);
        let topic = layers.or_follows(&TOPIC, || Ok(election.to_string()))?;
        let mut config = config(layers, &election)?;
        let given = layers.optional(&KAFKA_PROPERTY)?.unwrap_or_default();
        let mut options = Options {
            allow_unreplicated: layers.required(&ALLOW_UNREPLICATED)?,
            group_protocol: match &*layers.required(&GROUP_PROTOCOL)? {
                "consumer" => GroupProtocol::Consumer,
                _ => GroupProtocol::Classic,
            },
            assignor: layers.required(&ASSIGNOR)?.parse().map_err(|error| bug(&error))?,
            properties: properties(layers, &given)?,
            ..Options::new(Vec::new(), &topic)
        };
        options.brokers = parsed(&brokers)?;
        check_assignor(&options, &layers.origins)?;
        let mut other_brokers = Vec::new();
        let mut host = None;
        let mut runs_again = false;
        let mut leads_on = false;
        if matches!(purpose, Purpose::Campaign(_)) {
            config.fence_base = fence_base(layers, config.mode)?;
            host = layers.optional(&HOST)?;
            runs_again = layers.required(&ON_EXIT)? == RESTART;
            leads_on = on_stop(layers, config.mode)?;
            let copies = if options.allow_unreplicated { 1 } else { COPIES };
            options.create = layers.required(&CREATE_TOPIC)?.then_some(copies);
            options.roles = Some(roles.count());
        } else {
            options.only_asks = true;
            // Show all groups if the user names no group: the default group may never have had a
            // member.
            config.all_groups = layers.origins.given(&["group"]).is_empty();
            other_brokers = parsed(&layers.optional(&OTHER_BROKERS)?.unwrap_or_default())?;
        }
        config.clone().check().map_err(|error| refused(&error, &layers.origins))?;
        options.tls = pem::tls(layers, |authority, identity| Tls { authority, identity })?;
        options.login = login(layers)?;
        let any_role = layers.origins.given(&["role", "roles"]).is_empty();
        let (silence, _) = watch::channel(None);
        Ok(Self {
            config,
            options,
            given,
            roles,
            other_brokers,
            host,
            any_role,
            runs_again,
            leads_on,
            silence,
        })
    }
}

fn bug(what: &dyn std::fmt::Display) -> Failure {
    Failure::new(Exit::Bug, what.to_string(), "report it")
}

fn parsed(brokers: &[String]) -> Result<Vec<Broker>, Failure> {
    let broker = |broker: &String| broker.parse().map_err(|error| bug(&error));
    brokers.iter().map(broker).collect()
}

/// Refuses an assignment strategy that the protocol of the group does not have.
fn check_assignor(options: &Options, origins: &Origins) -> Result<(), Failure> {
    let Options { assignor, group_protocol, .. } = options;
    if *group_protocol == GroupProtocol::Classic || *assignor == Assignor::default() {
        return Ok(());
    }
    let what = format!(
        "--assignor {assignor} is for --group-protocol classic: with {group_protocol} the \
         coordinator assigns the partitions"
    );
    Err(origins.usage(what, "remove one of the two", &["assignor", "group-protocol"]))
}

fn roles(layers: &mut Layers<'_>, role: Option<u32>) -> Result<RoleRange, Failure> {
    match (role, layers.optional(&ROLES)?) {
        (Some(_), Some(_)) => {
            let what = "--role and --roles are set, and each names roles";
            Err(layers.origins.usage(what, "set either --role or --roles", &["role", "roles"]))
        }
        (Some(role), None) => Ok(RoleRange::one(role)),
        (None, Some(roles)) => Ok(roles),
        (None, None) => {
            layers.note(&ROLE, Some(&0), Origin::Default);
            Ok(RoleRange::one(0))
        }
    }
}

/// Whether a process that must end keeps leading until another process leads.
fn on_stop(layers: &mut Layers<'_>, mode: Mode) -> Result<bool, Failure> {
    let follows = if mode == Mode::AtLeastOne { LEAD_ON } else { AT_ONCE };
    let leads_on = layers.or_follows(&ON_STOP, || Ok(follows.to_owned()))? == LEAD_ON;
    if leads_on && mode == Mode::AtMostOne {
        let what = "--on-stop lead-on is for at-least-one: in at-most-one a new leader waits until \
                    the work of the old leader has ended";
        return Err(layers.origins.usage(what, "remove --on-stop lead-on", &["on-stop", "mode"]));
    }
    Ok(leads_on)
}

fn fence_base(layers: &mut Layers<'_>, mode: Mode) -> Result<u32, Failure> {
    let base = layers.required(&FENCE_BASE)?;
    if base > 0 && mode == Mode::AtLeastOne {
        let what = "--fence-base is for at-most-one: in at-least-one leaders have no fence";
        let failure = Failure::usage(what, "remove --fence-base, or give --mode at-most-one");
        return Err(layers.origins.explain(failure, &["fence-base", "mode"]));
    }
    Ok(base)
}

fn config(layers: &mut Layers<'_>, election: &ElectionName) -> Result<Config, Failure> {
    let mode = layers.required(&MODE)?;
    let unnamed = NodeName::new(UNNAMED).map_err(|error| bug(&error))?;
    let group = layers.or_follows(&GROUP, || {
        parse::cluster(election.as_str()).map_err(|refusal| {
            let what =
                format!("the election's name cannot be the name of a group: {}", refusal.what);
            Failure::usage(what, "give all processes the same --group NAME")
                .origin("default of --group")
        })
    })?;
    let partitions = layers.required(&PARTITIONS)?;
    let new = Config::new(election.clone(), group, unnamed, partitions, mode);
    let takeover = layers.or_follows(&TAKEOVER, || Ok(new.takeover))?;
    let session_timeout = layers.required(&SESSION_TIMEOUT)?;
    Ok(Config {
        takeover,
        publish_interval: layers.required(&PUBLISH_INTERVAL)?,
        session_timeout,
        heartbeat_interval: layers.or_follows(&HEARTBEAT_INTERVAL, || Ok(session_timeout / 4))?,
        max_poll_interval: layers.or_follows(&MAX_POLL_INTERVAL, || Ok(session_timeout))?,
        // These three times pass within `takeover`, so a short takeover shortens them.
        delivery_timeout: DELIVERY_MAX.min(takeover / 4),
        seek: DELIVERY_MAX.min(takeover / 4),
        fetch_wait: FETCH_MAX.min(takeover / 40),
        drift: layers.required(&table::DRIFT)?,
        grace: layers.required(&table::GRACE)?,
        kill_margin: layers.required(&table::KILL_MARGIN)?,
        ..new
    })
}

fn properties(layers: &Layers<'_>, given: &Properties) -> Result<Vec<Property>, Failure> {
    let read = |(name, value): &(String, String)| {
        format!("{name}={value}").parse().map_err(|error: PropertyError| {
            let (what, fix) = match &error {
                PropertyError::Fixed { name, why: tenure_kafka::Why::Flag(flag) } => {
                    (format!("{name} is not for --kafka-property"), format!("use {flag}"))
                }
                PropertyError::Fixed { name, why: tenure_kafka::Why::Lacks(what, instead) } => {
                    let what = format!("{name} is of no use here: this client has no {what}");
                    (what, (*instead).to_owned())
                }
                PropertyError::Fixed { name, why } => {
                    let what = format!("{name} is not for --kafka-property: {why}");
                    (what, format!("remove {name} from --kafka-property"))
                }
                PropertyError::NoValue => (error.to_string(), "write NAME=VALUE".into()),
            };
            layers.origins.usage(what, fix, &["kafka-property"])
        })
    };
    given.0.iter().map(read).collect()
}

fn login(layers: &mut Layers<'_>) -> Result<Option<Login>, Failure> {
    let mechanism: Mechanism =
        layers.required(&SASL_MECHANISM)?.parse().map_err(|error| bug(&error))?;
    Ok(tls::login(layers)?.map(|login| Login {
        mechanism,
        user: login.user,
        password: match login.file {
            Some(path) => Password::File(path),
            None => Password::Text(login.password.0),
        },
    }))
}

fn refused(error: &ConfigError, origins: &Origins) -> Failure {
    let fix = match error {
        ConfigError::Election { .. } => Some("shorten --election".to_owned()),
        ConfigError::TooShort(short) => {
            let needed = short.needed.as_nanos().div_ceil(1_000_000);
            let needed = Duration::from_millis(u64::try_from(needed).unwrap_or(u64::MAX));
            Some(format!("give --takeover {needed:?} or more"))
        }
        ConfigError::Grace { takeover, usable, grace, kill_margin } => {
            // Some times are parts of `takeover`, and grow with it: each further second of
            // `takeover` adds at least 725 ms of usable time.
            let missing = grace.saturating_add(*kill_margin).saturating_sub(*usable);
            let enough = takeover.saturating_add(missing * 7 / 5).as_millis() / 100 + 1;
            let enough = Duration::from_millis(u64::try_from(enough * 100).unwrap_or(u64::MAX));
            Some(format!("give --takeover {enough:?}, or a shorter --grace"))
        }
        ConfigError::OutOfRange(_) | ConfigError::Mode => None,
    };
    origins.refuse(error, fix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{default, expect_origins};

    #[test]
    fn every_refusal_names_a_setting() {
        let defaults = || {
            let [election, group, id] = ["x", "g", "a"];
            let election = election.parse().unwrap();
            let group = group.parse().unwrap();
            Config::new(election, group, id.parse().unwrap(), 4, Mode::AtMostOne)
        };
        let s = Duration::from_secs;
        let refusals = [
            Config { election: "x".repeat(60).parse().unwrap(), ..defaults() },
            Config { partitions: 0, ..defaults() },
            Config { publish_interval: Duration::from_millis(1), ..defaults() },
            Config { heartbeat_interval: s(5), ..defaults() },
            Config { session_timeout: Duration::from_millis(1), ..defaults() },
            Config { max_poll_interval: s(1), ..defaults() },
            Config { drift: "0.2".parse().unwrap(), ..defaults() },
            Config { takeover: s(86_401), ..defaults() },
            Config { takeover: s(2), ..defaults() },
            Config { takeover: s(5), mode: Mode::AtLeastOne, ..defaults() },
            Config { kill_margin: s(2), ..defaults() },
            Config { grace: s(4), ..defaults() },
            Config { fence_base: 1 << 24, ..defaults() },
        ];
        expect_origins(|origins| {
            let refused = |config: Config| refused(&config.check().unwrap_err(), origins);
            refusals.into_iter().map(refused).collect()
        });
    }

    #[test]
    fn defaults_are_those_of_the_core() {
        let core = |mode| {
            let [election, group, id] = ["x", "g", "a"];
            let election = election.parse().unwrap();
            let group = group.parse().unwrap();
            Config::new(election, group, id.parse().unwrap(), 4, mode)
        };
        let least = core(Mode::AtLeastOne);
        let most = core(Mode::AtMostOne);
        let text = |spec| default(&super::super::PROTOCOL, spec).unwrap();
        assert_eq!(text(&MODE.spec), Mode::default().to_string());
        assert_eq!(text(&PUBLISH_INTERVAL.spec), table::span(&least.publish_interval));
        assert_eq!(text(&SESSION_TIMEOUT.spec), table::span(&least.session_timeout));
        assert_eq!(least.max_poll_interval, least.session_timeout);
        assert_eq!(least.heartbeat_interval, least.session_timeout / 4);
        assert_eq!(text(&table::GRACE.spec), table::span(&least.grace));
        assert_eq!(text(&table::KILL_MARGIN.spec), table::span(&least.kill_margin));
        let takeover = format!(
            "{}; in at-most-one {}",
            table::span(&least.takeover),
            table::span(&most.takeover)
        );
        assert_eq!(TAKEOVER.spec.default, crate::settings::Default::Follows(&*takeover.leak()));
        for config in [least, most] {
            assert_eq!(config.delivery_timeout, DELIVERY_MAX.min(config.takeover / 4));
            assert_eq!(config.seek, DELIVERY_MAX);
            assert_eq!(config.fetch_wait, FETCH_MAX.min(config.takeover / 40));
        }
    }
}
