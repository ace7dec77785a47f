use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::timing::{TimingError, TooShort};

const LIST: &[(&str, &str)] =
    &[("a", "10.0.0.1:7101"), ("b", "10.0.0.2:7101"), ("c", "[fd00::3]:7101")];

fn members(list: &[(&str, &str)]) -> Vec<Member> {
    let member = |(name, address): &(&str, &str)| Member {
        name: name.parse().unwrap(),
        address: address.parse().unwrap(),
    };
    list.iter().map(member).collect()
}

fn config() -> Config {
    Config::new("prod".parse().unwrap(), members(LIST))
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn refused(change: impl FnOnce(&mut Config)) -> alloc::string::String {
    let mut config = config();
    change(&mut config);
    config.check().unwrap_err().to_string()
}

#[test]
fn defaults_pass_as_documented() {
    let checked = config().check().unwrap();
    assert_eq!(*checked, config(), "checking changes nothing");
    assert_eq!(checked.lease, ms(5_000));
    assert_eq!(checked.delta_max, ms(10_000));
    assert_eq!(checked.lease_first(), ms(1_000));
    assert_eq!(checked.renew_after(), Duration::from_nanos(1_666_666_666));
    assert_eq!(checked.usable(), Duration::from_nanos(3_328_333_334));
    assert_eq!(checked.quarantine(), ms(10_010));
    assert_eq!((checked.parked_for(), checked.heard_within()), (ms(750), ms(500)));
    assert_eq!(checked.membership().position(&"c".parse().unwrap()), Some(2));
    assert_eq!(checked.membership().position(&"d".parse().unwrap()), None);
}

#[test]
fn smallest_and_largest_lists_pass() {
    for count in [1, Config::MEMBERS_MAX] {
        let list = (1..=count).map(|n| Member {
            name: alloc::format!("n{n}").parse().unwrap(),
            address: alloc::format!("127.0.0.1:{n}").parse().unwrap(),
        });
        assert!(Config::new("x".parse().unwrap(), list.collect()).check().is_ok(), "{count}");
    }
}

#[test]
fn the_lease_takes_its_followers_along() {
    let short = config().with_lease(ms(300));
    assert_eq!((short.lease, short.delta_max, short.verify_max), (ms(300), ms(600), ms(30)));
    assert_eq!(config().with_lease(Duration::MAX).delta_max, Duration::MAX);
}

#[test]
fn short_leases_pass() {
    for (lease, refresh) in [(300, 20), (300, 50), (500, 30), (1_000, 50)] {
        let mut short = config().with_lease(ms(lease));
        (short.refresh, short.grace, short.kill_margin) = (ms(refresh), ms(50), ms(10));
        let checked = short.check().unwrap();
        assert_eq!(checked.lease_first(), ms(lease), "a second, but at most the lease");
        assert_eq!(checked.retry_after(ms(1)), ms(50).min(ms(lease) / 6));
    }
}

#[test]
fn the_first_lease_outlasts_a_dead_candidate() {
    let mut slow = config();
    slow.refresh = ms(600);
    assert_eq!(slow.check().unwrap().lease_first(), ms(1_820), "3R + 2d above a second");
}

#[test]
fn repetition_waits_two_round_trips() {
    let config = config().with_lease(ms(6_000));
    assert_eq!(config.retry_after(ms(1)), ms(50));
    assert_eq!(config.retry_after(ms(100)), ms(200));
    assert_eq!(config.retry_after(ms(800)), ms(1_000));
    assert_eq!(config.retry_after(Duration::MAX), ms(1_000));
}

#[test]
fn section_10_1_computes_the_least_lease() {
    let config = config();
    assert_eq!(config.lease_needed(ms(10), ms(500), ms(2_000)), ms(2_012), "(1+ρ)(E − C)");
    assert_eq!(config.lease_needed(ms(10), ms(3_000), ms(2_000)), ms(3_010), "i");
}

#[test]
fn members_refusal_has_a_reason() {
    assert_eq!(
        refused(|c| c.members.clear()),
        "the members list is empty: name at least one grantor, better three"
    );
    let many = vec![members(LIST)[0].clone(); 32];
    assert_eq!(
        refused(|c| c.members = many),
        "32 members; at most 31 are allowed, and more than 7 only cost time"
    );
    assert_eq!(
        refused(|c| c.members[2].name = "a".parse().unwrap()),
        "member a is listed twice, at 10.0.0.1:7101 and at [fd00::3]:7101; every name may appear \
         once"
    );
    for (address, shown) in
        [("10.0.0.1:7101", "10.0.0.1:7101"), ("[::ffff:10.0.0.1]:7101", "10.0.0.1:7101")]
    {
        assert_eq!(
            refused(|c| c.members[1].address = address.parse().unwrap()),
            alloc::format!(
                "members a and b share the address {shown}; every grantor needs its own"
            )
        );
    }
    assert_eq!(
        refused(|c| {
            c.members[0].address = "db-1.internal:7101".parse().unwrap();
            c.members[1].address = "DB-1.internal.:7101".parse().unwrap();
        }),
        "members a and b share the address db-1.internal.:7101; every grantor needs its own"
    );
    for address in [
        "db-2.internal:0",
        "10.0.0.2:0",
        "0.0.0.0:7101",
        "[::]:7101",
        "[::ffff:0.0.0.0]:7101",
        "224.0.0.1:7101",
        "[ff02::1]:7101",
        "255.255.255.255:7101",
    ] {
        assert_eq!(
            refused(|c| c.members[1].address = address.parse().unwrap()),
            alloc::format!(
                "member b has the address {}, at which no single process can be reached; \
                 give it the IP of its host and a port above 0",
                address.replace("[::ffff:0.0.0.0]", "0.0.0.0")
            )
        );
    }
    assert_eq!(
        refused(|c| c.quorums = Quorums::majority(5).unwrap()),
        "the quorum system is for 5 members, but the list has 3; make both from the same list"
    );
}

#[test]
fn refusal_states_the_range() {
    assert_eq!(
        refused(|c| c.drift = "0.250000001".parse().unwrap()),
        "drift is 0.250000001; it must be at most 0.25: repair a clock with a larger error"
    );
    assert_eq!(
        refused(|c| c.delta_max = Duration::from_secs(86_401)),
        "lease max is 86401s; it must be from 10ms to 86400s"
    );
    assert_eq!(refused(|c| c.lease = ms(9)), "lease is 9ms; it must be from 10ms to 86400s");
    assert_eq!(
        refused(|c| c.lease = Duration::from_secs(86_401)),
        "lease is 86401s; it must be from 10ms to 86400s"
    );
    assert_eq!(
        refused(|c| c.delta_max = ms(9)),
        "lease max is 9ms; it must be from 10ms to 86400s"
    );
    assert_eq!(
        refused(|c| c.verify_max = Duration::from_secs(86_401)),
        "verify max is 86401s; it must be at most 86400s"
    );
    assert_eq!(
        refused(|c| c.kill_margin = ms(1_001)),
        "kill margin is 1.001s; it must be at most grace, 1s: work is asked to stop before it is \
         killed"
    );
    assert_eq!(
        refused(|c| (c.refresh, c.round_trip) = (Duration::ZERO, Duration::ZERO)),
        "refresh is 0ns; it must be at least two round trips, 1ns: an answer must arrive before \
         the question is repeated"
    );
    assert_eq!(
        refused(|c| c.refresh = ms(19)),
        "refresh is 19ms; it must be at least two round trips, 20ms: an answer must arrive before \
         the question is repeated"
    );
    assert_eq!(
        refused(|c| c.refresh = ms(1_661)),
        "refresh is 1.661s; it must be at most a third of the lease less two round trips, 1.66s: \
         the first lease must outlast a dead candidate"
    );
}

#[test]
fn refusal_states_the_shortest_lease() {
    assert_eq!(
        refused(|c| c.lease = ms(1_700)),
        "lease 1.7s is too short: its first renewal is due after a third of the lease, and \
         1.131633334s are then left (drift 0.001). This rest must exceed grace 1s + kill margin \
         100ms + 4 round trips of 10ms = 1.14s; set the lease to 1.713s or more, or shorten the \
         grace"
    );
    assert!(config().with_lease(ms(1_714)).check().is_ok());
}

#[test]
fn a_limit_of_zero_is_refused() {
    let zero = |limit: &str| alloc::format!("limit on {limit} is 0; it must be at least 1");
    assert_eq!(refused(|c| c.limits.elections = 0), zero("elections"));
    assert_eq!(refused(|c| c.limits.parked = 0), zero("parked requests"));
    assert_eq!(refused(|c| c.limits.watermarks = 0), zero("watermarks"));
    assert_eq!(refused(|c| c.limits.names = 0), zero("names"));
}

/// The values come from another implementation of the documented encoding and of SipHash-1-3.
#[test]
fn member_numbers_agree_everywhere() {
    let number = |list: &[(&str, &str)], name: &str| {
        let config = Config::new("x".parse().unwrap(), members(list)).check().unwrap();
        let membership = config.membership();
        membership.number(membership.position(&name.parse().unwrap()).unwrap())
    };
    let reversed: Vec<_> = LIST.iter().rev().copied().collect();
    for (name, expected) in [("a", 1), ("b", 2), ("c", 3)] {
        assert_eq!((number(LIST, name), number(&reversed, name)), (expected, expected), "{name}");
    }
    assert_eq!(config().check().unwrap().membership().number(3), 0, "there is none");
}

#[test]
fn digest_never_changes() {
    assert_eq!(config().check().unwrap().digest(), 0x40dc_6bd8_4c6d_18aa);
    let grid = [("b", "127.0.0.1:2"), ("a", "127.0.0.1:1")];
    let mut grid = Config::new("x".parse().unwrap(), members(&grid));
    grid.quorums = Quorums::grid(1, 2).unwrap();
    assert_eq!(grid.check().unwrap().digest(), 0x3282_5ad2_454e_9e16);
}

#[test]
fn digest_ignores_order_of_members() {
    let digest = |list: &[usize], quorums: &str| {
        let mut config = config();
        config.members = list.iter().map(|nth| config.members[*nth].clone()).collect();
        config.quorums = Quorums::parse(quorums, &config.names()).unwrap();
        config.check().unwrap().digest()
    };
    for quorums in
        ["majority", "weights:a=3,b=1,c=1", "sets:a+b,b+c,a+c", "sets:a+b", "grid:1x3", "grid:3x1"]
    {
        let first = digest(&[0, 1, 2], quorums);
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            assert_eq!(digest(&order, quorums), first, "{quorums} {order:?}");
        }
    }
}

#[test]
fn agreed_settings_change_the_digest() {
    let changes: &[fn(&mut Config)] = &[
        |_| {},
        |c| c.cluster = "test".parse().unwrap(),
        |c| c.members[0].name = "z".parse().unwrap(),
        |c| {
            c.members.pop();
            c.quorums = Quorums::majority(2).unwrap();
        },
        |c| c.quorums = Quorums::weighted(&[2, 1, 1], None).unwrap(),
        |c| c.quorums = Quorums::weighted(&[1, 2, 1], None).unwrap(),
        |c| c.quorums = Quorums::weighted(&[2, 1, 1], Some(4)).unwrap(),
        |c| c.quorums = Quorums::grid(1, 3).unwrap(),
        |c| c.quorums = Quorums::grid(3, 1).unwrap(),
        |c| c.quorums = Quorums::explicit(3, &[MemberSet::first(1)]).unwrap(),
        |c| c.quorums = Quorums::explicit(3, &[MemberSet::first(2)]).unwrap(),
        |c| c.drift = "0.002".parse().unwrap(),
    ];
    let digest = |change: &fn(&mut Config)| {
        let mut config = config();
        change(&mut config);
        config.check().unwrap().digest()
    };
    let mut digests: Vec<u64> = changes.iter().map(digest).collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), changes.len());
}

#[test]
fn digest_ignores_settings_that_may_differ() {
    let changes: &[fn(&mut Config)] = &[
        |c| c.lease = ms(4_000),
        |c| c.delta_max = ms(4_000),
        |c| c.round_trip = ms(20),
        |c| c.refresh = ms(300),
        |c| c.verify_max = ms(1),
        |c| c.grace = ms(500),
        |c| c.kill_margin = ms(50),
        |c| c.limits.parked = 5,
        // A member may have another address on each machine.
        |c| c.members[0].address = "10.0.0.9:7101".parse().unwrap(),
        |c| c.members[0].address = "10.0.0.1:7102".parse().unwrap(),
        |c| c.members[2].address = "db-3.internal:7101".parse().unwrap(),
        |c| {
            let (a, b) = (c.members[0].address.clone(), c.members[1].address.clone());
            (c.members[0].address, c.members[1].address) = (b, a);
        },
    ];
    let digest = config().check().unwrap().digest();
    for (nth, change) in changes.iter().enumerate() {
        let mut changed = config();
        change(&mut changed);
        assert_ne!(changed, config(), "change {nth}");
        assert_eq!(changed.check().unwrap().digest(), digest, "change {nth}");
    }
}

fn any_span() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::ZERO),
        Just(Duration::MAX),
        (0_u64..20_000_000_000).prop_map(Duration::from_nanos),
        (0_u64..2_000).prop_map(Duration::from_millis),
        any::<u64>().prop_map(Duration::from_nanos),
    ]
}

proptest! {
    #[test]
    fn any_settings_are_checked_without_panic(
        drift in 0_u32..1_000_000_000,
        spans in prop::array::uniform7(any_span()),
    ) {
        let mut any = config();
        any.drift = Drift::from_parts_per_billion(drift).unwrap();
        [any.lease, any.delta_max, any.round_trip, any.refresh, any.verify_max, any.grace,
            any.kill_margin] = spans;
        let _ = (any.lease_first(), any.quarantine(), any.retry_after(spans[0]));
        if let Ok(checked) = any.check() {
            prop_assert!(checked.lease_first() <= checked.lease);
        }
    }

    #[test]
    fn checked_lease_fits_all_times(
        drift in 0_u32..=250_000_000,
        lease in 10_000_000_u64..5_000_000_000,
        [round_trip, refresh, grace, kill_margin] in prop::array::uniform4(0_u64..1 << 29),
    ) {
        let mut any = config().with_lease(Duration::from_nanos(lease));
        any.drift = Drift::from_parts_per_billion(drift).unwrap();
        any.round_trip = Duration::from_nanos(round_trip);
        any.refresh = Duration::from_nanos(refresh);
        any.grace = Duration::from_nanos(grace);
        any.kill_margin = Duration::from_nanos(kill_margin);
        match any.clone().check() {
            Ok(checked) => {
                let d = checked.round_trip;
                let stop = checked.grace + checked.kill_margin;
                prop_assert!(checked.lease * 2 > (stop + 4 * d) * 3, "two thirds of the lease");
                let first = checked.lease_first();
                prop_assert!(3 * checked.refresh + 2 * d <= first && first <= checked.lease);
                let needed = checked.lease_needed(d, checked.renew_after(), checked.usable());
                prop_assert!(checked.lease >= needed, "section 10.1 asks for {:?}", needed);
            }
            Err(ConfigError::Timing(TimingError::TooShort(short))) => {
                let TooShort { enough, needed, .. } = *short;
                prop_assert!(any.usable() <= needed);
                if let Some(enough) = enough {
                    prop_assert!(enough > any.lease);
                    prop_assert!(any.with_lease(enough).usable() > needed);
                }
            }
            Err(_) => {}
        }
    }
}
