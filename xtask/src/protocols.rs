//! A table of the protocols, for the chores of this repository.

/// The facts about a protocol that the chores need.
#[derive(Debug)]
pub(crate) struct Protocol {
    /// Value of `--protocol`.
    pub(crate) name: &'static str,
    /// The package of the protocol's driver.
    pub(crate) driver: &'static str,
    /// The [service](tenure_services::Service) on whose facts the protocol relies.
    pub(crate) service: Option<&'static str>,
    /// The protocol's golden texts: a test, and the arguments for `cargo test`.
    pub(crate) golden: (&'static str, &'static str),
}

/// All protocols. The first is the default.
pub(crate) static ALL: [Protocol; 5] = [
    Protocol {
        name: "nerio",
        driver: "tenure-nerio",
        service: None,
        golden: ("nerio", "--package tenure-core"),
    },
    Protocol {
        name: "etcd",
        driver: "tenure-etcd",
        service: Some("etcd"),
        golden: ("etcd", "--package tenure-cli --features full"),
    },
    Protocol {
        name: "allcall",
        driver: "tenure-nats",
        service: Some("nats"),
        golden: ("allcall", "--package tenure-core"),
    },
    Protocol {
        name: "voter",
        driver: "tenure-voter",
        service: None,
        golden: ("voter", "--package tenure-core"),
    },
    Protocol {
        name: "nele",
        driver: "tenure-kafka",
        service: Some("kafka"),
        golden: ("nele", "--package tenure-core"),
    },
];

/// The one file that may hold `unsafe` code. `docs/decisions/` gives the reason.
pub(crate) const WITH_UNSAFE: &str = "crates/tenure-kafka/src/native.rs";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::ALL;
    use crate::command::Cmd;

    /// A crate that only the command links.
    const GUARD: &str = "tenure-supervise";
    /// Crates that seal the datagrams of the first protocol.
    const SEALS: [&str; 3] = ["chacha20poly1305", "hkdf", "x25519-dalek"];

    /// The crates that a program with this package links.
    fn linked(package: &str) -> BTreeSet<String> {
        let tree = Cmd::cargo("tree --edges normal --prefix none --format {p} --package");
        let printed = tree.arg(package).ask().unwrap();
        printed.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
    }

    #[test]
    fn drivers_link_nothing_of_others() {
        for (nth, own) in ALL.iter().enumerate() {
            let linked = linked(own.driver);
            assert!(linked.contains("tenure"), "{linked:?}");
            let others = ALL.iter().map(|one| one.driver).filter(|driver| *driver != own.driver);
            let seals = SEALS.into_iter().filter(|_| nth > 0);
            let foreign: Vec<&str> =
                others.chain([GUARD]).chain(seals).filter(|name| linked.contains(*name)).collect();
            assert_eq!(foreign, [""; 0], "{}", own.driver);
        }
    }
}
