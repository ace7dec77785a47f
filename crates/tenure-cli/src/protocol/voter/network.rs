//! The settings of a network of voters, for nodes that vote and nodes that only ask.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tenure_core::voter::{Config, ConfigError, Founding, Listed, Mode, VoterUrl};
use tenure_core::{Drift, ElectionName};
use tenure_voter::{Options, SecretError, Secrets, Seeds, Tls};

use super::list::CallAddress;
use super::{
    ADMISSION, EXPECTED_VOTERS, HEARTBEAT_INTERVAL, MISSED_HEARTBEAT_TOLERANCE, MODE,
    REQUEST_TIMEOUT, SEED_HOST, SEED_HOST_VARIABLE, SEED_PATH, VOTER_ID, VOTER_LIST, VOTER_URL,
    VOTER_URL_VARIABLE,
};
use crate::failure::Failure;
use crate::protocol::{Layers, Purpose, id, layers, pem, tls};
use crate::settings::hidden::SECRET;
use crate::settings::{Origin, Origins, Setting, table};

/// The longest default of the request timeout.
const REQUEST_TIMEOUT_MAX: Duration = Duration::from_millis(300);
const SPREAD_MAX: Duration = Duration::from_millis(500);

#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) mode: Mode,
    pub(super) list: Vec<Listed>,
    pub(super) times: Times,
    pub(super) options: Options,
    pub(super) election: Option<ElectionName>,
    /// Configuration of a voting node.
    pub(super) config: Option<Config>,
}

/// Settings that are the same, or nearly the same, at all voters.
#[derive(Clone, Debug)]
pub(super) struct Times {
    pub(super) heartbeat: Duration,
    pub(super) tolerance: u32,
    pub(super) request_timeout: Duration,
    pub(super) grace: Duration,
    pub(super) kill_margin: Duration,
    pub(super) drift: Drift,
}

impl Settings {
    pub(super) fn read(layers: &mut Layers<'_>, purpose: Purpose<'_>) -> Result<Self, Failure> {
        let mode = layers.required(&MODE)?;
        let times = times(layers)?;
        let list = layers.optional(&VOTER_LIST)?;
        let called = as_in_the_text(layers, &VOTER_URL, VOTER_URL_VARIABLE)?;
        let seeds = seeds(layers, called.as_ref())?;
        let secrets = secrets(layers)?;
        let election = match purpose {
            Purpose::Campaign(election) | Purpose::Ask(election) | Purpose::Order(election) => {
                Some(election.clone())
            }
            Purpose::Members(election) | Purpose::ChangeMembers(election) => election.cloned(),
            Purpose::Elections => None,
        };
        let mut options = Options { seeds, secrets, ..Options::new(ANY_PORT) };
        options.tls = pem::tls(layers, |authority, identity| Tls { authority, identity })?;
        refuse_plain(layers, list.as_deref().unwrap_or_default(), &options)?;
        if let Purpose::Campaign(of) = purpose {
            let shows = options.tls.as_ref().is_some_and(|tls| tls.identity.is_some());
            let whereabouts = whereabouts(layers, called, shows)?;
            options.listen = whereabouts.listen;
            options.state = state(layers, mode)?;
            options.unprotected = layers.required(&table::INSECURE_ANY_ADDRESS)?;
            let own = id::own(layers, &VOTER_ID)?;
            // A voter needs a name from the user: the default name changes at each restart.
            let own = own.ok_or_else(|| layers.missing(&table::ID.spec))?;
            let config = Config {
                mode,
                founding: founding(layers, list.clone())?,
                admission: layers.required(&ADMISSION)?,
                ..times.of(Config::new(of.clone(), own, whereabouts.url))
            };
            let checked = config.clone().check();
            let checked = checked.map_err(|error| refused(&error, &layers.origins))?;
            note_what_follows(&checked, &mut layers.origins);
            let list = list.unwrap_or_default();
            return Ok(Self { mode, list, times, options, election, config: Some(config) });
        }
        if list.is_none() && options.seeds.is_none() {
            let mut failure = layers.missing(&VOTER_LIST.spec);
            failure.fix += "; or give --seed-host";
            return Err(failure);
        }
        Ok(Self { mode, list: list.unwrap_or_default(), times, options, election, config: None })
    }
}

/// Refuses URLs without TLS if only certificates identify voters.
fn refuse_plain(layers: &Layers<'_>, list: &[Listed], options: &Options) -> Result<(), Failure> {
    let alone = options.tls.is_some() && options.secrets.is_none();
    let plain = list.iter().find(|listed| listed.url.as_str().starts_with("http://"));
    let Some(Listed { id, url }) = plain.filter(|_| alone) else { return Ok(()) };
    let what =
        format!("voter {id} has the URL {url} without TLS, and only certificates identify voters");
    let fix = "write https:// in --voter-list, or give all voters a --secret-file, too";
    let names = ["voter-list", "cacert", "cert", "secret-file"];
    Err(layers.origins.usage(what, fix, &names))
}

const ANY_PORT: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

impl Times {
    fn of(&self, config: Config) -> Config {
        let Self { heartbeat, tolerance, request_timeout, grace, kill_margin, drift } = *self;
        Config {
            heartbeat,
            tolerance,
            request_timeout,
            // A draw from a slow region takes a request in each direction.
            cast_timeout: request_timeout.saturating_mul(2),
            result_timeout: request_timeout.saturating_mul(2),
            spread: SPREAD_MAX.min(heartbeat / 2),
            drift,
            grace,
            kill_margin,
            ..config
        }
    }
}

fn times(layers: &mut Layers<'_>) -> Result<Times, Failure> {
    let heartbeat = layers.required(&HEARTBEAT_INTERVAL)?;
    let tolerance = layers.required(&MISSED_HEARTBEAT_TOLERANCE)?;
    Ok(Times {
        heartbeat,
        tolerance,
        request_timeout: layers.or_follows(&REQUEST_TIMEOUT, || {
            let silence = heartbeat.saturating_mul(tolerance.saturating_add(1));
            Ok((silence / 12).min(REQUEST_TIMEOUT_MAX))
        })?,
        grace: layers.required(&table::GRACE)?,
        kill_margin: layers.required(&table::KILL_MARGIN)?,
        drift: layers.required(&table::DRIFT)?,
    })
}

/// Adds derived values to `--show-settings`.
fn note_what_follows(config: &Config, origins: &mut Origins) {
    let mut note = |name, value: Duration, words| {
        // Round to milliseconds, for people.
        let value = Duration::from_millis(u64::try_from(value.as_millis()).unwrap_or(u64::MAX));
        origins.note(name, Some(table::span(&value)), Origin::Follows(words));
    };
    if config.mode == Mode::Majority {
        let lease = config.lease();
        note("(lease)", lease, "(tolerance + 1) heartbeat intervals, and the drift of clocks");
        note("(lease counted)", config.counted(lease), "the part that a leader can use");
    }
    note(
        "(failover)",
        config.failover(),
        "the longest failover without lost messages and tied \
                                           draws",
    );
}

/// Reads a setting. Its fallback is a variable with a name from the source, without `TENURE_`. The
/// variable ranks below the settings file.
fn as_in_the_text<T>(
    layers: &mut Layers<'_>,
    setting: &Setting<T>,
    variable: &str,
) -> Result<Option<T>, Failure> {
    if let Some(value) = layers.optional(setting)? {
        return Ok(Some(value));
    }
    let Some(text) = layers.environment().variable(variable) else { return Ok(None) };
    let origin = Origin::Variable(variable.to_owned());
    let text = text.to_str().ok_or_else(|| {
        let fix = format!("write {variable} in UTF-8");
        Failure::usage(format!("{variable} is not UTF-8"), fix).origin(&origin)
    })?;
    let value = layers::read(setting, text, &origin)?;
    layers.note(setting, Some(&value), origin);
    Ok(Some(value))
}

fn seeds(layers: &mut Layers<'_>, called: Option<&CallAddress>) -> Result<Option<Seeds>, Failure> {
    let host = as_in_the_text(layers, &SEED_HOST, SEED_HOST_VARIABLE)?;
    let path = layers.or_follows(&SEED_PATH, || {
        Ok(match called {
            Some(CallAddress::Path(path)) => path.clone(),
            Some(CallAddress::Url(url)) => path_of(url).to_owned(),
            None => String::new(),
        })
    })?;
    let Some(host) = host else { return Ok(None) };
    let seeds = Seeds::new(&host, &path).map_err(|error| {
        let fix = "correct the seed host or its path";
        layers.origins.usage(error.to_string(), fix, &["seed-host", "seed-path"])
    })?;
    Ok(Some(seeds))
}

/// The address to bind, and the URL that other voters call.
struct Whereabouts {
    listen: SocketAddr,
    url: VoterUrl,
}

fn whereabouts(
    layers: &mut Layers<'_>,
    called: Option<CallAddress>,
    shows_certificate: bool,
) -> Result<Whereabouts, Failure> {
    let listen = layers.optional(&table::LISTEN)?;
    if let Some(CallAddress::Url(url)) = called {
        let Some(listen) = listen.or_else(|| address_of(&url)) else {
            let what = format!("--listen is not set, and the URL {url} has no IP address to bind");
            let fix = "give --listen ADDR:PORT: the address at which calls of this URL arrive";
            return Err(layers.origins.usage(what, fix, &["listen", "voter-url"]));
        };
        if shows_certificate && url.as_str().starts_with("http://") {
            let what = format!("the URL {url} has no TLS, but with --cert this voter speaks TLS");
            let fix = "write https:// in --voter-url and in the lists of all voters, or remove \
                       --cert and --key";
            return Err(layers.origins.usage(what, fix, &["voter-url", "cert"]));
        }
        return Ok(Whereabouts { listen, url });
    }
    let Some(listen) = listen else { return Err(layers.missing(&VOTER_URL.spec)) };
    if listen.ip().is_unspecified() || listen.port() == 0 {
        let what = format!("other voters cannot call {listen}, and --voter-url is not set");
        let fix = "give --voter-url with the URL that others call, or --listen with an address of \
                   this machine and a port";
        return Err(layers.origins.usage(what, fix, &["listen", "voter-url"]));
    }
    let path = match called {
        Some(CallAddress::Path(path)) => path,
        _ => String::new(),
    };
    let scheme = if shows_certificate { "https" } else { "http" };
    let url = format!("{scheme}://{listen}{}", path.trim_end_matches('/'));
    let url = VoterUrl::new(&url).map_err(|error| {
        layers.origins.usage(error.to_string(), "shorten --voter-url", &["voter-url", "listen"])
    })?;
    layers.note(&VOTER_URL, Some(&CallAddress::Url(url.clone())), FROM_LISTEN);
    Ok(Whereabouts { listen, url })
}

const FROM_LISTEN: Origin = Origin::Follows("the address of --listen");

/// The address in a URL, if it has one and a port.
fn address_of(url: &VoterUrl) -> Option<SocketAddr> {
    let (_, rest) = url.as_str().split_once("://")?;
    let authority = rest.split('/').next()?;
    authority.parse().ok().filter(|address: &SocketAddr| address.port() != 0)
}

fn path_of(url: &VoterUrl) -> &str {
    let rest = url.as_str().split_once("://").map_or("", |(_, rest)| rest);
    rest.find('/').map_or("", |at| &rest[at..])
}

fn state(layers: &mut Layers<'_>, mode: Mode) -> Result<Option<PathBuf>, Failure> {
    match (mode, layers.optional(&table::STATE)?) {
        (Mode::Majority, None) => {
            let mut failure = layers.missing(&table::STATE.spec);
            failure.fix += "; in mode majority the directory keeps the promises of the voter";
            Err(failure)
        }
        (_, state) => Ok(state),
    }
}

fn founding(layers: &mut Layers<'_>, list: Option<Vec<Listed>>) -> Result<Founding, Failure> {
    match (list, layers.optional(&EXPECTED_VOTERS)?) {
        (Some(_), Some(_)) => {
            let what = "--voter-list and --expected-voters are set, and each gives the number of \
                        initial voters";
            let failure = Failure::usage(what, "set either --voter-list or --expected-voters");
            Err(layers.origins.explain(failure, &["voter-list", "expected-voters"]))
        }
        (Some(list), None) => Ok(Founding::List(list)),
        (None, Some(expected)) => Ok(Founding::Expected(expected)),
        (None, None) => Ok(Founding::Anybody),
    }
}

fn secrets(layers: &mut Layers<'_>) -> Result<Option<Secrets>, Failure> {
    let Some(tls::HiddenText { text, origin, file }) = SECRET.read(layers)? else {
        return Ok(None);
    };
    let read = Secrets::parse(&text).map_err(|error| {
        let origin = match &file {
            Some(file) => format!("{origin}: {}", file.display()),
            None => origin.to_string(),
        };
        let fix = match error {
            SecretError::Length { .. } => "make a longer secret: openssl rand -hex 32",
            _ => "write one secret on one line, or two secrets on two lines while you replace one",
        };
        Failure::usage(error.to_string(), fix).origin(origin)
    })?;
    Ok(Some(read))
}

pub(super) fn refused(error: &ConfigError, origins: &Origins) -> Failure {
    let fix = match error {
        ConfigError::Timeout { .. } => Some("give a shorter --request-timeout"),
        ConfigError::TooShort(_) => Some(
            "give a larger --missed-heartbeat-tolerance or --heartbeat-interval, or a shorter \
             --grace, --kill-margin or --request-timeout",
        ),
        ConfigError::NoFounding => Some("give --voter-list, or --seed-host and --expected-voters"),
        ConfigError::Voters { .. } => Some("change the list, or the number"),
        ConfigError::Twice { .. } => Some("name each voter once"),
        ConfigError::OutOfRange(_) | ConfigError::LeaseMax { .. } | ConfigError::Admission => None,
    };
    origins.refuse(error, fix.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::expect_origins;

    fn defaults() -> Config {
        let url = "http://127.0.0.1:1".parse().unwrap();
        let config = Config::new("x".parse().unwrap(), "y".parse().unwrap(), url);
        Config { founding: Founding::Expected(3), ..config }
    }

    #[test]
    fn every_refusal_names_a_setting() {
        let refusals = [
            Config { heartbeat: Duration::from_millis(1), ..defaults() },
            Config { tolerance: 0, ..defaults() },
            Config { drift: "0.2".parse().unwrap(), ..defaults() },
            Config { request_timeout: Duration::from_secs(1), ..defaults() },
            Config { kill_margin: Duration::from_secs(2), ..defaults() },
            Config { grace: Duration::from_secs(5), ..defaults() },
            Config { founding: Founding::Anybody, ..defaults() },
            Config { founding: Founding::Expected(0), ..defaults() },
        ];
        expect_origins(|origins| {
            let refused = |config: Config| refused(&config.check().unwrap_err(), origins);
            refusals.into_iter().map(refused).collect()
        });
    }

    #[test]
    fn defaults_are_those_of_the_core() {
        let core = defaults();
        let text = |spec| crate::protocol::default(&super::super::PROTOCOL, spec).unwrap();
        assert_eq!(text(&HEARTBEAT_INTERVAL.spec), table::span(&core.heartbeat));
        assert_eq!(text(&MISSED_HEARTBEAT_TOLERANCE.spec), core.tolerance.to_string());
        assert_eq!(text(&MODE.spec), core.mode.to_string());
        assert_eq!(text(&ADMISSION.spec), core.admission.to_string());
        assert_eq!(text(&table::GRACE.spec), table::span(&core.grace));
        assert_eq!(text(&table::KILL_MARGIN.spec), table::span(&core.kill_margin));
        assert_eq!(text(&table::DRIFT.spec), core.drift.to_string());
        let times = Times {
            heartbeat: core.heartbeat,
            tolerance: core.tolerance,
            request_timeout: REQUEST_TIMEOUT_MAX,
            grace: core.grace,
            kill_margin: core.kill_margin,
            drift: core.drift,
        };
        assert_eq!(times.of(core.clone()), core);
    }

    #[test]
    fn address_is_found_in_url() {
        let address = |url: &str| address_of(&url.parse().unwrap());
        assert_eq!(address("http://10.0.0.1:7/a"), Some("10.0.0.1:7".parse().unwrap()));
        assert_eq!(address("https://[::1]:7"), Some("[::1]:7".parse().unwrap()));
        assert_eq!(address("http://a.example:7"), None);
        assert_eq!(address("http://10.0.0.1"), None);
        assert_eq!(path_of(&"http://a/b/c".parse().unwrap()), "/b/c");
        assert_eq!(path_of(&"http://a".parse().unwrap()), "");
    }
}
