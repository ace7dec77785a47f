//! Warns of numbers of partitions, roles and processes that do not fit together.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_kafka::{Class, Misfit, Node};

use super::client::OwnRoles;
use crate::failure::warn;

/// The interval of comparisons. A misfit must last from one comparison to the next: processes start
/// one after the other, and a restarted process is missing for a moment.
const LOOK: Duration = Duration::from_secs(30);

const ADVICE: &str = "choose about as many partitions as processes, and no more than roles; change \
                      --partitions with all processes stopped";

/// Compares the numbers again and again, until the node is closed.
pub(super) async fn watch<C: Class>(node: Node<C>, own: OwnRoles) {
    let mut lasting = Lasting::default();
    // Partitions and roles are settings, so a misfit of these is reported at once.
    let given = node.config().misfits(own.count(), None);
    lasting.before.extend(given);
    loop {
        let processes = node.processes().await;
        for misfit in lasting.look(node.config().misfits(own.count(), processes)) {
            warn(&format!("{misfit}: {ADVICE}"));
        }
        tokio::time::sleep(LOOK).await;
        if node.counters().await.is_none() {
            return;
        }
    }
}

/// The misfits of the last look, and those that were reported.
#[derive(Default)]
struct Lasting {
    before: BTreeSet<Misfit>,
    reported: BTreeSet<Misfit>,
}

impl Lasting {
    /// Returns the misfits that have lasted since the last look, and that were not reported with
    /// these numbers.
    fn look(&mut self, misfits: Vec<Misfit>) -> Vec<Misfit> {
        let now: BTreeSet<_> = misfits.into_iter().collect();
        let lasts: Vec<_> = now.intersection(&self.before).copied().collect();
        self.reported.retain(|misfit| now.contains(misfit));
        let news = lasts.into_iter().filter(|misfit| self.reported.insert(*misfit)).collect();
        self.before = now;
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lasting_misfit_is_reported_once() {
        let misfit = |processes| Misfit::TooMany { partitions: 64, processes };
        let mut lasting = Lasting::default();
        let mut look =
            |processes: Option<usize>| lasting.look(processes.map(misfit).into_iter().collect());
        assert_eq!(look(Some(1)), []);
        assert_eq!(look(Some(2)), []);
        assert_eq!(look(Some(2)), [misfit(2)]);
        assert_eq!(look(Some(2)), []);
        assert_eq!(look(None), []);
        assert_eq!(look(Some(2)), []);
        assert_eq!(look(Some(2)), [misfit(2)]);
    }
}
