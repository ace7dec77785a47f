//! Golden conversations of Nerio, a story to each `*.txt` beside this file.

#![allow(unreachable_pub, missing_docs)]

mod cast;

use tenure_testkit::conversations;

use self::cast::Grantors;

tenure_testkit::conversations! {
    Grantors;
    first_election
    renewal
    fence_round
    split_vote
    hand_over
    transfer
    waiting_queue
    leader_crash
    leader_partition
    grantor_crash
    quarantine
    lost_disk
    failed_write
    late_release
    verification
    lost_messages
    observer
    name_shared
}

#[test]
fn what_cannot_be_performed_is_named_with_its_line() {
    let error = |lines: &str| conversations::refusal::<Grantors>(&format!("# story\n> {lines}\n"));
    assert_eq!(error("start a").0, 2);
    let begun = "cluster members=a,b,c\n> start a b c d\n";
    let wrong = |line: &str| error(&format!("{begun}> {line}"));
    for (line, what) in [
        ("march a", "there is no directive `march`"),
        ("cluster members=a", "the cluster is there already"),
        ("start a", "a has started before"),
        ("resign x", "nobody called x has started"),
        ("cut a-x", "nobody is called x"),
        ("deliver", "nothing is on its way"),
        ("arrive", "nothing is held"),
        ("restart d lost-disk", "d has no directory to lose"),
        ("lose request d>a", "no request went from d to a"),
        ("crash d\n> campaign d", "d does not run"),
        ("hold request d>a\n> campaign d", "held for ever: request db"),
    ] {
        let (number, found) = wrong(line);
        assert_eq!(number, 3 + line.matches('\n').count() + 1, "{line}");
        assert!(found.starts_with(what), "{line}: {found}");
    }
    let (number, found) = error("cluster members=a lease=1ms");
    assert_eq!((number, found.contains("1ms")), (2, true), "{found}");
}
