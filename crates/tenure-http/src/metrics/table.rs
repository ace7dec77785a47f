//! The metrics: one table, from which the exporter and `docs/metrics.md` are made.

/// The kind of a metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Gauge,
    Counter,
    Histogram,
}

/// A metric, as the table declares it.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// The name as Prometheus has it, with its unit; a counter ends in `_total`.
    pub name: &'static str,
    pub kind: Kind,
    pub labels: &'static [&'static str],
    pub help: &'static str,
    /// The protocols that have it; empty for all.
    pub only: &'static str,
}

macro_rules! metrics {
    ($($id:ident = $name:literal $kind:ident [$($label:literal),*] $only:literal $help:literal;)*) => {
        $(
            pub(super) static $id: Metric = Metric {
                name: $name,
                kind: Kind::$kind,
                labels: &[$($label),*],
                help: $help,
                only: $only,
            };
        )*

        /// Every metric.
        pub static TABLE: &[&Metric] = &[$(&$id),*];
    };
}

metrics! {
    MASTER = "leader_election_master_status" Gauge ["name"] ""
        "Whether this process leads the election, as client-go reports it.";
    SLOWPATH = "leader_election_slowpath_total" Counter ["name"] ""
        "Renewals that did not succeed in the ordinary way, as client-go counts them.";
    LEADING = "tenure_leading" Gauge ["election"] ""
        "Whether this process leads the election at the moment of the scrape.";
    TERMS = "tenure_terms_total" Counter ["election"] ""
        "Leaderships that this process has won.";
    RENEWALS = "tenure_renewals_total" Counter ["election"] ""
        "Renewals of leases of this process.";
    ELECTIONS = "tenure_elections" Gauge ["state"] ""
        "Elections that this process watches, by their state.";
    BUILD = "tenure_build_info" Gauge ["version", "protocol"] ""
        "The version and the protocol of this process; always 1.";
    READY = "tenure_ready" Gauge [] ""
        "Whether this process can do its part.";
}
