use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::name::NodeName;

fn names(count: usize) -> Vec<NodeName> {
    (0..count).map(|nth| NodeName::new(&format!("n{nth}")).unwrap()).collect()
}

fn letters(list: &str) -> Vec<NodeName> {
    list.split_whitespace().map(|name| NodeName::new(name).unwrap()).collect()
}

fn set(members: &[usize]) -> MemberSet {
    members.iter().copied().collect()
}

fn subsets(members: usize) -> impl Iterator<Item = MemberSet> + Clone {
    (0..1_u32 << members)
        .map(move |bits| (0..members).filter(|member| bits >> member & 1 == 1).collect())
}

/// Compares `made` with the plain definition of the same system, over all pairs of subsets.
fn agrees_with_brute_force(
    members: usize,
    made: Result<Quorums, QuorumError>,
    is_quorum: impl Fn(MemberSet) -> bool,
) -> Result<(), TestCaseError> {
    let quorums: Vec<MemberSet> = subsets(members).filter(|set| is_quorum(*set)).collect();
    let all_meet =
        quorums.iter().all(|first| quorums.iter().all(|second| !first.and(*second).is_empty()));
    match made {
        Ok(made) => {
            prop_assert!(all_meet, "{:?} was accepted", made);
            prop_assert!(!quorums.is_empty(), "{:?} has no quorum", made);
            prop_assert_eq!(made.members(), members);
            for set in subsets(members) {
                prop_assert_eq!(made.is_quorum(set), is_quorum(set), "{:?} of {:?}", set, made);
                let rest = made.everyone().minus(set);
                prop_assert_eq!(made.is_possible(set), is_quorum(rest));
                prop_assert_eq!(made.is_quorum(set.with(members)), is_quorum(set));
            }
            let names = names(members);
            let text = made.text(&names).to_string();
            prop_assert_eq!(Quorums::parse(&text, &names), Ok(made), "{}", text);
        }
        Err(QuorumError::Disjoint { first, second }) => {
            prop_assert!(!all_meet);
            prop_assert!(first.and(second).is_empty(), "{:?} meets {:?}", first, second);
            prop_assert!(is_quorum(first) && is_quorum(second), "{:?}, {:?}", first, second);
        }
        Err(other) => {
            let has_sense = !quorums.is_empty() && !is_quorum(MemberSet::EMPTY);
            prop_assert!(!has_sense, "{} for {:?}", other, quorums);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn weighted_systems_need_meeting_quorums(
        weights in prop::collection::vec(0_u32..8, 1..=6),
        threshold in prop::option::of(0_u32..24),
    ) {
        let sum: u32 = weights.iter().sum();
        let needed = threshold.unwrap_or(sum / 2 + 1);
        let weight = |set: MemberSet| set.iter().map(|member| weights[member]).sum::<u32>();
        let made = Quorums::weighted(&weights, threshold);
        agrees_with_brute_force(weights.len(), made, |set| weight(set) >= needed)?;
    }

    #[test]
    fn explicit_systems_need_meeting_sets(
        (members, sets) in (1_usize..=6).prop_flat_map(|members| {
            let set = (0_u32..1 << members).prop_map(move |bits| {
                (0..members).filter(|member| bits >> member & 1 == 1).collect::<MemberSet>()
            });
            (Just(members), prop::collection::vec(set, 0..5))
        }),
    ) {
        let made = Quorums::explicit(members, &sets);
        let has_empty = sets.iter().any(|set| set.is_empty());
        prop_assert_eq!(matches!(made, Err(QuorumError::EmptySet { .. })), has_empty);
        agrees_with_brute_force(members, made, |set| {
            sets.iter().any(|quorum| quorum.iter().all(|member| set.contains(member)))
        })?;
    }

    #[test]
    fn foreign_text_never_panics(text in "[a-d0-9=,;:+x th]{0,24}") {
        for form in ["", "weights:", "grid:", "sets:"] {
            let names = letters("a b c d");
            if let Ok(made) = Quorums::parse(&format!("{form}{text}"), &names) {
                let again = Quorums::parse(&made.text(&names).to_string(), &names);
                prop_assert_eq!(again, Ok(made));
            }
        }
    }
}

#[test]
fn majorities_follow_the_paper() {
    for members in 1..=6 {
        let made = Quorums::majority(members);
        agrees_with_brute_force(members, made, |set| 2 * set.len() > members).unwrap();
    }
}

#[test]
fn grid_quorum_covers_every_row() {
    for (rows, columns) in
        [(1, 1), (1, 4), (4, 1), (2, 2), (2, 3), (3, 2), (1, 6), (6, 1), (3, 3), (2, 4)]
    {
        let place = |row: usize, column: usize| row * columns + column;
        let is_full = |set: MemberSet, row| (0..columns).all(|c| set.contains(place(row, c)));
        let is_met = |set: MemberSet, row| (0..columns).any(|c| set.contains(place(row, c)));
        let is_quorum = |set: MemberSet| {
            (0..rows).any(|row| is_full(set, row)) && (0..rows).all(|row| is_met(set, row))
        };
        let made = Quorums::grid(rows, columns);
        agrees_with_brute_force(rows * columns, made.clone(), is_quorum).unwrap();

        // The quorums of the grid include the quorums of the older rule: every full row with a full
        // column.
        let made = made.unwrap();
        for (row, column) in (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c))) {
            let cross = (0..columns).map(|c| place(row, c));
            let cross: MemberSet = cross.chain((0..rows).map(|r| place(r, column))).collect();
            assert!(made.is_quorum(cross), "{rows}x{columns} {cross:?}");
            assert_eq!(cross.len(), rows + columns - 1);
        }
    }
}

#[test]
fn weights_are_decided_exactly() {
    // The threshold may be half of the sum here: no two disjoint sets both reach it.
    let odd = [1_000; 31];
    assert!(Quorums::weighted(&odd, Some(15_001)).is_ok());
    assert!(Quorums::weighted(&[2, 2, 2], Some(3)).is_ok());
    let refused = Quorums::weighted(&odd, Some(15_000));
    let Err(QuorumError::Disjoint { first, second }) = refused else {
        panic!("15 of 31 do not meet 15 others, but {refused:?}");
    };
    assert_eq!((first.len(), second.len(), first.and(second)), (15, 15, MemberSet::EMPTY));
    // With weights 1, 2, 4 and so on every sum exists, so the threshold must be more than half.
    let powers: Vec<u32> = (0..10).map(|n| 1 << n).collect();
    assert!(Quorums::weighted(&powers, Some(512)).is_ok());
    assert!(Quorums::weighted(&powers, Some(511)).is_err());
    assert_eq!(
        Quorums::weighted(&[5, 0, 1, 6, 0], Some(6)),
        Err(QuorumError::Disjoint { first: set(&[0, 2]), second: set(&[3]) }),
        "the pair holds nobody who is not needed"
    );
}

#[test]
fn explicit_sets_are_minimal_and_sorted() {
    let listed = [set(&[1, 2]), set(&[0, 1]), set(&[0, 1, 2]), set(&[1, 2]), set(&[0, 2])];
    let made = Quorums::explicit(3, &listed).unwrap();
    assert_eq!(made.text(&letters("a b c")).to_string(), "sets:a+b,a+c,b+c");
    assert_eq!(made, Quorums::explicit(3, &listed[1..]).unwrap());
}

#[test]
fn empty_set_is_no_quorum() {
    for made in [
        Quorums::majority_of(0),
        Quorums::majority(1).unwrap(),
        Quorums::weighted(&[0, 1], None).unwrap(),
        Quorums::grid(1, 1).unwrap(),
        Quorums::explicit(1, &[set(&[0])]).unwrap(),
    ] {
        assert!(!made.is_quorum(MemberSet::EMPTY), "{made:?}");
        assert!(!made.is_possible(made.everyone()), "{made:?}");
    }
}

#[test]
fn refused_system_has_a_reason() {
    let many = vec![set(&[0]); Quorums::SETS_MAX + 1];
    let cases = [
        (Quorums::majority(0), "a quorum system needs at least one member, better three"),
        (Quorums::majority(32), "there are 32 members, and a quorum system has at most 31"),
        (
            Quorums::weighted(&[1, 1], Some(1)),
            "the quorums #0 and #1 have no member in common, so each could elect a leader of its \
             own; every two quorums must share a member",
        ),
        (
            Quorums::weighted(&[0, 0], None),
            "every member weighs 0, so there is no quorum; give weight to at least one",
        ),
        (
            Quorums::weighted(&[1, 1_001], None),
            "member #1 weighs 1001; a weight may be at most 1000: only the ratios of weights count",
        ),
        (
            Quorums::weighted(&[2, 1], Some(0)),
            "a threshold of 0 makes the empty set a quorum; give 2, which is more than half of the \
             weights",
        ),
        (
            Quorums::weighted(&[2, 1], Some(4)),
            "the threshold is 4, but all members together weigh 3, so there is no quorum; lower \
             the threshold or raise the weights",
        ),
        (
            Quorums::grid(0, 3),
            "a grid of 0 x 3 has no places; it needs at least one row and one column",
        ),
        (
            Quorums::grid(usize::MAX, 2),
            "there are 18446744073709551615 members, and a quorum system has at most 31",
        ),
        (Quorums::explicit(2, &[]), "no sets are listed, so there is no quorum; list at least one"),
        (Quorums::explicit(2, &many), "1025 sets are listed; at most 1024 are allowed"),
        (
            Quorums::explicit(2, &[set(&[0]), MemberSet::EMPTY]),
            "set 2 of the list is empty; a quorum needs at least one member",
        ),
        (
            Quorums::explicit(2, &[set(&[0, 2])]),
            "set 1 of the list holds member #2; there are 2 members, counted from #0",
        ),
    ];
    for (made, text) in cases {
        assert_eq!(made.unwrap_err().to_string(), text);
    }
}

#[test]
fn text_becomes_its_system() {
    let names = letters("a b c d e f");
    let of = |text: &str, count| Quorums::parse(text, &names[..count]).unwrap();
    assert_eq!(of("majority", 5), Quorums::majority(5).unwrap());
    assert_eq!(of("weights:c=1,a=3,b=0", 3), Quorums::weighted(&[3, 0, 1], None).unwrap());
    let above = Quorums::weighted(&[3, 1, 1], Some(4)).unwrap();
    assert_eq!(of("weights:a=3,b=1,c=1;threshold=4", 3), above);
    assert_eq!(of("grid:2x3", 6), Quorums::grid(2, 3).unwrap());
    let sets = [set(&[0, 1]), set(&[1, 2]), set(&[0, 2])];
    assert_eq!(of("sets:a+b,b+c,a+c", 3), Quorums::explicit(3, &sets).unwrap());
}

#[test]
fn refused_text_names_the_place() {
    let form = |text: &str| {
        format!(
            "{text:?} is no quorum system; use majority, weights:a=3,b=1,c=1 (for another \
             threshold than more than half of the weights add ;threshold=4), grid:2x3 or \
             sets:a+b,b+c,a+c"
        )
    };
    let at = |column: usize, rest: &str| format!("column {column} of the quorum system: {rest}");
    let cases: &[(&str, String)] = &[
        ("", form("")),
        ("Majority", form("Majority")),
        ("majority:3", form("majority:3")),
        ("weights:", at(9, "\"\" is not MEMBER=WEIGHT")),
        ("weights:a=1,b", at(13, "\"b\" is not MEMBER=WEIGHT")),
        ("weights:a=1,b=-1,c=1", at(15, "\"-1\" is not a whole number")),
        ("weights:a=+1,b=1,c=1", at(11, "\"+1\" is not a whole number")),
        ("weights:a=1,b=4294967296,c=1", at(15, "\"4294967296\" is not a whole number")),
        ("weights:a=1,é=1", at(13, "\"é\" is not a member; the members are a, b, c")),
        ("weights:a=1, b=1", at(13, "\" b\" is not a member; the members are a, b, c")),
        ("weights:a=1,b=1,a=2", at(17, "member a is named a second time")),
        (
            "weights:a=1,b=1",
            "member c has no weight; give it one, c=0 if its vote shall not count".to_string(),
        ),
        ("weights:a=1,b=1,c=1;2", at(21, "\"2\" is not threshold=NUMBER")),
        ("weights:a=1,b=1,c=1;threshold=", at(31, "\"\" is not a whole number")),
        (
            "weights:a=1,b=2000,c=1",
            "member b weighs 2000; a weight may be at most 1000: only the ratios of weights count"
                .to_string(),
        ),
        (
            "weights:a=1,b=1,c=1;threshold=1",
            "the quorums a and c have no member in common, so each could elect a leader of its \
             own; every two quorums must share a member"
                .to_string(),
        ),
        ("grid:3", at(6, "\"3\" is not ROWSxCOLUMNS, such as 2x3")),
        ("grid:ax3", at(6, "\"a\" is not a number of rows")),
        ("grid:1x3x1", at(8, "\"3x1\" is not a number of columns")),
        (
            "grid:2x2",
            "a grid of 2 x 2 has 4 places and there are 3 members; every member needs one place"
                .to_string(),
        ),
        ("sets:", at(6, "\"\" is not a set such as a+b")),
        ("sets:a+b,,a+c", at(10, "\"\" is not a set such as a+b")),
        ("sets:a+b,b+", at(12, "\"\" is not a member; the members are a, b, c")),
        ("sets:a+b,b+b", at(12, "member b is named a second time")),
    ];
    for (text, error) in cases {
        assert_eq!(Quorums::parse(text, &letters("a b c")).unwrap_err().to_string(), *error);
    }
}

#[test]
fn canonical_text_ignores_order_of_names() {
    let canonical = |list: &str, text: &str| {
        let names = letters(list);
        Quorums::parse(text, &names).unwrap().canonical(&names)
    };
    assert_eq!(canonical("b a", "majority"), "majority");
    let weights = "weights:a=3,b=1,c=1;threshold=3";
    assert_eq!(canonical("a b c", weights), weights);
    assert_eq!(canonical("c b a", weights), weights);
    assert_eq!(canonical("c a b", "sets:a+b,b+c,a+c"), "sets:a+b,a+c,b+c");
    assert_eq!(canonical("a b c d", "grid:2x2"), "grid:a+b,c+d");
    assert_eq!(canonical("d c a b", "grid:2x2"), "grid:a+b,c+d", "the same rows");
    assert_eq!(canonical("a c b d", "grid:2x2"), "grid:a+c,b+d", "other rows");
    assert_eq!(canonical("a b", "grid:1x2"), "grid:a+b");
    assert_eq!(canonical("a b", "grid:2x1"), "grid:a,b");
}

/// Documents number members in the order of names, settings in the order of the list.
#[test]
fn document_has_the_quorums_of_settings() {
    let list = letters("d b e a c f");
    let mut sorted = list.clone();
    sorted.sort_unstable();
    for text in [
        "majority",
        "weights:d=3,b=1,e=0,a=2,c=1,f=1;threshold=5",
        "grid:2x3",
        "grid:3x2",
        "sets:d+b,b+e+a,d+e+b+f",
    ] {
        let settings = Quorums::parse(text, &list).unwrap();
        let canonical = settings.canonical(&list);
        let document = Quorums::of_document(&canonical, &sorted).unwrap();
        assert_eq!(document.canonical(&sorted), canonical);
        for set in subsets(list.len()) {
            let position =
                |member: usize| sorted.iter().position(|name| *name == list[member]).unwrap();
            let same = set.iter().map(position).collect();
            assert_eq!(settings.is_quorum(set), document.is_quorum(same), "{text} {set:?}");
        }
        let printed = document.text(&sorted).to_string();
        assert_eq!(Quorums::of_document(&canonical, &sorted), Ok(document), "{printed}");
    }
}

#[test]
fn document_has_grid_by_rows() {
    let names = letters("a b c d");
    let of = |text: &str| Quorums::of_document(text, &names);
    assert_eq!(of("grid:a+b,c+d"), Ok(Quorums::grid(2, 2).unwrap()));
    let crossed = of("grid:a+c,b+d").unwrap();
    assert_eq!(crossed.text(&names).to_string(), "grid:a+c,b+d");
    assert!(crossed.is_quorum(set(&[0, 2, 3])) && !crossed.is_quorum(set(&[0, 1])));
    let uneven = |set: MemberSet| {
        let rows = [MemberSet::first(1), MemberSet::first(4).minus(MemberSet::first(1))];
        rows.iter().any(|row| set.contains_all(*row))
            && rows.iter().all(|row| !set.and(*row).is_empty())
    };
    let made = of("grid:a,b+c+d").unwrap();
    for one in subsets(4) {
        assert_eq!(made.is_quorum(one), uneven(one), "{one:?}");
    }
    let refused = |text: &str| of(text).unwrap_err().to_string();
    for (text, error) in [
        (
            "grid:2x2",
            "column 6 of the quorum system: \"2x2\" is not a member; the members are a, b, c, d",
        ),
        ("grid:a+b,c", "member d is in no row of the grid; every member needs one place"),
        ("grid:a+b,b+c+d", "column 10 of the quorum system: member b is named a second time"),
        ("grid:a+b,,c+d", "column 10 of the quorum system: \"\" is not a set such as a+b"),
    ] {
        assert_eq!(refused(text), error);
    }
}

#[test]
fn quorum_agrees_on_one_word() {
    let majority = Quorums::majority(3).unwrap();
    assert_eq!(majority.agreed(&[(0, "x"), (1, "y"), (2, "y")]), Some("y"));
    assert_eq!(majority.agreed(&[(0, "x"), (1, "y"), (2, "z")]), None, "no two agree");
    assert_eq!(majority.agreed(&[(1, "y")]), None);
    let weighted = Quorums::weighted(&[3, 1, 1], None).unwrap();
    assert_eq!(weighted.agreed(&[(0, "x"), (1, "y"), (2, "y")]), Some("x"));
    assert_eq!(weighted.agreed(&[(1, "y"), (2, "y")]), None, "one and two agree, and 0 is silent");
}

#[test]
fn longest_quorum_has_latest_first_end() {
    let longest = |quorums: &Quorums, ends: &[(u64, usize)]| {
        let ends = ends.iter().map(|(end, member)| (Time::from_nanos(*end), *member));
        quorums.longest(ends).map(|(members, end)| (members, end.as_nanos()))
    };
    let set = |members: &[usize]| members.iter().copied().collect::<MemberSet>();
    let majority = Quorums::majority(3).unwrap();
    assert_eq!(longest(&majority, &[(5, 0), (9, 1), (7, 2)]), Some((set(&[1, 2]), 7)));
    assert_eq!(longest(&majority, &[(5, 0)]), None);
    let weighted = Quorums::weighted(&[3, 1, 1], None).unwrap();
    assert_eq!(longest(&weighted, &[(5, 0), (9, 1), (7, 2)]), Some((set(&[0, 1, 2]), 5)));
    assert_eq!(longest(&weighted, &[(9, 1), (7, 2)]), None, "the others together are not enough");
}
