//! A directory that the version before has written, with names of at most 32 bytes: the longest
//! there were, and its leaders still led when it ended.

use super::*;

/// The boot of the machine in which it was written.
const BOOT: &str = "9000f5eb-090e-4525-8b66-8125418a5fcf time:[4026531834] boottime 0 0";

/// The bytes of a file of which a text has those that are not zero.
fn bytes(text: &str) -> Vec<u8> {
    let (head, lines) = text.split_once('\n').unwrap();
    let length = head.split(' ').nth(1).unwrap().parse().unwrap();
    let mut bytes = vec![0; length];
    for line in lines.lines() {
        let (at, digits) = line.split_once(' ').unwrap();
        let at = usize::from_str_radix(at, 16).unwrap();
        for (nth, pair) in digits.as_bytes().chunks(2).enumerate() {
            let pair = std::str::from_utf8(pair).unwrap();
            bytes[at + nth] = u8::from_str_radix(pair, 16).unwrap();
        }
    }
    bytes
}

fn world() -> World {
    let world = World::new();
    fs::create_dir(world.path()).unwrap();
    fs::write(world.path().join(IDENTITY.name), bytes(include_str!("format_1/identity.hex")))
        .unwrap();
    fs::write(world.grants(), bytes(include_str!("format_1/grants.hex"))).unwrap();
    world
}

fn open(world: &World, boot: &str, opening: Opening) -> Result<(StateDir, Recovered), MemoryError> {
    let grantor = Grantor { cluster: "tenure".parse().unwrap(), node: "a".parse().unwrap() };
    open_on(&world.path(), opening, &grantor, boot, Arc::new(Linux))
}

fn holders(grants: &Grants) -> Vec<(String, String, u64)> {
    let Grants::SameBoot(grants) = grants else { panic!("{grants}") };
    let holder = |grant: &GrantRecord| {
        let GrantRecord { election, holder, fence_seen, .. } = grant;
        (election.to_string(), holder.name.to_string(), fence_seen.number())
    };
    grants.iter().map(holder).collect()
}

#[test]
fn earlier_version_keeps_directory() {
    let world = world();
    let (mut state, recovered) = open(&world, BOOT, Opening::Existing).unwrap();
    assert_eq!(
        (recovered.durable.boot, recovered.durable.delta_max),
        (Boot(1), Some(Duration::from_secs(10)))
    );
    let Memory::Kept { reserve, grants } = &recovered.memory else { panic!("{recovered:?}") };
    assert_eq!(*reserve, Fence::new(1024));
    let known =
        [("audit".into(), "three".into(), 2), ("billing".into(), "n".repeat(32), 1)].to_vec();
    assert_eq!(holders(grants), known);

    // The table stays as it is until the first write, and is written anew with that: names may be
    // longer than before, and leaders announce their fences.
    assert_eq!(fs::read(world.grants()).unwrap(), bytes(include_str!("format_1/grants.hex")));
    let long = "n".repeat(NodeName::MAX_BYTES);
    let mut grant = grant("audit", 3);
    grant.holder.name = long.parse().unwrap();
    grant.announced = Some(Fence::new(7));
    state.write(&grant.into()).unwrap();
    state.write(&identity(&recovered, 10)).unwrap();
    drop(state);
    let (_state, again) = open(&world, BOOT, Opening::Existing).unwrap();
    assert_eq!((again.durable.instance, again.durable.boot), (recovered.durable.instance, Boot(2)));
    let Memory::Kept { grants, .. } = &again.memory else { panic!("{again:?}") };
    assert_eq!(holders(grants), [("audit".into(), long, 3), known[1].clone()]);
    let Grants::SameBoot(grants) = grants else { panic!("{grants}") };
    let announced: Vec<_> = grants.iter().map(|grant| grant.announced).collect();
    assert_eq!(announced, [Some(Fence::new(7)), None]);
}

#[test]
fn earlier_version_keeps_fences() {
    let (_state, recovered) = open(&world(), "another boot", Opening::Existing).unwrap();
    let memory = Memory::Kept { reserve: Fence::new(1024), grants: Grants::OtherBoot };
    assert_eq!(recovered.memory, memory);
}

#[test]
fn it_is_not_new() {
    let refused = open(&world(), BOOT, Opening::New).unwrap_err();
    assert!(matches!(refused, MemoryError::NotNew { .. }), "{refused}");
}
