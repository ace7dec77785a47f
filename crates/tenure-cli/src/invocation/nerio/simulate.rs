//! `tenure simulate`: reads the timing of a cluster as every command does, and reads a made-up
//! world from flags only.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenure::settings::without_mark;
use tenure_core::ClusterName;
use tenure_core::nerio::{Checked, Config};
use tenure_sim::forecast::{Question, RoundTrips, Unanswerable};

use crate::exit::Exit;
use crate::failure::{Failure, clipped, quoted};
use crate::protocol::Layers;
use crate::protocol::nerio::{self, MEMBERS};
use crate::settings::Default::{Follows, Nothing, Text};
use crate::settings::parse::Refusal;
use crate::settings::table::{ONE_CALL, path, plain, span};
use crate::settings::{Origin, Origins, parse};

const WORLD: &str = "World (durations: 500ms, 10s, 30d, or never)";
/// The number of nodes if the settings have no members list.
const NODES_ALONE: usize = 3;
const RUN: &str = "Simulation";
/// The number of simulated failures of each kind.
const DRILLS: u32 = 500;
/// More bytes than any file of round trips needs.
const FILE_MAX: u64 = 16 << 20;
/// The smallest simulated loss.
const LOSS_LEAST: f64 = 1e-5;

crate::settings! {
    NODES: usize = "nodes" "N" Text, ONE_CALL, Follows("the number of --members, or 3"), WORLD,
        nodes, plain,
        "The number of nodes, 1 to 9; each grants and contends";
    RTT: Rtt = "rtt" "TRIPS" Text, ONE_CALL, Text("p50=1ms,p99=5ms"), WORLD, rtt, Rtt::show,
        "Round trips between two nodes: 2ms, or percentiles such as \
         min=0.2ms,p50=1ms,p99=20ms,p99.9=80ms,max=200ms, or @FILE with one duration in each line, \
         or with the output of ping";
    LOSS: f64 = "loss" "PERCENT" Text, ONE_CALL, Text("0.1%"), WORLD, loss, show_loss,
        "The share of datagrams that are lost, one way: 0, or 0.001% to 50%";
    CRASH_EVERY: Every = "crash-every" "DURATION" Text, ONE_CALL, Text("30d"), WORLD, every,
        show_every, "Mean time between two crashes of one process";
    DOWN: Duration = "down" "DURATION" Text, ONE_CALL, Text("10s"), WORLD,
        parse::positive_duration, span,
        "How long a process is away after a crash or a restart";
    REBOOT_EVERY: Every = "reboot-every" "DURATION" Text, ONE_CALL, Text("90d"), WORLD, every,
        show_every, "Mean time between two restarts of one machine; each restart takes a minute";
    RESTART_EVERY: Every = "restart-every" "DURATION" Text, ONE_CALL, Text("7d"), WORLD, every,
        show_every, "Mean time between two planned restarts of one process; a leader resigns first";
    PAUSE_EVERY: Every = "pause-every" "DURATION" Text, ONE_CALL, Text("never"), WORLD, every,
        show_every,
        "Mean time between two pauses of one process, in which it stands still";
    PAUSE: Duration = "pause" "DURATION" Text, ONE_CALL, Text("1s"), WORLD,
        parse::positive_duration, span,
        "The mean length of such a pause; exponentially distributed";
    HOURS: u32 = "hours" "N" Text, ONE_CALL, Text("1000"), RUN, hours, plain,
        "The number of simulated hours, 1 to 100000";
    TARGET: f64 = "target-needless" "N" Text, ONE_CALL, Text("1"), RUN, target, plain,
        "The acceptable number of needless changes of leader in 30 days";
    SEED: u64 = "seed" "N" Text, ONE_CALL, Follows("a new one each time"), RUN, seed, plain,
        "The seed of the simulation: the same seed gives the same answer on any number of \
         processors";
    HTML: PathBuf = "html" "FILE" Text, ONE_CALL, Nothing, RUN, parse::path, path,
        "Also write an HTML page with plots, complete in one file";
}

/// Interval of an event; `None` if the event never happens.
pub type Every = Option<Duration>;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rtt {
    text: String,
    /// Round trips; `None` if the text names a file.
    trips: Option<RoundTrips>,
}

impl Rtt {
    fn show(&self) -> String {
        self.text.clone()
    }
}

/// The checked settings of `tenure simulate`.
#[derive(Clone, Debug)]
pub struct SimulateSettings {
    pub question: Question,
    pub html: Option<PathBuf>,
}

impl SimulateSettings {
    pub fn read(layers: &mut Layers<'_>) -> Result<Self, Failure> {
        let config = config(layers)?;
        let rtt = layers.required(&RTT)?;
        let trips = match rtt.trips {
            Some(trips) => trips,
            None => from_file(&rtt.text, &layers.origins)?,
        };
        let question = Question {
            config,
            trips,
            loss: layers.required(&LOSS)?,
            crash_every: layers.required(&CRASH_EVERY)?,
            down: layers.required(&DOWN)?,
            reboot_every: layers.required(&REBOOT_EVERY)?,
            restart_every: layers.required(&RESTART_EVERY)?,
            pause_every: layers.required(&PAUSE_EVERY)?,
            pause: layers.required(&PAUSE)?,
            hours: layers.required(&HOURS)?,
            drills: DRILLS,
            awake: false,
            target: layers.required(&TARGET)?,
            seed: layers.or_follows(&SEED, || Ok(new_seed()))?,
        };
        let html = layers.optional(&HTML)?;
        question.check().map_err(|error| unanswerable(&error, &layers.origins))?;
        Ok(Self { question, html })
    }
}

fn config(layers: &mut Layers<'_>) -> Result<Checked, Failure> {
    let made_up = |error: tenure_core::NameError| {
        Failure::new(Exit::Bug, format!("a made-up name is refused: {error}"), "report it")
    };
    let listed = layers.text_if_set(&MEMBERS.spec)?.filter(|list| !list.is_empty());
    let listed = listed.map(|list| list.split(',').count());
    let nodes = layers.or_follows(&NODES, || match listed {
        Some(nodes) if nodes > Question::NODES_MAX => Err(too_many(nodes)),
        Some(nodes) => Ok(nodes),
        None => Ok(NODES_ALONE),
    });
    let nodes = nodes.map_err(|failure| layers.origins.explain(failure, &["members"]))?;
    let members = Question::members(nodes).map_err(made_up)?;
    let mut config = Config::new(ClusterName::new("simulated").map_err(made_up)?, members);
    nerio::timing(&mut config, layers)?;
    config.verify_max = config.lease / 10;
    nerio::check(config, "majority", &layers.origins)
}

fn too_many(nodes: usize) -> Failure {
    let most = Question::NODES_MAX;
    let what = format!("{nodes} members are more than the {most} nodes that can be simulated");
    Failure::usage(what, format!("give --nodes, 1 to {most}"))
}

/// The failure for a refusal of the simulator, with the origins of the numbers. Some refusals come
/// only during the simulation.
pub fn unanswerable(error: &Unanswerable, origins: &Origins) -> Failure {
    let (fix, names): (String, &[&str]) = match error {
        Unanswerable::Loss { .. } => ("give --loss 0% to 50%".into(), &["loss"]),
        Unanswerable::Hours { max, .. } => (format!("give --hours 1 to {max}"), &["hours"]),
        Unanswerable::TooMuch { enough, .. } => {
            (format!("give --hours {enough} or fewer, or a longer --lease"), &["hours", "lease"])
        }
        Unanswerable::TooOften { what, least, .. } => {
            let (flag, names): (_, &[&str]) = match *what {
                "a crash" => ("crash-every", &["crash-every", "down", "lease"]),
                "a reboot" => ("reboot-every", &["reboot-every", "lease-max", "lease"]),
                "a restart" => ("restart-every", &["restart-every", "down", "lease"]),
                _ => ("pause-every", &["pause-every", "pause"]),
            };
            (format!("give --{flag} {} or more, or never", span(least)), names)
        }
        Unanswerable::NobodyElected { .. } => (
            "give a longer --lease, or a network that is not worse than yours".into(),
            &["lease", "rtt", "loss", "round-trip"],
        ),
    };
    origins.usage(error.to_string(), fix, names)
}

/// A seed that is short enough to type.
fn new_seed() -> u64 {
    let now = tenure::clock::now().as_nanos();
    (now ^ now >> 32 ^ u64::from(std::process::id()) << 16) & 0xffff_ffff
}

fn nodes(text: &str) -> Result<usize, Refusal> {
    whole(text, 1, Question::NODES_MAX as u64).map(|nodes| nodes as usize)
}

fn hours(text: &str) -> Result<u32, Refusal> {
    whole(text, 1, u64::from(Question::HOURS_MAX)).map(|hours| hours as u32)
}

fn seed(text: &str) -> Result<u64, Refusal> {
    whole(text, 0, u64::MAX)
}

fn whole(text: &str, least: u64, most: u64) -> Result<u64, Refusal> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| {
        let range = format!("from {least} to {most}");
        Refusal::new(format!("it is not a whole number {range}"), format!("write a number {range}"))
    })
}

fn target(text: &str) -> Result<f64, Refusal> {
    let number = text.parse().ok().filter(|number| (0.0..=1e6).contains(number));
    number.ok_or_else(|| {
        Refusal::new("it is not a number from 0 to 1000000", "write a number such as 1 or 0.1")
    })
}

fn every(text: &str) -> Result<Every, Refusal> {
    match text {
        "never" => Ok(None),
        _ => parse::positive_duration(text).map(Some).map_err(|error| Refusal {
            fix: "write a number and a unit, such as 12h or 30d, or never".into(),
            ..error
        }),
    }
}

fn show_every(every: &Every) -> String {
    every.as_ref().map_or_else(|| "never".into(), span)
}

fn loss(text: &str) -> Result<f64, Refusal> {
    let fix = "write a share of all datagrams, such as 0.1% or 0.001";
    let (number, over) = match text.strip_suffix('%') {
        Some(percent) => (percent.trim_end(), 100.0),
        None => (text, 1.0),
    };
    let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let Some(loss) = number.parse::<f64>().ok().filter(|_| plain).map(|n| n / over) else {
        return Err(Refusal::new("it is not a share or a percentage", fix));
    };
    if loss > Question::LOSS_MAX {
        let fix = "write at most 50%; a share of 1% is 1% or 0.01";
        return Err(Refusal::new("it is more than half of all datagrams", fix));
    }
    if loss > 0.0 && loss < LOSS_LEAST {
        let what = "it is less than 0.001%, the smallest simulated loss";
        return Err(Refusal::new(what, "write 0, or 0.001% or more"));
    }
    Ok(loss)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the type of the setting")]
fn show_loss(loss: &f64) -> String {
    // Round, because a percentage such as 0.1 has no exact value as a share.
    format!("{}%", (loss * 1e8).round() / 1e6)
}

fn rtt(text: &str) -> Result<Rtt, Refusal> {
    let trips = match text {
        _ if text.starts_with('@') => {
            parse::path(&text[1..])?;
            None
        }
        _ if text.contains('=') => Some(percentiles(text)?),
        _ => Some(RoundTrips::constant(parse::positive_duration(text)?).map_err(unfit)?),
    };
    Ok(Rtt { text: text.to_owned(), trips })
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn unfit(error: tenure_sim::forecast::TripsError) -> Refusal {
    Refusal::new(error.to_string(), "write what was measured, such as p50=1ms,p99=20ms")
}

fn percentiles(text: &str) -> Result<RoundTrips, Refusal> {
    let fix = "write percentiles with a duration each, such as p50=1ms,p99=20ms,max=200ms";
    let mut points: Vec<(f64, Duration)> = Vec::new();
    for part in text.split(',') {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let name = name.trim();
        let percent = match name {
            "min" => Some(0.0),
            "max" => Some(100.0),
            _ => name.strip_prefix('p').and_then(|n| n.parse().ok()),
        };
        let within = percent.filter(|p| matches!(name, "min" | "max") || (*p > 0.0 && *p < 100.0));
        let Some(percent) = within else {
            let what = format!("{} is not min, max or a percentile such as p99", quoted(name));
            return Err(Refusal::new(what, fix));
        };
        if points.iter().any(|(known, _)| *known == percent) {
            return Err(Refusal::new(format!("{} is given twice", quoted(name)), fix));
        }
        let value = parse::positive_duration(value.trim()).map_err(|error| {
            Refusal::new(format!("{}: {}", quoted(name), error.what), error.fix)
        })?;
        points.push((percent, value));
    }
    RoundTrips::quantiles(&points).map_err(unfit)
}

/// Round trips from the file that `text` names after `@`.
fn from_file(text: &str, origins: &Origins) -> Result<RoundTrips, Failure> {
    let path = Path::new(text.trim_start_matches('@'));
    let shown = quoted(&path.display().to_string());
    let origin = || origins.origin(&RTT).cloned().unwrap_or(Origin::Default);
    let unusable = |what: String, fix: &str| {
        Failure::usage(format!("the file of round trips {shown} {what}"), fix).origin(origin())
    };
    let mut text = String::new();
    let read = File::open(path).and_then(|f| f.take(FILE_MAX + 1).read_to_string(&mut text));
    if let Err(error) = read {
        return Err(unusable(format!("cannot be read: {error}"), "name a text file you may read"));
    }
    if text.len() as u64 > FILE_MAX {
        let what = format!("has more than {FILE_MAX} bytes");
        return Err(unusable(what, "keep the last million measurements"));
    }
    let fix = "write one duration in each line, such as 1.3ms, or save what ping prints";
    let trips = measured(without_mark(&text))
        .map_err(|(line, what)| unusable(format!("has in line {line} {what}"), fix))?;
    RoundTrips::measured(&trips).map_err(|error| unusable(format!("is of no use: {error}"), fix))
}

/// Reads a duration from each line. If lines have a `time=`, as ping prints them, reads only these
/// times.
fn measured(text: &str) -> Result<Vec<Duration>, (usize, String)> {
    let time = |line: &str| Some(line.split_once("time=")?.1.trim().to_owned());
    let printed: Vec<String> = text.lines().filter_map(time).collect();
    let numbered = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim().to_owned()));
    let lines: Vec<(usize, String)> = if printed.is_empty() {
        numbered.filter(|(_, l)| !l.is_empty() && !l.starts_with('#')).collect()
    } else {
        text.lines().enumerate().filter_map(|(at, line)| Some((at + 1, time(line)?))).collect()
    };
    let read = |(at, line): (usize, String)| {
        let refused = |error: Refusal| (at, format!("{}: {}", quoted(&clipped(&line)), error.what));
        parse::positive_duration(&line).map_err(refused)
    };
    lines.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Spec;

    #[test]
    fn defaults_are_read_and_shown() {
        let text = |spec: &Spec| match spec.default {
            Text(text) => text,
            _ => panic!("{}", spec.name),
        };
        assert_eq!(
            (CRASH_EVERY.parse)(text(&CRASH_EVERY.spec)),
            Ok(Some(Duration::from_secs(2_592_000)))
        );
        assert_eq!((PAUSE_EVERY.parse)(text(&PAUSE_EVERY.spec)), Ok(None));
        assert_eq!(show_loss(&loss(text(&LOSS.spec)).unwrap()), "0.1%");
        assert!(rtt(text(&RTT.spec)).unwrap().trips.is_some());
    }

    #[test]
    fn loss_is_share_or_percentage() {
        assert_eq!(loss("1%"), loss("0.01"));
        assert_eq!(loss("0"), Ok(0.0));
        for wrong in ["", "%", "-1%", "1e-3", "NaN", "inf", "0.6", "60%", "0.0001%"] {
            assert!(loss(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn file_holds_durations_or_ping_output() {
        let ms = Duration::from_millis;
        assert_eq!(measured("# lab\n1ms\n\n 20ms \n"), Ok(vec![ms(1), ms(20)]));
        let ping = "PING a (10.0.0.1) 56(84) bytes of data.\n\
                    64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=0.5 ms\n\
                    64 bytes from 10.0.0.1: icmp_seq=2 ttl=64 time=12 ms\n\n--- a statistics ---\n";
        assert_eq!(measured(ping), Ok(vec![Duration::from_micros(500), ms(12)]));
        let (line, what) = measured("1ms\n2\n").unwrap_err();
        assert_eq!((line, what.as_str()), (2, "\"2\": the unit is missing"));
    }
}
