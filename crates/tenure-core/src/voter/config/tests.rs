use alloc::string::{String, ToString};
use core::time::Duration;

use super::*;

const MS: Duration = Duration::from_millis(1);

fn config() -> Config {
    let url = "http://127.0.0.1:7001".parse().unwrap();
    let config = Config::new("x".parse().unwrap(), "one".parse().unwrap(), url);
    Config { founding: Founding::Expected(3), ..config }
}

fn check(change: impl FnOnce(&mut Config)) -> Result<(), String> {
    let mut config = config();
    change(&mut config);
    config.check().map(drop).map_err(|error| error.to_string())
}

/// L = ⌈4 s · 1.001/0.999⌉, D(L) = ⌊L · 0.999/1.001⌋: rounded against the leader, by at most a
/// nanosecond each.
#[test]
fn the_lease_is_rounded_against_the_leader() {
    let config = config();
    assert_eq!(config.lease().as_nanos(), (4_000_000_000_u128 * 1_001).div_ceil(999));
    let exact = config.lease().as_nanos() * 999 / 1_001;
    let counted = config.counted(config.lease()).as_nanos();
    assert!(counted <= exact && counted + 2 >= exact, "{counted} of {exact}");
    // The worse the other voter's clock, the less its promise is worth.
    let worse = "0.05".parse().unwrap();
    assert!(config.counted_of(config.lease(), worse) < config.counted(config.lease()));
}

/// The bound on a failover includes a pause of min(t, H/2), where t is the request timeout.
#[test]
fn polls_pause_half_a_heartbeat() {
    let pause = |request_timeout| Config { request_timeout, ..config() }.poll_pause();
    assert_eq!([pause(300 * MS), pause(900 * MS)], [300 * MS, 500 * MS]);
}

#[test]
fn each_bound_is_the_last_that_passes() {
    check(|_| ()).unwrap();
    check(|config| config.heartbeat = 19 * MS).unwrap_err();
    check(|config| config.tolerance = 0).unwrap_err();
    check(|config| config.drift = "0.100000001".parse().unwrap()).unwrap_err();
    check(|config| config.request_timeout = 1_000 * MS).unwrap_err();
    check(|config| config.request_timeout = Duration::ZERO).unwrap_err();
    check(|config| config.cast_timeout = Duration::ZERO).unwrap_err();
    check(|config| config.kill_margin = config.grace + MS).unwrap_err();
    check(|config| config.voters = 0).unwrap_err();
    check(|config| config.voters = 257).unwrap_err();
    check(|config| config.founding = Founding::Expected(64)).unwrap();
    check(|config| config.founding = Founding::Expected(65)).unwrap_err();
    check(|config| config.founding = Founding::Expected(0)).unwrap_err();
    check(|config| config.lease_max = Some(1_601 * MS)).unwrap_err();
    check(|config| config.lease_max = Some(1_610 * MS)).unwrap();
}

/// V6: D ≤ H + 2t is refused, and so is cast + result + t > D/2, with D = 3.999… s.
#[test]
fn short_lease_is_refused_with_numbers() {
    check(|config| config.cast_timeout = 1_099 * MS).unwrap();
    let refused = check(|config| config.cast_timeout = 1_101 * MS).unwrap_err();
    assert!(
        refused.contains("cast timeout + result timeout + request timeout = 2.001s"),
        "{refused}"
    );
    assert!(refused.contains("can use 4s of its lease of 4.008s"), "{refused}");
    assert!(refused.contains("raise the tolerance to 4, or"), "{refused}");
    let refused = check(|config| config.cast_timeout = 1_100 * MS).unwrap_err();
    assert!(
        refused.contains("request timeout = 2s must be at most half of the usable time, 1.99"),
        "{refused}"
    );
    check(|config| config.grace = 2_599 * MS).unwrap();
    let refused = check(|config| config.grace = 2_601 * MS).unwrap_err();
    assert!(refused.contains("grace + kill margin"), "{refused}");
    // The named tolerance passes, and the next smaller one does not.
    let with = |tolerance| check(|it| (it.grace, it.tolerance) = (7_000 * MS, tolerance));
    assert!(with(3).unwrap_err().contains("raise the tolerance to 8, or"));
    with(7).unwrap_err();
    with(8).unwrap();
    let short = |config: &mut Config| {
        (config.tolerance, config.request_timeout) = (1, 501 * MS);
    };
    let refused = check(short).unwrap_err();
    assert!(refused.contains("heartbeat interval + 2 request timeouts = 2.002s"), "{refused}");
}

#[test]
fn majority_needs_to_know_whom_it_begins_with() {
    let refused = check(|config| config.founding = Founding::Anybody).unwrap_err();
    assert!(refused.contains("mode available needs none of these"), "{refused}");
    check(|config| {
        (config.founding, config.mode) = (Founding::Anybody, Mode::Available);
    })
    .unwrap();
    let listed = |id: &str| Listed { id: id.parse().unwrap(), url: config().url };
    check(|config| config.founding = Founding::List([listed("one"), listed("two")].into()))
        .unwrap();
    let refused =
        check(|config| config.founding = Founding::List([listed("two"), listed("two")].into()));
    assert_eq!(
        refused.unwrap_err(),
        "the voter list has two twice: give each voter an id of its own"
    );
}
