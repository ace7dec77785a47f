use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::drift::Drift;
use crate::nele::identity::{Partition, Role};

const MS: Duration = Duration::from_millis(1);

fn config(mode: Mode) -> Config {
    let election = "prices".parse().unwrap();
    let group = "blue".parse().unwrap();
    Config::new(election, group, "n".parse().unwrap(), 16, mode)
}

fn check(mode: Mode, change: impl FnOnce(&mut Config)) -> Result<(), String> {
    let mut config = config(mode);
    change(&mut config);
    config.check().map(drop).map_err(|error| error.to_string())
}

#[test]
fn defaults_of_both_modes_fit() {
    for mode in [Mode::AtLeastOne, Mode::AtMostOne] {
        check(mode, |_| {}).unwrap();
    }
}

#[test]
fn bounds_pass_inclusively() {
    let check = |change: &dyn Fn(&mut Config)| check(Mode::AtMostOne, change);
    check(&|config| config.election = "x".repeat(53).parse().unwrap()).unwrap();
    check(&|config| config.election = "x".repeat(54).parse().unwrap()).unwrap_err();
    check(&|config| config.partitions = 4_096).unwrap();
    check(&|config| config.partitions = 4_097).unwrap_err();
    check(&|config| config.partitions = 0).unwrap_err();
    check(&|config| config.publish_interval = 10 * MS).unwrap();
    check(&|config| config.publish_interval = 9 * MS).unwrap_err();
    check(&|config| config.heartbeat_interval = 2_000 * MS).unwrap();
    check(&|config| config.heartbeat_interval = 2_001 * MS).unwrap_err();
    check(&|config| config.heartbeat_interval = MS).unwrap();
    check(&|config| config.heartbeat_interval = MS / 2).unwrap_err();
    check(&|config| {
        config.session_timeout = 3 * MS;
        config.heartbeat_interval = MS;
    })
    .unwrap();
    check(&|config| config.session_timeout = 2 * MS).unwrap_err();
    check(&|config| config.max_poll_interval = 5_999 * MS).unwrap_err();
    check(&|config| config.drift = "0.1".parse().unwrap()).unwrap();
    check(&|config| config.drift = "0.100000001".parse().unwrap()).unwrap_err();
    check(&|config| config.takeover = Duration::from_secs(86_400)).unwrap();
    check(&|config| config.takeover = Duration::from_secs(86_401)).unwrap_err();
    check(&|config| config.kill_margin = config.grace).unwrap();
    check(&|config| config.kill_margin = config.grace + MS).unwrap_err();
    check(&|config| config.fence_base = (1 << 24) - 1).unwrap();
    check(&|config| config.fence_base = 1 << 24).unwrap_err();
    check(&|config| config.limits.roles = 4_096).unwrap();
    check(&|config| config.limits.roles = 4_097).unwrap_err();
    check(&|config| config.limits.processes = 0).unwrap_err();
}

/// 2·6 + 6 + 2·1.5 + 0.5 + 1 + 0.1 + 1 = 23.6 s, on any clock 23.647248… s; T must be greater.
#[test]
fn takeover_outlasts_a_handover() {
    let of = config(Mode::AtLeastOne);
    assert_eq!(of.handover_parts().total(), 23_600 * MS);
    let needed = of.handover() + Duration::from_nanos(1);
    assert!(needed > 23_647 * MS && needed < 23_648 * MS, "{needed:?}");
    check(Mode::AtLeastOne, |config| config.takeover = needed).unwrap();
    let refused = check(Mode::AtLeastOne, |config| config.takeover = 20_000 * MS).unwrap_err();
    assert_eq!(
        refused,
        format!(
            "takeover is 20s; mode at-least-one needs at least {needed:?}, which is this sum with \
             drift added: 2·session timeout 6s + max poll interval 6s + 2·heartbeat interval 1.5s \
             + publish interval 500ms + delivery timeout 1s + fetch wait 100ms + seek 1s = 23.6s: \
             lengthen takeover, or shorten one of these"
        )
    );
    check(Mode::AtLeastOne, |config| {
        (config.takeover, config.failover) = (20_000 * MS, false);
    })
    .unwrap();
}

/// 3·0.5 + 1 + 0.1 = 2.6 s, and twice the delivery timeout.
#[test]
fn takeover_holds_three_records() {
    let shorter = |config: &mut Config, takeover| {
        (config.takeover, config.grace, config.kill_margin) = (takeover, 10 * MS, MS);
    };
    check(Mode::AtMostOne, |config| shorter(config, 2_600 * MS)).unwrap();
    let refused = check(Mode::AtMostOne, |config| shorter(config, 2_599 * MS)).unwrap_err();
    assert!(
        refused.starts_with("takeover is 2.599s; mode at-most-one needs at least 2.6s"),
        "{refused}"
    );
    let slow = |config: &mut Config, takeover| {
        shorter(config, takeover);
        config.delivery_timeout = 2_000 * MS;
    };
    check(Mode::AtMostOne, |config| slow(config, 4_000 * MS)).unwrap();
    check(Mode::AtMostOne, |config| slow(config, 3_999 * MS)).unwrap_err();
}

/// 5 s − (2·0.5 + 1 + 0.1) s are left for grace and kill margin.
#[test]
fn grace_survives_a_lost_record() {
    check(Mode::AtMostOne, |config| config.grace = 2_799 * MS).unwrap();
    let refused = check(Mode::AtMostOne, |config| config.grace = 2_800 * MS).unwrap_err();
    assert!(refused.contains("has only 2.9s left") && refused.contains("grace 2.8s"), "{refused}");
}

proptest! {
    /// A claimant with the fastest clock waits longer than a leader with the slowest clock leads.
    #[test]
    fn grace_period_outlasts_takeover(
        nanos in 1_u64..1 << 46,
        parts in 0_u32..100_000_000,
    ) {
        let takeover = Duration::from_nanos(nanos);
        let drift = Drift::from_parts_per_billion(parts).unwrap();
        let config = Config { takeover, drift, ..config(Mode::AtMostOne) };
        let waits = drift.real_at_least(config.grace_period());
        // Records show T in whole milliseconds, rounded up.
        let longest = Terms::in_ms(takeover);
        prop_assert!(waits >= drift.real_at_most(longest), "{waits:?}");
        // The wait is no longer than necessary, except for rounding.
        let exact = longest.as_nanos() * u128::from(1_000_000_000 + parts);
        let exact = exact.div_ceil(u128::from(1_000_000_000 - parts));
        prop_assert!(config.grace_period().as_nanos() <= exact + 3);
    }
}

#[test]
fn fence_holds_epoch_and_offset() {
    let mut config = config(Mode::AtMostOne);
    let number = |fence: Option<crate::Fence>| fence.map(crate::Fence::number);
    assert_eq!(number(config.fence(Some(3), 7)), Some(3 * (1 << 40) + 7));
    assert_eq!(number(config.fence(Some((1 << 24) - 1), (1 << 40) - 1)), Some(u64::MAX));
    assert_eq!(config.fence(Some(1 << 24), 7), None);
    assert_eq!(config.fence(Some(3), 1 << 40), None);
    assert_eq!(config.fence(None, 7), None);
    config.fence_base = 100;
    assert_eq!(number(config.fence(Some(3), 7)), Some(103 * (1 << 40) + 7));
    assert_eq!(config.fence(Some((1 << 24) - 100), 7), None);
}

#[test]
fn role_numbers_name_elections() {
    let config = config(Mode::AtLeastOne);
    let role = |name: &str| config.role(&name.parse().unwrap());
    assert_eq!(role("prices/0"), Some(Role(0)));
    assert_eq!(role("prices/4294967295"), Some(Role(u32::MAX)));
    for name in ["prices", "prices/", "prices/01", "prices/4294967296", "prices/-1", "prices/1/2"] {
        assert_eq!(role(name), None, "{name}");
    }
    for name in ["price/1", "pricess/1", "prices1", "x/prices/1"] {
        assert_eq!(role(name), None, "{name}");
    }
    assert_eq!(config.election_of(Role(u32::MAX)).as_str(), "prices/4294967295");
    assert_eq!(config.partition_of(Role(19)), Partition(3));
}

#[test]
fn modes_print_as_parsed() {
    for text in ["at-least-one", "at-most-one"] {
        assert_eq!(text.parse::<Mode>().unwrap().to_string(), text);
    }
    "exactly-one".parse::<Mode>().unwrap_err();
}

/// The sessions of the text, 100 ms with reports every 10 ms, work in both modes with a short T.
#[test]
fn sessions_of_text_fit() {
    for (mode, takeover) in [(Mode::AtLeastOne, 1_000), (Mode::AtMostOne, 500)] {
        let short = |config: &mut Config| {
            config.session_timeout = 100 * MS;
            config.max_poll_interval = 100 * MS;
            config.heartbeat_interval = 10 * MS;
            config.publish_interval = 50 * MS;
            config.takeover = takeover * MS;
            config.delivery_timeout = config.takeover / 4;
            config.seek = config.takeover / 4;
            config.fetch_wait = config.takeover / 40;
            config.grace = 50 * MS;
            config.kill_margin = 20 * MS;
        };
        check(mode, short).unwrap();
    }
}

#[test]
fn misfits_have_numbers() {
    let of = |partitions, roles, processes| {
        let config = Config { partitions, ..config(Mode::AtLeastOne) };
        let misfits = config.misfits(roles, processes);
        misfits.into_iter().map(|misfit| misfit.to_string()).collect::<Vec<_>>()
    };
    for (partitions, roles, processes) in [
        (16, 16, None),
        (16, 32, Some(16)),
        // Standbys of a single role, and a group that is not complete yet.
        (1, 1, Some(3)),
        (20, 20, Some(2)),
    ] {
        assert_eq!(of(partitions, roles, processes), [""; 0]);
    }
    let spare = "16 partitions for 4 roles: 12 partitions without a role; a process that owns only \
                 such partitions leads nothing";
    assert_eq!(of(16, 4, None), [spare]);
    assert_eq!(of(16, 4, Some(20)), [spare]);
    let few = "4 partitions for 5 processes and 16 roles: 1 process without a partition and \
               without a role";
    assert_eq!(of(4, 16, Some(5)), [few]);
    let many = "21 partitions for 2 processes: each process writes to all 21 in each interval";
    assert_eq!(of(21, 21, Some(2)), [many]);
}
