//! Voters that show certificates of one authority.

use tenure_testkit::processes::wait::eventually;
use tenure_testkit::processes::{Machine, Running};

use crate::authority::Authority;
use crate::network::{IDS, Network, end};

/// Those that show one elect. One that shows none, or one of another authority, is let in nowhere,
/// and is told why; so is a person who asks.
#[test]
fn who_shows_no_certificate_of_the_authority_is_refused() {
    let machine = Machine::new(env!("CARGO_BIN_EXE_tenure"));
    let folder = |name: &str| {
        let folder = machine.path(name);
        std::fs::create_dir(&folder).unwrap();
        folder
    };
    let (authority, strange) = (Authority::new(&folder("ours")), Authority::new(&folder("theirs")));
    let file = authority.file.display().to_string();
    let network = Network::of(machine.with("TENURE_CACERT", &file)).secure();
    // The last one is no member, so that the others do not wait for it.
    let list = network.list(3);
    let start = |nth: usize, by: Option<&Authority>| {
        let shown = by.map(|by| by.sign(IDS[nth], &network.ip(nth)));
        let shown = shown.map(|(certificate, key)| {
            [
                "--cert".to_owned(),
                certificate.display().to_string(),
                "--key".to_owned(),
                key.display().to_string(),
            ]
        });
        let url = network.url(nth);
        let more = ["--voter-list", &list, "--voter-url", &url];
        let shown = shown.iter().flatten().map(String::as_str);
        network.start(nth, &more.into_iter().chain(shown).collect::<Vec<_>>())
    };
    // What it is told of them while they are not up is not the last word.
    let without = start(3, None);
    without.line(&format!("{} cannot be used: client error (Connect)", network.url(0)), 1);
    let ours: Vec<_> = (0..3).map(|nth| start(nth, Some(&authority))).collect();
    let told = |by: &Running, why| {
        for nth in 0..3 {
            let url = network.url(nth);
            by.line(&format!("{url} cannot be used: TLS did not come about: {why}"), 1);
        }
    };
    told(&without, "it wants to see a certificate, and none was shown (CertificateRequired)");
    drop(without);
    told(&start(3, Some(&strange)), "it does not believe the certificate that was shown (");
    let leader = |more: &[&str]| {
        network.machine.ask(&[&["leader", "--json", "--voter-list", &list], more].concat())
    };
    let asked = leader(&[]);
    assert_eq!(asked.code, Some(2), "{}{}", asked.out, asked.err);
    assert!(asked.err.contains("none was shown (CertificateRequired)"), "{}", asked.err);
    assert!(asked.err.contains("fix: give --cacert with the authority"), "{}", asked.err);
    let change = network.machine.ask(&["members", "remove", "d", "--voter-list", &list]);
    assert_eq!(change.code, Some(2), "{}{}", change.out, change.err);
    assert!(change.err.contains("fix: give --cacert with the authority"), "{}", change.err);
    let (certificate, key) = authority.sign("operator", "127.0.0.1");
    let [certificate, key] = [certificate, key].map(|path| path.display().to_string());
    eventually("who shows one is told who leads", || {
        let asked = leader(&["--cert", &certificate, "--key", &key]);
        (asked.code == Some(0)).then_some(())
    });
    end(ours);
}
