//! Sealed datagrams, byte for byte: another version must read them.

use std::fmt::Write;

use super::*;

/// A seal whose key has the rights to contend, to ask and to resign.
const R: &str = "10.0.1.3:5000";

/// Each field has a line, as in `seal/bytes.rs`.
const TEXT: &str = include_str!("golden.txt");

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn fields(bytes: &[u8], fields: &[(&str, usize)]) -> String {
    let mut text = String::new();
    let mut rest = bytes;
    for (name, length) in fields {
        let (field, behind) = rest.split_at(*length);
        writeln!(text, "  {name:8} {}", hex(field)).unwrap();
        rest = behind;
    }
    assert!(rest.is_empty(), "{} bytes more", rest.len());
    text
}

fn show(packet: &Packet, name: &dyn Fn(SocketAddr) -> &'static str) -> String {
    let bytes = &packet.bytes;
    let (kind, of_kind): (_, Vec<(&str, usize)>) = match bytes[4] {
        DATA => {
            let text = bytes.len() - 5 - 16 - 16;
            ("data", vec![("id", 8), ("counter", 8), ("sealed", text), ("tag", 16)])
        }
        HELLO => {
            let grant = usize::from(bytes[50]);
            let head = [("channel", 1), ("key", 4), ("public", 32), ("counter", 8), ("length", 1)];
            let rest = [("grant", grant), ("sealed", 8), ("tag", 16), ("gate", 16)];
            ("hello", [&head[..], &rest[..]].concat())
        }
        _ => ("welcome", vec![("public", 32), ("counter", 8), ("sealed", 16), ("tag", 16)]),
    };
    let head = [("magic", 4), ("version", 1)];
    let all = [&head[..], &of_kind[..]].concat();
    format!("{kind} {} -> {}\n{}", name(packet.from), name(packet.to), fields(bytes, &all))
}

#[test]
fn datagrams_have_golden_bytes() {
    let mut net = candidate_and_members();
    net.nodes.insert(at(Q), seal(application("billing"), 4));
    for (from, to) in [(P, A), (A, P), (A, B), (P, Q)] {
        net.say(from, to, "text");
        net.settle();
    }
    net.nodes.insert(at(R), seal(with_rights("contend,ask,resign"), 5));
    net.say(R, A, "text");
    net.settle();
    let name = |address: SocketAddr| {
        let names = [
            (A, "member a"),
            (B, "member b"),
            (P, "process p"),
            (Q, "process q"),
            (R, "process r"),
        ];
        names.iter().find(|(known, _)| at(known) == address).unwrap().1
    };
    let shown: Vec<_> = net.sent.iter().map(|packet| show(packet, &name)).collect();
    let shown = shown.join("\n");
    let golden: Vec<_> = TEXT.lines().filter(|line| !line.starts_with('#')).collect();
    let golden = golden.join("\n");
    assert_eq!(shown.trim(), golden.trim(), "is now:\n{shown}");
}
