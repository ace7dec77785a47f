use alloc::string::{String, ToString};
use core::time::Duration;

use super::*;

const MS: Duration = Duration::from_millis(1);

fn check(change: impl FnOnce(&mut Config)) -> Result<(), String> {
    let mut config = Config::new("c".parse().unwrap(), "n".parse().unwrap());
    change(&mut config);
    config.check().map(drop).map_err(|error| error.to_string())
}

#[test]
fn defaults_follow_the_text() {
    let config = Config::new("c".parse().unwrap(), "n".parse().unwrap()).check().unwrap();
    let times = (config.heartbeat, config.lease, config.max_clock_skew);
    assert_eq!(times, (1_000 * MS, 10_000 * MS, 1_000 * MS));
}

#[test]
fn bounds_pass_inclusively() {
    check(|config| config.rank = Some(Config::RANK_DRAWN - 1)).unwrap();
    check(|config| config.rank = Some(Config::RANK_DRAWN)).unwrap_err();
    let quick = |config: &mut Config, heartbeat| {
        (config.heartbeat, config.max_clock_skew) = (heartbeat, MS);
        config.lease = Duration::from_secs(86_400);
    };
    check(|config| quick(config, 20 * MS)).unwrap();
    check(|config| quick(config, 19 * MS)).unwrap_err();
    check(|config| quick(config, 600_000 * MS)).unwrap();
    check(|config| quick(config, 600_001 * MS)).unwrap_err();
    check(|config| config.max_clock_skew = MS).unwrap();
    check(|config| config.max_clock_skew = MS / 2).unwrap_err();
    check(|config| config.drift = "0.01".parse().unwrap()).unwrap();
    check(|config| config.drift = "0.010000001".parse().unwrap()).unwrap_err();
    check(|config| config.lease = Duration::from_secs(86_400)).unwrap();
    check(|config| config.lease = Duration::from_secs(86_401)).unwrap_err();
    check(|config| config.kill_margin = config.grace + MS).unwrap_err();
    check(|config| config.limits.participants = 0).unwrap_err();
}

/// 2·(3·1 s + 2·1 s) = 10 s: the defaults are as short as possible.
#[test]
fn lease_covers_two_renewals() {
    check(|config| config.lease = 10_000 * MS).unwrap();
    let refused = check(|config| config.lease = 9_999 * MS).unwrap_err();
    assert_eq!(
        refused,
        "lease is 9.999s; with heartbeat 1s and max clock skew 1s it must be at least 2·(3·1s + \
         2·1s) = 10s: lengthen the lease, or shorten heartbeat or max clock skew"
    );
}

/// The handle's claim holds for 8 s (7.992 s with drift); a renewal takes effect after 6.5 s at
/// most.
#[test]
fn grace_leaves_room_for_renewal() {
    check(|config| config.grace = 1_391 * MS).unwrap();
    let refused = check(|config| config.grace = 1_392 * MS).unwrap_err();
    assert!(refused.contains("a leader has 1.492s left"), "{refused}");
    assert!(refused.contains("grace 1.392s"), "{refused}");
}

#[test]
fn choices_print_as_parsed() {
    for text in ["all", "few:1", "few:65535"] {
        assert_eq!(text.parse::<Callers>().unwrap().to_string(), text);
    }
    for text in ["", "few", "few:0", "few:65536", "all:3", "most"] {
        assert_eq!(text.parse::<Callers>(), Err(CallersError), "{text}");
    }
    for text in ["yield", "serve-out"] {
        assert_eq!(text.parse::<OnConflict>().unwrap().to_string(), text);
    }
    "stay".parse::<OnConflict>().unwrap_err();
}
