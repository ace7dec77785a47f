use tenure_core::LeaderView;

use super::{Check, Fact, LeasedLeaders, Own, Property};

/// Rulings 4 and 8: a leader is beaten only by a claim that it heard from another leader itself,
/// which that one had heard.
#[derive(Debug, Default)]
pub(in super::super) struct OnlyLeadersBeat;

impl Property<LeasedLeaders> for OnlyLeadersBeat {
    const NAME: &'static str = "Only a leader beats a leader";
    const SOURCE: &'static str = "rulings 2, 4 and 8";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Own(Own::Beaten { node, election, by }) = fact else { return Ok(()) };
        let role = check.role(node, election);
        let claim = role.claims.get(by);
        // Than all that it has published itself.
        let greater = |until| role.published.is_none_or(|own| own.until <= until);
        if claim.is_some_and(|claim| claim.holds && greater(claim.lease.until)) {
            return Ok(());
        }
        let (name, election) = (check.name(node), check.election(election));
        Err(format!("{name} is beaten in {election} by {by}, of which it heard {claim:?}"))
    }
}

/// Promise (d): an observer shows leaders that it heard of, that had heard their claims themselves,
/// and whose terms no tombstone has ended.
#[derive(Debug, Default)]
pub(in super::super) struct KnownClaims;

impl Property<LeasedLeaders> for KnownClaims {
    const NAME: &'static str = "An observer shows what it was told";
    const SOURCE: &'static str = "promise (d); rulings 4, 7 and 8";

    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        let Fact::Viewed { node, election, view, looked, .. } = fact else { return Ok(()) };
        let life = check.life_of(node);
        let at = check.plan.conditions.sites[node].clock.shows(looked);
        let Some((me, _)) = &life.me else { return Ok(()) };
        let is_known = |leader: &&LeaderView| {
            let mut told = life.roles[election].told.iter();
            let told = told.find(|(who, _)| Some(who.incarnation) == leader.incarnation);
            leader.incarnation == Some(me.incarnation)
                || told.is_some_and(|(_, (_, holds, gone))| *holds && gone.is_none_or(|g| g == at))
        };
        let shown = view.leader().into_iter().chain(view.others());
        match shown.into_iter().find(|leader| !is_known(leader)) {
            None => Ok(()),
            Some(leader) => {
                let told = &life.roles[election].told;
                let (name, election) = (check.name(node), check.election(election));
                Err(format!("{name} shows {} as leader of {election}, told {told:?}", leader.id))
            }
        }
    }
}
