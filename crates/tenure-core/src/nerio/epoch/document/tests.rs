use alloc::string::String;
use alloc::vec;

use super::super::super::config::members;
use super::*;

const LINE: &str = "c=10.0.0.3:7101,a=10.0.0.1:7101,b=db-2.internal:7101";

fn line(quorums: &str) -> Config {
    let mut config = Config::new("prod".parse().unwrap(), members(LINE).unwrap());
    config.quorums = Quorums::parse(quorums, &config.names()).unwrap();
    config
}

fn seat(name: &str, instance: u128, hosts: &[&str]) -> Seat {
    let hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
    Seat { name: name.parse().unwrap(), instance: Some(Instance(instance)), hosts }
}

/// Epoch 1 of a cluster that was upgraded.
fn changed() -> Document {
    let before = EpochId { number: 0, digest: 0x40dc_6bd8_4c6d_18aa };
    Document {
        cluster: "prod".parse().unwrap(),
        number: 1,
        before,
        founding: before.digest,
        origin: Origin::Changed,
        drift: Drift::DEFAULT,
        seats: vec![
            seat("a", 1, &["10.0.0.1:7101"]),
            seat("b", 2, &["db-2.internal:7101", "10.0.0.2:7101"]),
        ],
        quorums: "majority".parse().unwrap(),
        floor: Fence::NONE,
    }
}

fn check(document: &Document) -> Result<Quorums, DocumentError> {
    document.check(&"prod".parse().unwrap(), Drift::DEFAULT)
}

/// The value comes from another implementation of the documented encoding and of SipHash-1-3.
#[test]
fn digest_is_fixed() {
    let id = EpochId { number: 1, digest: 0x83e9_fb4a_3e05_7856 };
    assert_eq!(changed().id(), id);
}

#[test]
fn every_field_changes_digest() {
    let changes: &[fn(&mut Document)] = &[
        |_| {},
        |d| d.cluster = "test".parse().unwrap(),
        |d| d.number = 2,
        |d| d.before.number = 7,
        |d| d.before.digest = 7,
        |d| d.founding = 7,
        |d| d.origin = Origin::Recovered,
        |d| d.drift = "0.002".parse().unwrap(),
        |d| d.seats.truncate(1),
        |d| d.seats[0].name = "z".parse().unwrap(),
        |d| d.seats[0].instance = Some(Instance(7)),
        |d| d.seats[0].hosts.clear(),
        |d| d.quorums = "sets:a".parse().unwrap(),
        |d| d.floor = Fence::new(7),
    ];
    let digest = |change: &fn(&mut Document)| {
        let mut document = changed();
        change(&mut document);
        document.id().digest
    };
    let mut digests: Vec<u64> = changes.iter().map(digest).collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), changes.len());
}

#[test]
fn upgraded_has_the_digest_of_settings() {
    for quorums in ["majority", "weights:a=3,b=1,c=1", "sets:a+b,b+c,a+c", "grid:1x3"] {
        let config = line(quorums);
        let document = Document::of_line(&config);
        let checked = config.check().unwrap();
        assert_eq!(document.id(), EpochId { number: 0, digest: checked.digest() }, "{quorums}");
        assert_eq!(check(&document).as_ref(), Ok(checked.membership().quorums()));
    }
    let names: Vec<_> = Document::of_line(&line("majority")).names();
    assert_eq!(names.iter().map(NodeName::as_str).collect::<Vec<_>>(), ["a", "b", "c"]);
}

#[test]
fn document_survives_its_encoding() {
    for document in [changed(), Document::of_line(&line("majority"))] {
        let bytes = postcard::to_allocvec(&document).unwrap();
        assert_eq!(bytes.len(), wire::length(&document));
        let read: Document = postcard::from_bytes(&bytes).unwrap();
        assert_eq!((check(&read).is_ok(), &read), (true, &document));
    }
}

#[test]
fn floor_is_exact_in_json() {
    let recovered = |floor| Document { origin: Origin::Recovered, floor, ..changed() };
    assert!(check(&recovered(Document::FLOOR_MAX)).is_ok());
    let refused = check(&recovered(Fence::new(1 << 53))).unwrap_err().to_string();
    let why = "the fence floor is 9007199254740992; at most 9007199254740991 is allowed";
    assert_eq!(refused, why);
}

#[test]
fn faulty_document_is_refused() {
    let refused = |change: fn(&mut Document)| -> String {
        let mut document = changed();
        change(&mut document);
        check(&document).unwrap_err().to_string()
    };
    type Change = fn(&mut Document);
    let follows = "epoch 1 cannot follow epoch 0 in a members document of this kind";
    let cases: &[(Change, &str)] = &[
        (
            |d| d.cluster = "test".parse().unwrap(),
            "the members are of cluster test, and this process is of cluster prod",
        ),
        (
            |d| d.drift = "0.002".parse().unwrap(),
            "the members have drift 0.002, and this process has drift 0.001",
        ),
        (|d| d.number = 2, "epoch 2 cannot follow epoch 0 in a members document of this kind"),
        (
            |d| {
                d.origin = Origin::Recovered;
                d.number = u64::MAX;
            },
            "epoch 18446744073709551615 cannot follow epoch 0 in a members document of this kind",
        ),
        (|d| (d.before, d.founding) = (EpochId::NONE, 0), follows),
        (|d| d.origin = Origin::Founded, follows),
        (
            |d| d.founding = 7,
            "the members document follows one epoch 0, and names another epoch 0 as the founding",
        ),
        (
            |d| d.floor = Fence::new(7),
            "the members document sets a fence floor, which only a founding or a recovery may set",
        ),
        (|d| d.seats.clear(), "the members document has 0 members; it must have 1 to 31"),
        (
            |d| d.seats.reverse(),
            "the members are not in the order of their names: a comes too late, or twice",
        ),
        (
            |d| d.seats[1].instance = Some(Instance(1)),
            "the members a and b have the same state directory",
        ),
        (
            |d| d.seats[1].instance = None,
            "member b must name its state directory, except after an upgrade, where no member may",
        ),
        (
            |d| d.seats[0].hosts = vec!["x:1".parse().unwrap(); 5],
            "member a has 5 addresses; at most 4 are allowed",
        ),
        (
            |d| d.quorums = "sets:b,a".parse().unwrap(),
            "the quorums b and a have no member in common, so each could elect a leader of its \
             own; every two quorums must share a member",
        ),
        (
            |d| d.quorums = "sets:b+a".parse().unwrap(),
            "the quorums of the members document are not in the order of names",
        ),
        (
            |d| d.quorums = "grid:1x2".parse().unwrap(),
            "column 6 of the quorum system: \"1x2\" is not a member; the members are a, b",
        ),
    ];
    for (change, text) in cases {
        assert_eq!(refused(*change), *text);
    }
}

#[test]
fn long_document_is_refused() {
    let mut long = changed();
    let name = "n".repeat(NodeName::MAX_BYTES - 2);
    let host = alloc::format!("{}:7101", ["h".repeat(63).as_str(); 3].join("."));
    let named = |nth: u128| {
        let nth = nth + 10;
        seat(&alloc::format!("{name}{nth}"), nth, &[host.as_str(); Seat::HOSTS_MAX])
    };
    long.seats = (0..31).map(named).collect();
    let text = check(&long).unwrap_err().to_string();
    assert!(text.ends_with(" bytes; at most 8192 are allowed"), "{text}");
}
