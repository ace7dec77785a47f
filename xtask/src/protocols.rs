//! The protocols, as far as the chores of this repository differ by protocol.

/// One protocol, by what the chores need to know of it.
#[derive(Debug)]
pub(crate) struct Protocol {
    /// What `--protocol` takes.
    pub(crate) name: &'static str,
    /// The package of its driver.
    pub(crate) driver: &'static str,
    /// The [service](tenure_services::Service) whose facts it relies on.
    pub(crate) service: Option<&'static str>,
    /// Its own golden texts: a test, and what `cargo test` builds it with.
    pub(crate) golden: (&'static str, &'static str),
}

/// All of them. The first is the default.
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

/// The one file that may hold `unsafe` code. `docs/decisions/` says why.
pub(crate) const WITH_UNSAFE: &str = "crates/tenure-kafka/src/native.rs";
