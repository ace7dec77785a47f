//! The metrics: one table, from which the exporter and `docs/reference/metrics.md` are made.

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
    /// The protocols that have this metric; empty for all.
    pub only: &'static str,
}

macro_rules! metrics {
    ($(
        $id:ident = $name:literal $kind:ident [$($label:literal),*] $only:literal $help:literal;
    )*) => {
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
        "Renewals that were overdue, and leases that ran out, as client-go counts them.";
    LEADING = "tenure_leading" Gauge ["election"] ""
        "Whether this process leads the election, at most 250 ms before the scrape.";
    TERMS = "tenure_terms_total" Counter ["election"] ""
        "Leaderships that this process has won.";
    FENCE = "tenure_fence" Gauge ["election"] "those with fences"
        "The fence of the leader that this process knows; 0 without a fence.";
    REMAINING = "tenure_lease_remaining_seconds" Gauge ["election"] ""
        "The rest of the lease of this process; 0 while it does not lead.";
    RENEWALS = "tenure_renewals_total" Counter ["election"] ""
        "Renewals of leases of this process.";
    RENEWAL = "tenure_renewal_duration_seconds" Histogram ["election"] ""
        "The time from one renewal of this process's lease to the next, at first from the \
         election. A slow network or disk makes the time longer.";
    WAITING = "tenure_waiting" Gauge ["election", "reason"] ""
        "Whether the candidate of this process waits for this reason.";
    KILLED = "tenure_children_killed_total" Counter ["election"] ""
        "Runs of CMD that ended with SIGKILL before the lease ended.";
    STATE = "tenure_election_state" Gauge ["election", "state"] ""
        "The state of the election, as this process knows it: 1 for the present one.";
    VIEW_AGE = "tenure_view_age_seconds" Gauge ["election"] ""
        "The time since the participants last confirmed what this process knows.";
    ELECTIONS = "tenure_elections" Gauge ["state"] ""
        "Elections with series of their own, by their state.";
    UNLISTED = "tenure_elections_unlisted" Gauge [] ""
        "Elections beyond the first 1,000 names, which have no series.";
    PEER_UP = "tenure_peer_up" Gauge ["peer"] "those with a list of members"
        "Whether this member serves.";
    QUORUM = "tenure_quorum" Gauge [] "those with a list of members"
        "Whether the members that serve are a quorum.";
    DISK_ERRORS = "tenure_disk_errors_total" Counter [] "those with grantors"
        "Writes of this node's state directory that failed.";
    DROPPED = "tenure_datagrams_dropped_total" Counter ["cause"] "those with grantors"
        "Datagrams or messages that were dropped unread; a cause has a series once it occurs.";
    CONNECTIONS = "tenure_http_connections" Gauge [] ""
        "Open connections of this server.";
    SUBSCRIBERS = "tenure_http_subscribers" Gauge [] ""
        "Subscribers of events, of at most 64.";
    REFUSED = "tenure_http_refused_total" Counter ["cause"] ""
        "Connections and requests that this server refused, by cause.";
    BUILD = "tenure_build_info" Gauge ["version", "protocol"] ""
        "The version and the protocol of this process; always 1.";
    READY = "tenure_ready" Gauge [] ""
        "Whether this process is ready: a member serves, and a candidate is connected.";
}
