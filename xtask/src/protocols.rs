//! The protocols, as far as the chores of this repository differ by protocol.

/// One protocol, by what the chores need to know of it.
#[derive(Debug)]
pub(crate) struct Protocol {
    /// What `--protocol` takes.
    pub(crate) name: &'static str,
    /// What else its files and types are called by: its service, the service's tools.
    pub(crate) also: &'static [&'static str],
    /// The package of its driver.
    pub(crate) driver: &'static str,
    /// The parts of its benchmarks, in the order of the run.
    pub(crate) parts: &'static [Part],
    /// The [service](tenure_services::Service) whose facts it relies on.
    pub(crate) service: Option<&'static str>,
    /// The test of the command whose golden texts only it has, if there is one.
    pub(crate) golden: Option<&'static str>,
    /// The test of its core that records stories as golden texts beside it, if there is one.
    pub(crate) recorded: Option<&'static str>,
    /// Whether it has made-up worlds.
    pub(crate) worlds: bool,
    /// Files that may hold `unsafe` code. Each has a line in `docs/decisions/` that says why.
    pub(crate) with_unsafe: &'static [&'static str],
}

/// One thing that is measured.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// The program that measures it. Memory has one of its own, as counting it slows down the rest.
    pub(crate) bench: &'static str,
}

const fn part(name: &'static str, about: &'static str) -> Part {
    Part { name, about, bench: "costs" }
}

/// All of them. The first is the default.
pub(crate) static ALL: [Protocol; 5] = [
    Protocol {
        name: "nerio",
        also: &[],
        driver: "tenure",
        parts: &[
            part("campaign", "winning an election that nobody else wants, beside a bare exchange"),
            part("handover", "taking over from a leader who resigns, beside a bare exchange"),
            part("keys", "winning and taking over with keys, beside the same without"),
            part("question", "asking whether one leads, and an edict, beside a read of the clock"),
            part("loss", "taking over after a machine is lost, beside the remaining lease"),
            part("load", "processor time and datagrams with 1, 100 and 10,000 elections"),
            Part { name: "memory", about: "memory of each election", bench: "memory" },
        ],
        service: None,
        golden: None,
        recorded: None,
        worlds: true,
        with_unsafe: &[],
    },
    Protocol {
        name: "etcd",
        also: &["etcdctl", "etcdutl"],
        driver: "tenure-etcd",
        parts: &[
            part("campaign", "winning an election that nobody else wants"),
            part("handover", "taking over from a leader who resigns, by one who came just before"),
            part("waiters", "whom a departure wakes up, of 1,000 who wait"),
            part(
                "looks",
                "processor time of etcd for those who wait, in queues of 1,000 and 5,000",
            ),
            part("crowd", "what 1,000 and 5,000 waiting candidates cost etcd: four minutes"),
            part("load", "processor time and keep-alives with 10,000 elections"),
        ],
        service: Some("etcd"),
        golden: Some("etcd"),
        recorded: None,
        worlds: true,
        with_unsafe: &[],
    },
    Protocol {
        name: "allcall",
        also: &["nats"],
        driver: "tenure-nats",
        parts: &[
            part("load", "messages, bytes and processor time of 3, 50 and 500 participants"),
            part("takeover", "the first leader, and the next one after a clean stop and a loss"),
            part("elections", "what a hundred elections cost beside one"),
            part("bucket", "the same of an election by a key of NATS's own store"),
        ],
        service: Some("nats"),
        golden: None,
        recorded: Some("allcall"),
        worlds: true,
        with_unsafe: &[],
    },
    Protocol {
        name: "voter",
        also: &[],
        driver: "tenure-voter",
        parts: &[
            part("election", "an election of 3, 5 and 25 voters, beside a bare exchange over HTTP"),
            part("idle", "requests and processor time of 3, 5 and 25 voters with a leader"),
        ],
        service: None,
        golden: None,
        recorded: Some("voter"),
        worlds: true,
        with_unsafe: &[],
    },
    Protocol {
        name: "nele",
        also: &["kafka"],
        driver: "tenure-kafka",
        parts: &[
            part("takeover", "the next leader after a loss and a clean stop, beside a bare group"),
            part("load", "records, bytes and processor time at 16 and 256 partitions"),
        ],
        service: Some("kafka"),
        golden: None,
        recorded: Some("nele"),
        worlds: true,
        with_unsafe: &["crates/tenure-kafka/src/native.rs"],
    },
];

/// The protocol called `name`.
pub(crate) fn named(name: &str) -> Option<&'static Protocol> {
    ALL.iter().find(|protocol| protocol.name == name)
}

impl Protocol {
    /// The words by which a file or a type is its own, or is about it.
    pub(crate) fn words(&self) -> impl Iterator<Item = &'static str> {
        [self.name].into_iter().chain(self.also.iter().copied())
    }
}
