use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use tenure_core::WallTime;
use tenure_core::allcall::*;
use tenure_testkit::Rng;
use tenure_testkit::allcall::arbitrary;

use super::*;

/// Packets from the generator that the contract tests use.
fn packet() -> impl Strategy<Value = Packet> {
    any::<u64>().prop_map(|seed| arbitrary::packet(&mut Rng::new(seed), some_call().header.times))
}

proptest! {
    #[test]
    fn packets_round_trip_within_count(packet in packet()) {
        let bytes = write(&packet);
        prop_assert!(bytes.len() <= packet.bytes(), "{} of {}", bytes.len(), packet.bytes());
        prop_assert_eq!(read(Kind::of(&packet.body), &bytes), Ok(packet));
    }

    #[test]
    fn damaged_packet_never_panics(
        packet in packet(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = write(&packet);
        for (index, byte) in damage {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        let _ = read(Kind::of(&packet.body), &bytes);
    }

    #[test]
    fn anything_at_all_is_no_packet(bytes in vec(any::<u8>(), 0..200)) {
        for kind in Kind::ALL {
            prop_assert_eq!(read(kind, &bytes), Err(Unread::Malformed));
        }
    }
}

fn some_call() -> Packet {
    let who = |id: &str, incarnation| Participant { id: id.parse().unwrap(), incarnation };
    let one = who("web-1", 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
    let rank = Rank { number: 5, tie: 0 };
    let at = |millis: u64| WallTime::from_nanos(1_777_636_800_000_000_000 + millis * 1_000_000);
    let seconds = Duration::from_secs;
    let header = Header {
        cluster: "prod".parse().unwrap(),
        sender: one.clone(),
        rank,
        sent: at(250),
        times: Times { heartbeat: seconds(1), lease: seconds(10), max_clock_skew: seconds(1) },
        established: true,
    };
    let claim = LeaderClaim {
        leader: one.clone(),
        rank,
        term: 3,
        until: at(10_250),
        value: "10.0.0.7:8080".parse().unwrap(),
    };
    let tombstone = Tombstone {
        leader: who("web-2", 0xfedc_ba98_7654_3210_fedc_ba98_7654_3210),
        term: 1,
        until: at(2_000),
        successor: Some(one),
    };
    let entry = Entry {
        election: "billing".parse().unwrap(),
        eligible: true,
        digest: Digest(0x89ab_cdef),
        claim: Some(claim),
        tombstones: vec![tombstone],
    };
    let part = Part { number: 0, of: 1 };
    Packet { header, body: Body::Call(Call { round: Round(7), part, entries: vec![entry] }) }
}

/// People compare the example with the output of `nats sub`.
#[test]
fn documented_packet_is_written() {
    let page = include_str!("mod.rs");
    let lines = page.lines().skip_while(|line| !line.contains("```json")).skip(1);
    let example = lines.take_while(|line| !line.contains("```"));
    let joined: String =
        example.map(|line| line.trim_start_matches("//!").trim_start().to_owned()).collect();
    assert_eq!(String::from_utf8(write(&some_call())).unwrap(), joined);
}

#[test]
fn unread_packets_have_reasons() {
    let text = String::from_utf8(write(&some_call())).unwrap();
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        read(Kind::Call, text.replacen(from, to, 1).as_bytes())
    };
    assert!(changed("", "").is_ok());
    // A stranger that may only ask must not publish a call on the subject of `Ask`.
    assert_eq!(read(Kind::Ask, text.as_bytes()), Err(Unread::Subject));
    assert_eq!(changed("\"v\":1", "\"v\":2,\"new\":{}"), Err(Unread::Version));
    assert_eq!(read(Kind::Call, b"{\"v\":2}"), Err(Unread::Version));
    assert_eq!(read(Kind::Call, &vec![b' '; PACKET_BYTES_MAX + 1]), Err(Unread::TooLarge));
    for (from, to) in [
        ("\"v\":1,", ""),
        ("\"v\":1", "\"v\":1,\"v\":1"),
        ("\"established\":true", "\"established\":true,\"more\":1"),
        ("\"call\":", "\"resign\":{\"ended\":[]},\"call\":"),
        ("\"call\":", "\"shout\":"),
        ("web-1~0123", "web-1~123"),
        ("web-1~0123", "web-1~A123"),
        ("web-1~", "web 1~"),
        ("\"rank\":5", "\"rank\":-5"),
        ("\"rank\":5", "\"rank\":18446744073709551616"),
        ("2026-05-01T12:00:00.25", "2026-13-01T12:00:00.25"),
        ("2026-05-01T12:00:00.25", "1960-05-01T12:00:00.25"),
        ("2026-05-01T12:00:00.25", "9000-05-01T12:00:00.25"),
        ("\"lease\":\"10s\"", "\"lease\":\"-10s\""),
        ("\"billing\"", "\"bill ing\""),
        ("10.0.0.7", "10\\u00000.7"),
    ] {
        assert_eq!(changed(from, to), Err(Unread::Malformed), "{from} → {to}");
    }
    assert_eq!(read(Kind::Call, b"not json"), Err(Unread::Malformed));
    let deep = "[".repeat(60_000);
    assert_eq!(read(Kind::Call, deep.as_bytes()), Err(Unread::Malformed));
    assert_eq!(read(Kind::Call, format!("{{\"v\":{deep}").as_bytes()), Err(Unread::Malformed));
}
