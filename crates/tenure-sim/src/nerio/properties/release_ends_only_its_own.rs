use std::net::SocketAddr;

use tenure_core::Time;
use tenure_core::nerio::Inc;

use super::{Check, Fact, Own, Plan, Property, QuorumLeases};

/// Section 6 with erratum 4: a release ends the grant with its Start, or with an earlier Start of
/// the same life, and no other grant. A report ends the grants of a process that has ended.
#[derive(Debug, Default)]
pub(super) struct ReleaseEndsOnlyItsOwn {
    /// The release that each grantor handles: its sender, address and last Start. A report of an
    /// end has no address, and ends every Start.
    handled: Vec<Option<(Inc, Option<SocketAddr>, Time)>>,
}

impl Property<QuorumLeases> for ReleaseEndsOnlyItsOwn {
    const NAME: &'static str = "A release never shortens somebody else's lease";
    const SOURCE: &'static str = "section 6; erratum 4; succession 1";
    const NEEDS_BOUND: bool = false;

    fn begin(&mut self, plan: &Plan) {
        self.handled = vec![None; plan.nodes.len()];
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Own(Own::GivesUp { grantor, from, release }) => {
                self.handled[grantor] = Some((from.who.inc, Some(from.address), release.start));
                Ok(())
            }
            Fact::Own(Own::Reported { grantor, who }) => {
                self.handled[grantor] = Some((who.inc, None, Time::MAX));
                Ok(())
            }
            Fact::Own(Own::Freed { grantor, election, by }) => {
                let Some((inc, address, start)) = self.handled[grantor] else { return Ok(()) };
                let Some(grant) = check.own.grants[election].get(&grantor) else {
                    return Ok(());
                };
                if address.is_none() && check.history.lives.contains(&Some(by.inc.0)) {
                    let grantor = &check.plan.nodes[grantor].name;
                    return Err(format!("{grantor} believes that {by} has ended, which runs"));
                }
                let own = grant.to.inc == inc
                    && grant.to == *by
                    && address.is_none_or(|address| grant.address == address)
                    && grant.start <= start;
                // A release cannot shorten a lapsed grant: the released grant may never have been
                // written.
                let over = grant.finish <= check.now;
                if own || over || check.remembers_more(grantor) {
                    return Ok(());
                }
                Err(format!(
                    "{} ends its grant of {} to {} of Start {} on the word of {by} about {start}",
                    check.plan.nodes[grantor].name,
                    check.election(election),
                    grant.to,
                    grant.start,
                ))
            }
            _ => Ok(()),
        }
    }
}
