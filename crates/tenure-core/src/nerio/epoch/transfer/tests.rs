use alloc::vec;

use super::super::super::config::{Config, members};
use super::super::super::wire;
use super::*;

/// A document of some thousand bytes.
fn document() -> Document {
    let list = "a=10.0.0.1:7101,b=10.0.0.2:7101,c=10.0.0.3:7101";
    let mut document =
        Document::of_line(&Config::new("prod".parse().unwrap(), members(list).unwrap()));
    for seat in &mut document.seats {
        let label = "h".repeat(60);
        let host = alloc::format!("{label}.{label}.{label}:7101");
        seat.hosts = vec![host.parse().unwrap(); 4];
    }
    document
}

/// Answers the questions of a reader with `change`d parts, until the reader asks for no further
/// part.
fn read(epoch: EpochId, change: impl Fn(&mut DocumentPart)) -> (ReadOutcome, usize) {
    let (mut reader, mut count) = (DocumentReader::new(epoch), 0);
    loop {
        let question = reader.question(Time::from_nanos(7));
        let mut part = document().part(&question, Inc(5)).unwrap();
        assert_eq!((part.asker, part.start), (Inc(5), question.start));
        change(&mut part);
        count += 1;
        let outcome = reader.on_part(&part);
        if outcome != ReadOutcome::Unfinished {
            return (outcome, count);
        }
        assert_eq!(reader.on_part(&part), ReadOutcome::Unexpected, "the same part again");
    }
}

#[test]
fn parts_make_the_document() {
    let document = document();
    let bytes = document.encode().unwrap();
    assert_eq!(bytes.len(), wire::length(&document));
    assert_eq!(Document::decode(&bytes).as_ref(), Some(&document));
    let (outcome, parts) = read(document.id(), |_| {});
    assert_eq!(outcome, ReadOutcome::Finished(Box::new(document)));
    assert_eq!(parts, bytes.len().div_ceil(DocumentPart::BYTES_MAX));
    assert!(parts > 2, "{parts}");
}

#[test]
fn strange_parts_end_the_reading() {
    let id = document().id();
    let other = EpochId { digest: id.digest ^ 1, ..id };
    let end = |change: fn(&mut DocumentPart)| read(id, change).0;
    assert_eq!(end(|part| part.bytes[0] ^= 1), ReadOutcome::Unusable);
    assert_eq!(end(|part| part.total = part.offset + 1), ReadOutcome::Unusable);
    assert_eq!(end(|part| part.total = u32::MAX), ReadOutcome::Unusable);
    assert_eq!(end(|part| part.bytes.clear()), ReadOutcome::Unexpected);
    assert_eq!(end(|part| part.offset += 1), ReadOutcome::Unexpected);
    assert_eq!(end(|part| part.epoch.number += 1), ReadOutcome::Unexpected);
    // The reader gets the whole document, but asked for another digest.
    let (mut reader, mut outcome) = (DocumentReader::new(other), ReadOutcome::Unfinished);
    while outcome == ReadOutcome::Unfinished {
        let part = document().part(&reader.question(Time::ZERO), Inc(0)).unwrap();
        outcome = reader.on_part(&part);
    }
    assert_eq!(outcome, ReadOutcome::Unusable);
}

#[test]
fn parts_end_with_the_document() {
    let mut document = document();
    let read = |offset| DocumentRead { start: Time::ZERO, epoch: EpochId::NONE, offset };
    let length = u32::try_from(wire::length(&document)).unwrap();
    assert!(document.part(&read(length - 1), Inc(0)).is_some_and(|part| part.bytes.len() == 1));
    assert_eq!(document.part(&read(length), Inc(0)), None);
    assert_eq!(document.part(&read(u32::MAX), Inc(0)), None);
    document.seats[0].hosts = vec![document.seats[0].hosts[0].clone(); 50];
    assert_eq!(document.encode(), None, "too long");
    assert_eq!(document.part(&read(0), Inc(0)), None);
}
