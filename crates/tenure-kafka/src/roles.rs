//! Many roles at once: each leadership as it emerges.

use std::fmt;

use tenure::{CampaignError, Leadership};
use tokio::task::JoinSet;

use crate::node::{Class, Node};

/// A leadership that has emerged, or the reason why there is none.
pub type Emerged<C> = Result<Leadership<C>, CampaignError>;

/// Campaigns for many roles. A drop withdraws the campaigns that have not won; leaderships that
/// were returned stay.
///
/// ```no_run
/// # use tenure::AtMostOne;
/// # async fn f(kafka: tenure_kafka::Node<AtMostOne>) -> Result<(), Box<dyn std::error::Error>> {
/// let mut roles = kafka.roles(0..16, "10.0.0.7:8080");
/// while let Some((role, emerged)) = roles.next().await {
///     let leadership = emerged?;
///     tokio::spawn(leadership.run(async move { println!("working as {role}") }));
/// }
/// # Ok(())
/// # }
/// ```
pub struct Roles<C: Class> {
    node: Node<C>,
    value: String,
    campaigns: JoinSet<(u32, Emerged<C>)>,
}

impl<C: Class> fmt::Debug for Roles<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Roles").field("waiting", &self.campaigns.len()).finish_non_exhaustive()
    }
}

impl<C: Class> Roles<C> {
    pub(crate) fn new(node: Node<C>, value: &str) -> Self {
        Self { node, value: value.to_owned(), campaigns: JoinSet::new() }
    }

    /// Campaigns for one more role, or again after its leadership has ended.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn stand(&mut self, role: u32) {
        let election = self.node.role(role);
        let value = self.value.clone();
        self.campaigns.spawn(async move { (role, election.campaign(&value).await) });
    }

    /// Waits for the next leadership, of any role; `None` without campaigns. Cancel safe.
    pub async fn next(&mut self) -> Option<(u32, Emerged<C>)> {
        loop {
            // A runtime that ends cancels its tasks; no task panics.
            if let Ok(emerged) = self.campaigns.join_next().await? {
                return Some(emerged);
            }
        }
    }
}
