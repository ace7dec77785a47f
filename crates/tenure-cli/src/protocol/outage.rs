//! The warnings while no endpoint answers. Each reason is reported once, and the length of the
//! outage from time to time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tenure::Time;

/// The interval of repeated warnings, with the length of the outage.
const AGAIN: Duration = Duration::from_secs(600);

/// The number of remembered reasons of one endpoint; later reasons are reported again.
const REASONS_MAX: usize = 32;

/// The reported reasons of each endpoint since its last use. The reasons may alternate: a server
/// first reports that it refuses a certificate, and then only closes the connection.
#[derive(Default)]
pub(super) struct Endpoints {
    reasons: BTreeMap<String, BTreeSet<String>>,
}

impl Endpoints {
    pub(super) fn is_news(&mut self, endpoint: &str, why: &str) -> bool {
        let reasons = self.reasons.entry(endpoint.to_owned()).or_default();
        if reasons.len() >= REASONS_MAX {
            reasons.clear();
        }
        reasons.insert(why.to_owned())
    }

    /// Forgets the reasons of an endpoint in use.
    pub(super) fn works(&mut self, endpoint: &str) {
        self.reasons.remove(endpoint);
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Outage {
    since: Time,
    last_warning: Time,
    why: String,
}

impl Outage {
    pub(super) fn new(now: Time, why: &str) -> Self {
        Self { since: now, last_warning: now, why: why.to_owned() }
    }

    /// Records another failed attempt, and returns a warning if the last warning was long ago.
    pub(super) fn goes_on(&mut self, now: Time, why: &str) -> Option<String> {
        why.clone_into(&mut self.why);
        if now.since(self.last_warning) < AGAIN {
            return None;
        }
        self.last_warning = now;
        Some(self.told(now))
    }

    pub(super) fn told(&self, now: Time) -> String {
        format!("{}; for {:.0?} no server could be used", self.why, now.since(self.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_is_reported_once() {
        let mut endpoints = Endpoints::default();
        for (why, news) in [("expired", true), ("closed", true), ("expired", false)] {
            assert_eq!(endpoints.is_news("a", why), news, "{why}");
        }
        assert!(endpoints.is_news("b", "closed"));
        endpoints.works("a");
        assert!(endpoints.is_news("a", "expired") && !endpoints.is_news("b", "closed"));
        // Texts from other programs have no bound.
        (0..100).for_each(|number| assert!(endpoints.is_news("b", &number.to_string())));
        assert!(endpoints.reasons["b"].len() <= REASONS_MAX);
    }

    #[test]
    fn lasting_outage_is_reported_again() {
        let at = |seconds: u64| Time::from_nanos(seconds * 1_000_000_000);
        let mut outage = Outage::new(at(100), "closed");
        assert_eq!(outage.goes_on(at(699), "expired"), None);
        let text = "expired; for 600s no server could be used";
        assert_eq!(outage.goes_on(at(700), "expired").as_deref(), Some(text));
        assert_eq!(outage.goes_on(at(800), "expired"), None);
    }
}
