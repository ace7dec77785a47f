use tenure_core::nerio::{Config, Inc, Instance, Membership, Origin, members};

use super::*;

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn seconds(seconds: u64) -> Time {
    Time::from_nanos(seconds * 1_000_000_000)
}

fn places(list: &str, local: &str) -> Places {
    let config = Config::new("x".parse().unwrap(), members(list).unwrap()).check().unwrap();
    Places::new(&config, at(local))
}

fn membership(list: &str) -> Arc<Membership> {
    let config = Config::new("x".parse().unwrap(), members(list).unwrap()).check().unwrap();
    Arc::clone(config.membership())
}

fn name(text: &str) -> NodeName {
    text.parse().unwrap()
}

fn found(places: &mut Places, member: &str, all: &[&str]) -> (Vec<String>, bool) {
    let found = Ok(all.iter().map(|text| at(text)).collect());
    let host = places.all[&name(member)].hosts[0].at.clone();
    let looked = LookUpResult { member: name(member), host, found };
    let (notices, changed) = places.on_looked(looked);
    (notices.iter().map(ToString::to_string).collect(), changed)
}

fn who(name: &str, inc: u128) -> Who {
    Who { name: name.parse().unwrap(), inc: Inc(inc) }
}

#[test]
fn address_names_member_without_keys() {
    let places = places("a=10.0.0.1:1,b=10.0.0.2:1", "0.0.0.0:1");
    assert!(places.proves(&who("b", 1), at("10.0.0.2:1"), None));
    assert!(!places.proves(&who("b", 1), at("10.0.0.1:1"), None), "another's address");
    assert!(!places.proves(&who("c", 1), at("10.0.0.2:1"), None), "another name");
}

/// The host in the settings comes before the hosts in a document. Members of no epoch are
/// forgotten.
#[test]
fn documents_complete_the_settings() {
    let mut places = places("a=10.0.0.1:1,b=10.0.0.2:1", "0.0.0.0:1");
    let mut at_now = |list: &str| {
        places.know(&[membership(list)]);
        ["a", "b", "c"].map(|member| places.place(&name(member)))
    };
    let [a, b, c] = ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"].map(|text| Some(at(text)));
    assert_eq!(at_now("a=192.0.2.7:1,b=192.0.2.8:1,c=10.0.0.3:1"), [a, b, c]);
    assert_eq!(at_now("a=10.0.0.1:1,c=192.0.2.9:1"), [a, b, c], "c has not moved");
    assert_eq!(at_now("a=10.0.0.1:1"), [a, b, None]);
    assert_eq!(at_now("c=192.0.2.9:1"), [a, b, Some(at("192.0.2.9:1"))]);
}

/// The membership of an epoch 1 whose last member has these hosts.
fn at_hosts(list: &str, hosts: &[&str]) -> Arc<Membership> {
    let config = Config::new("x".parse().unwrap(), members(list).unwrap()).check().unwrap();
    let mut document = config.membership().document().clone();
    document.number = 1;
    document.before = config.membership().id();
    document.founding = document.before.digest;
    document.origin = Origin::Changed;
    for (number, seat) in (1..).zip(&mut document.seats) {
        seat.instance = Some(Instance(number));
    }
    let last = document.seats.last_mut().unwrap();
    last.hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
    Membership::read(Arc::new(document), &config).unwrap()
}

/// Member c has another host in the later epoch.
#[test]
fn hosts_of_latest_epoch_count() {
    let mut places = places("a=10.0.0.1:1", "0.0.0.0:1");
    let first = membership("a=10.0.0.1:1,c=10.0.0.3:1");
    let then = at_hosts("a=10.0.0.1:1,c=10.0.0.3:1", &["10.0.0.7:1"]);
    places.know(&[Arc::clone(&first)]);
    assert_eq!(places.place(&name("c")), Some(at("10.0.0.3:1")));
    places.know(&[then, first]);
    assert_eq!(places.place(&name("c")), Some(at("10.0.0.7:1")));
}

/// The settings still have a host that c has left. The hosts in the document of epoch 0 are not
/// tried, because they come from the settings of another process.
#[test]
fn silent_member_is_tried_elsewhere() {
    let list = "a=10.0.0.1:1,c=10.0.0.3:1";
    let mut places = places(&format!("{list},d=10.0.0.7:1"), "0.0.0.0:1");
    let first = membership("a=10.0.0.1:1,c=10.0.0.9:1");
    let then = at_hosts(list, &["10.0.0.3:1", "10.0.0.7:1"]);
    let millis = |millis: u64| Time::from_nanos(millis * 1_000_000);
    let at_now = |places: &mut Places, time| places.address(millis(time), &name("c"));
    let [old, new] = ["10.0.0.3:1", "10.0.0.7:1"].map(|text| Some(at(text)));
    places.know(&[Arc::clone(&first)]);
    assert_eq!([0, 300].map(|time| at_now(&mut places, time)), [old, old]);
    places.know(&[Arc::clone(&then), Arc::clone(&first)]);
    assert_eq!([400, 1_399, 1_400].map(|time| at_now(&mut places, time)), [old, old, new]);
    assert!(places.heard(millis(1_410), &who("c", 1), at("10.0.0.7:1")).is_none());
    places.know(&[then, first]);
    assert_eq!(at_now(&mut places, 3_000), new);
    assert!(places.troubles().is_empty(), "d is where the settings have it");
}

#[tokio::test]
async fn several_hosts_are_tried() {
    let mut places = places("a=10.0.0.1:1", "[::]:1");
    let hosts = ["10.0.0.3:1", "c.invalid:1", "[fd00::3]:1"];
    places.know(&[at_hosts("a=10.0.0.1:1,c=10.0.0.3:1", &hosts)]);
    let all = |places: &Places| places.several(&name("c"));
    assert_eq!(all(&places), [at("10.0.0.3:1"), at("[fd00::3]:1")]);
    let millis = |millis: u64| Time::from_nanos(millis * 1_000_000);
    assert_eq!(places.address(millis(0), &name("c")), Some(at("10.0.0.3:1")));
    assert_eq!(places.address(millis(300), &name("c")), Some(at("[fd00::3]:1")));

    let found = Ok(vec![at("10.0.0.4:1")]);
    let looked = |found| {
        let host = "c.invalid:1".parse().unwrap();
        LookUpResult { member: name("c"), host, found }
    };
    let (told, moved) = places.on_looked(looked(found));
    assert!(told.is_empty() && moved, "{told:?}");
    assert_eq!(all(&places), [at("10.0.0.3:1"), at("10.0.0.4:1"), at("[fd00::3]:1")]);
    let found = Err("no such name".to_owned());
    let (told, _) = places.on_looked(looked(found));
    let told = told[0].to_string();
    assert!(told.contains("c.invalid:1 does not resolve (no such name)"), "{told}");
    assert_eq!(places.place(&name("c")), Some(at("[fd00::3]:1")), "in use");

    // The member has moved from the host before its name was found.
    places.know(&[at_hosts("a=10.0.0.1:1,c=10.0.0.3:1", &["10.0.0.3:1", "10.0.0.5:1"])]);
    places.on_looked(looked(Ok(vec![at("10.0.0.4:1")])));
    assert_eq!(all(&places), [at("10.0.0.3:1"), at("10.0.0.5:1")]);
}

#[test]
fn with_keys_no_address_proves_anything() {
    let places = places("a=10.0.0.1:1,b=10.0.0.2:1", "0.0.0.0:1");
    let cluster = Some(&Authority::Cluster);
    assert!(places.proves(&who("b", 1), at("192.0.2.7:9"), cluster));
    let application = "web".parse().unwrap();
    let elections = "*".parse().unwrap();
    let grant = super::super::keys::Grant {
        application,
        elections,
        rights: super::super::keys::Rights::USUAL,
    };
    let web = Authority::Application(Arc::new(grant));
    assert!(!places.proves(&who("b", 1), at("10.0.0.2:1"), Some(&web)));
}

/// The notice comes once. The trouble stays, because an operator asks for the status later.
#[tokio::test]
async fn unresolved_name_is_trouble() {
    let mut places = places("a=a.invalid:1,b=10.0.0.2:1", "[::]:1");
    let troubles =
        |places: &Places| -> Vec<_> { places.troubles().iter().map(ToString::to_string).collect() };
    let a: HostPort = "a.invalid:1".parse().unwrap();
    for known in [false, true] {
        assert!(troubles(&places).is_empty());
        let refused = Err("refused".to_owned());
        places.on_looked(LookUpResult { member: name("a"), host: a.clone(), found: refused });
        let told = troubles(&places);
        let words = if known { "tries the last known address" } else { "see to its DNS record" };
        assert!(told.len() == 1 && told[0].contains(words), "{told:?}");
        let (told, changed) = found(&mut places, "a", &["10.0.0.1:1"]);
        assert_eq!(
            (&told[0][..], changed),
            (
                "a.invalid:1 resolves to 10.0.0.1:1, where a is \
                                              now",
                !known
            )
        );
    }
    found(&mut places, "a", &["10.0.0.2:1"]);
    let told = troubles(&places);
    assert!(told.len() == 1 && told[0].starts_with("a and b are both at"), "{told:?}");
}

#[tokio::test]
async fn keyed_member_may_be_anywhere() {
    let places = places("a=10.0.0.1:1,b=10.0.0.2:1,c=c.invalid:1", "0.0.0.0:1");
    let unknown = places.contradicts(&"c".parse().unwrap(), at("192.0.2.7:9"), false);
    assert_eq!(unknown, None, "it was not looked up yet");
    let told = |address: &str, keyed| {
        let told = places.contradicts(&"b".parse().unwrap(), at(address), keyed);
        told.map(|notice| notice.to_string())
    };
    let moved = told("192.0.2.7:9", false).unwrap();
    assert!(moved.starts_with("b sends from 192.0.2.7:9, but `members` here has b at 10.0.0.2:1"));
    assert_eq!(told("192.0.2.7:9", true), None);
    for keyed in [true, false] {
        let exchanged = told("10.0.0.1:1", keyed).unwrap();
        assert!(
            exchanged
                .starts_with("b answers at 10.0.0.1:1, but `members` here has a at that address")
        );
        assert_eq!(told("10.0.0.2:1", keyed), None);
    }
}

#[tokio::test]
async fn failed_name_is_reported() {
    let mut places = places("a=a.invalid:1,b=10.0.0.2:1", "[::]:1");
    assert_eq!(places.address(seconds(0), &name("a")), None);
    let fails = || {
        let found = Err("Name or service not known".to_owned());
        LookUpResult { member: name("a"), host: "a.invalid:1".parse().unwrap(), found }
    };
    let (notices, changed) = places.on_looked(fails());
    assert_eq!(
        (notices[0].to_string(), changed),
        (
            "a is not found: a.invalid:1 does not resolve (Name or service not known); this \
             node looks the name up again. Correct the name, or see to its DNS record"
                .to_owned(),
            false
        )
    );
    let silent = || Waiting::NoQuorum { missing: vec!["a".into(), "b".into()] };
    assert_eq!(
        places.explain(silent()).to_string(),
        "refused by a: a.invalid:1 does not resolve (Name or service not known); no answer from b"
    );
    let told = found(&mut places, "a", &["10.0.0.1:1"]);
    assert_eq!(told, (vec!["a.invalid:1 resolves to 10.0.0.1:1, where a is now".to_owned()], true));
    assert_eq!(places.explain(silent()), silent());
    assert_eq!(places.address(seconds(1), &name("a")), Some(at("10.0.0.1:1")));
    assert_eq!(found(&mut places, "a", &["10.0.0.1:1"]), (Vec::new(), false), "no news");
    let (notices, changed) = places.on_looked(fails());
    assert!(
        notices[0].to_string().contains("this node tries the last known address"),
        "{}",
        notices[0]
    );
    assert!(!changed && places.explain(silent()) == silent());
    let told = found(&mut places, "a", &["10.0.0.9:1"]);
    assert_eq!(told, (vec!["a.invalid:1 resolves to 10.0.0.9:1, where a is now".to_owned()], true));
    assert_eq!(places.address(seconds(2), &name("a")), Some(at("10.0.0.9:1")));
}

/// The node tries the addresses of a name one after the other: a grantor believes an incarnation
/// from one address only.
#[tokio::test]
async fn answering_address_is_kept() {
    let mut places = places("a=a.invalid:1", "[::]:1");
    found(&mut places, "a", &["[fd::1]:1", "10.0.0.1:1"]);
    let millis = |millis: u64| Time::from_nanos(millis * 1_000_000);
    assert_eq!(places.address(millis(0), &name("a")), Some(at("[fd::1]:1")));
    assert_eq!(places.address(millis(299), &name("a")), Some(at("[fd::1]:1")));
    assert_eq!(places.address(millis(300), &name("a")), Some(at("10.0.0.1:1")));
    assert_eq!(places.several(&name("a")), [at("[fd::1]:1"), at("10.0.0.1:1")]);
    places.heard(millis(310), &who("a", 1), at("10.0.0.1:1"));
    for n in 1..20 {
        assert_eq!(places.address(millis(n * 1_000), &name("a")), Some(at("10.0.0.1:1")));
        places.heard(millis(n * 1_000 + 1), &who("a", 1), at("10.0.0.1:1"));
    }
    // A name server may give the addresses in any order.
    assert!(!found(&mut places, "a", &["10.0.0.1:1", "[fd::1]:1"]).1);
    assert_eq!(places.address(millis(30_000), &name("a")), Some(at("10.0.0.1:1")));
    places.refused(millis(30_001), &name("a"));
    assert_eq!(places.address(millis(30_002), &name("a")), Some(at("[fd::1]:1")), "no way there");
}

#[tokio::test]
async fn socket_takes_reachable_addresses() {
    let mut four = places("a=a.invalid:1", "0.0.0.0:1");
    found(&mut four, "a", &["[fd::1]:1", "10.0.0.1:1"]);
    assert_eq!(four.address(seconds(0), &name("a")), Some(at("10.0.0.1:1")));
    let (told, _) = found(&mut four, "a", &["[fd::1]:1"]);
    assert!(
        told[0]
            .contains("it gives fd::1, and a socket at 0.0.0.0:1 does not speak that IP version"),
        "{told:?}"
    );
}

#[tokio::test]
async fn shared_address_is_reported() {
    let mut places = places("b=b.invalid:1,a=10.0.0.1:1", "0.0.0.0:1");
    let (told, changed) = found(&mut places, "b", &["10.0.0.1:1"]);
    assert!(changed);
    assert_eq!(
        told,
        ["a and b are both at 10.0.0.1:1, by `members` and DNS. Each member needs an address of \
          its own, so one of the two is not found. Correct `members`, or the DNS records"]
    );
}

#[test]
fn doubled_member_is_reported() {
    let mut places = places("a=10.0.0.1:1", "0.0.0.0:1");
    let mut heard = |second, inc, address: &str| {
        places.heard(seconds(second), &who("a", inc), at(address)).map(|told| told.to_string())
    };
    assert_eq!(heard(0, 1, "10.0.0.1:1"), None);
    assert_eq!(heard(1, 2, "10.0.0.2:1"), None);
    assert_eq!(
        heard(3, 1, "10.0.0.1:1").unwrap(),
        "two processes are the member a, at 10.0.0.1:1 and 10.0.0.2:1: stop one of them now. If \
         one runs on a copy of the other's state directory, or was started with --new, their \
         grants count together: two leaders are possible. Otherwise stop the process whose log \
         says that it waits to be let in, or was replaced. Give a member's name to one process \
         only, and never copy a state directory"
    );
}
