//! Changes of members. A member carries out a change, and reports the state of the change.

use std::net::SocketAddr;
use std::time::Duration;

use tenure::NodeName;
use tenure_core::Text;
use tenure_core::nerio::{ChangeError, ChangePhase, HostPort, Member, SeatChange};
use tenure_nerio::changes::{self, Change, ChangeFailure, Done, Refusal, Unfinished, Worker};

use super::lists::no_socket;
use super::membership::fragile;
use super::troubles::{mismatch, of_keys};
use super::{Cluster, Grantors, QUORUMS};
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::protocol::{Advice, MadeChange, MemberChange, NewMember};
use crate::settings::{Origin, Origins};

/// Default time for a change.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The longest wait for name servers.
const LOOK_UP: Duration = Duration::from_secs(5);

/// Refuses a change that no member would carry out.
pub(super) fn check(
    grantors: &Grantors,
    change: &MemberChange,
    origins: &Origins,
) -> Result<(), Failure> {
    if let MemberChange::Add(NewMember { name, hosts }) = change
        && hosts.is_empty()
    {
        let what = format!("the new member {name} has no address");
        let fix = format!(
            "write the address at which others find {name}: tenure members add {name}=HOST:PORT"
        );
        return Err(Failure::usage(what, fix).origin(Origin::Argument("NAME")));
    }
    quorums(grantors, origins)?;
    let Cluster { config, .. } = &grantors.cluster;
    changes::check(config, grantors.cluster.key(), &wanted(change))
        .map_err(|refusal| refused(&refusal))
}

/// Asks a member to carry the change out, and waits until a quorum of the new members serves.
pub(super) async fn change(
    grantors: &Grantors,
    change: MemberChange,
    limit: Option<Duration>,
    origins: &Origins,
) -> Result<MadeChange, Failure> {
    let limit = limit.unwrap_or(TIMEOUT);
    let cluster = &grantors.cluster;
    let wanted = Change::new(wanted(&change), quorums(grantors, origins)?);
    let wanted = wanted.map_err(|error| {
        Failure::new(
            Exit::System,
            error.to_string(),
            "check the limits of this process (ulimit \
                                                       -a)",
        )
    })?;
    let from = SocketAddr::new(cluster.listen.ip(), 0);
    let silence = |members: &[NodeName]| {
        let members = names(members);
        let cause = of_keys(cluster);
        failure::warn(&format!(
            "no member has answered yet ({members}); the command keeps asking{cause}"
        ));
    };
    let (config, keys) = (&cluster.config, cluster.key());
    match changes::change(config, keys, from, &wanted, limit, &silence).await {
        Ok(Done::Changed { members, epoch }) => {
            let warning = listed_elsewhere(&cluster.config.members, &change).await;
            warning.iter().for_each(|warning| failure::warn(warning));
            let removes = matches!(change, MemberChange::Remove(_));
            if let Some(Advice { text, fix }) = fragile(&members).filter(|_| removes) {
                failure::warn(&format!("{text}; {fix}"));
            }
            let by_epoch = epoch.is_none().then_some(members.id().number);
            Ok(MadeChange { epoch, by_epoch })
        }
        Ok(Done::Cancelled { .. }) => Ok(MadeChange::default()),
        Err(ChangeFailure::Io(error)) => Err(no_socket(from, &error, origins)),
        Err(ChangeFailure::Unknown(known)) => Err(unknown(cluster, &known, limit)),
        Err(ChangeFailure::Unheard { members }) => Err(unheard(cluster, &members, limit)),
        Err(ChangeFailure::OldList(old)) => {
            let failure = Failure::new(Exit::Usage, old.to_string(), old.fix());
            Err(origins.explain(failure, &["members"]))
        }
        Err(ChangeFailure::Differ { members }) => {
            let what = format!("{} run with another configuration", names(&members));
            Err(mismatch(what, Exit::Unknown, origins))
        }
        Err(failure) => Err(failed(&failure)),
    }
}

fn wanted(change: &MemberChange) -> SeatChange {
    match change.clone() {
        MemberChange::Add(NewMember { name, hosts }) => SeatChange::Add { name, hosts },
        MemberChange::Remove(name) => SeatChange::Remove { name },
        MemberChange::Replace(NewMember { name, hosts }) => {
            SeatChange::Replace { name, hosts, instance: None }
        }
        MemberChange::Cancel => SeatChange::Cancel,
    }
}

/// A warning if the members list here gives the replaced member another address than the change
/// does. A command looks for a member at the address in its list, whatever the members agreed on.
async fn listed_elsewhere(list: &[Member], change: &MemberChange) -> Option<String> {
    let MemberChange::Replace(NewMember { name, hosts }) = change else { return None };
    let Member { address, .. } = list.iter().find(|member| member.name == *name)?;
    if hosts.is_empty() || hosts.contains(address) || leads_to(address, hosts).await {
        return None;
    }
    Some(format!(
        "the members list here has {name} at {address}, and commands with this list look for \
         {name} only there. Correct the list on all machines"
    ))
}

/// Whether `host` and one of the new hosts have an address in common.
async fn leads_to(host: &HostPort, new: &[HostPort]) -> bool {
    let listed = addresses(host).await;
    for new in new {
        if addresses(new).await.iter().any(|address| listed.contains(address)) {
            return true;
        }
    }
    false
}

/// The addresses of a host; empty if its name does not resolve in time.
async fn addresses(host: &HostPort) -> Vec<SocketAddr> {
    let Some(name) = host.name() else { return host.literal().into_iter().collect() };
    match tokio::time::timeout(LOOK_UP, tokio::net::lookup_host((name, host.port()))).await {
        Ok(Ok(found)) => found.collect(),
        Ok(Err(_)) | Err(_) => Vec::new(),
    }
}

/// The quorum system of the new members, if the command names one.
fn quorums(grantors: &Grantors, origins: &Origins) -> Result<Option<Text>, Failure> {
    let text = grantors.new_quorums.as_deref().map(Text::new).transpose();
    text.map_err(|error| {
        let fix = "write a quorum system of the new members, such as weights:a=2,b=1,c=1";
        origins.usage(error.to_string(), fix, &[QUORUMS.spec.name])
    })
}

fn refused(refusal: &Refusal) -> Failure {
    let fix = match refusal {
        Refusal::Unsealed { .. } => "give the cluster keys (tenure keys new)",
        Refusal::NoRight { .. } => {
            "use the key of the cluster, or a key that was issued with --rights ask,members"
        }
        Refusal::TooLong { .. } => "give fewer addresses, or write the quorums as weights",
    };
    Failure::new(Exit::Refused, refusal.to_string(), fix)
}

/// The failure of a change that members refuse.
fn failed(failure: &ChangeFailure) -> Failure {
    let (what, fix) = match failure {
        ChangeFailure::Refused(refusal) => return refused(refusal),
        ChangeFailure::Denied { by, why } => denied(by, why),
        ChangeFailure::Cancelled { .. } => {
            let fix = "repeat the command if the change is still wanted";
            (failure.to_string(), fix.to_owned())
        }
        ChangeFailure::ElseOnly { members } => (
            format!(
                "no member carries the change out: {} answered other questions but not this one; \
                 older versions do not answer it, and networks can lose long datagrams",
                names(members)
            ),
            "upgrade these nodes, one after the other; if they have this version already, check \
             whether the network loses long datagrams"
                .to_owned(),
        ),
        _ => (
            failure.to_string(),
            "run tenure members, and repeat the command if the change is still wanted".to_owned(),
        ),
    };
    Failure::new(Exit::Refused, what, fix)
}

/// The text of a member's refusal, and the remedy.
fn denied(by: &NodeName, why: &ChangeError) -> (String, String) {
    let text = why.to_string();
    let fix = match why {
        ChangeError::Running { what, .. } => {
            return (
                format!("{by} carries out another change ({what}), which is not decided yet"),
                "wait until that change is decided, or end it with tenure members cancel"
                    .to_owned(),
            );
        }
        ChangeError::Outside => {
            return (
                format!("{by} is no member of the present epoch"),
                "ask a member; tenure members lists them".to_owned(),
            );
        }
        ChangeError::NoVote { why } => {
            return (
                format!(
                    "no member can carry the change out: {by} cannot vote on it, because {why}"
                ),
                "check the nodes with tenure members, and repeat the command".to_owned(),
            );
        }
        ChangeError::Last { .. } => "add another member first: tenure members add",
        ChangeError::Hosts { .. } => {
            "write the addresses behind the name, such as d=HOST:PORT,HOST:PORT"
        }
        ChangeError::Document { .. } => {
            "correct the quorums (--quorums) or the addresses of the new members"
        }
        ChangeError::NothingRuns => {
            return (
                "there is nothing to cancel: no member carries out a change".to_owned(),
                "check with tenure members whether the change is made already".to_owned(),
            );
        }
        ChangeError::Begun => "wait until the change is decided; then undo it by another change",
        _ => {
            // The texts of all other errors have the remedy after a colon.
            let (what, fix) = text.split_once(": ").unwrap_or((&*text, "run tenure members"));
            return (what.replace('`', ""), fix.replace('`', ""));
        }
    };
    (text, fix.to_owned())
}

/// The failure of a change for which no member was asked.
fn unheard(cluster: &Cluster, members: &[NodeName], limit: Duration) -> Failure {
    let what = format!(
        "no member answers within {limit:?} ({}), so none was asked for the change",
        names(members)
    );
    let fix = "check these nodes and the network to them, and repeat the command";
    Failure::new(Exit::Unknown, what, format!("{fix}{}", of_keys(cluster)))
}

/// The failure of a change whose outcome is not known.
fn unknown(cluster: &Cluster, known: &Unfinished, limit: Duration) -> Failure {
    let Unfinished { worker, decided, silent, denied } = known;
    let (what, fix) = match (decided, worker) {
        (Some(members), _) => (
            format!(
                "epoch {} is decided (members {}), but no quorum of its members serves after \
                 {limit:?}",
                members.id().number,
                names(members.names())
            ),
            "list the members with tenure members, and start the nodes that do not serve"
                .to_owned(),
        ),
        (None, Some(worker)) => carried_out(worker, limit),
        (None, None) => {
            let others = denied.as_ref().map(|(by, why)| format!("; {by} refuses: {why}"));
            let what = format!(
                "no member has confirmed within {limit:?} that it carries the change out: {} {} \
                 not answer, and may have begun the change{}",
                names(silent),
                if silent.len() == 1 { "does" } else { "do" },
                others.unwrap_or_default()
            );
            let fix = "check these nodes and the network to them; run tenure members before you \
                       repeat the command";
            (what, format!("{fix}{}", of_keys(cluster)))
        }
    };
    Failure::new(Exit::Unknown, what, fix)
}

/// The state of a change that a member still carries out, and the remedy.
fn carried_out(worker: &Worker, limit: Duration) -> (String, String) {
    let Worker { name, phase, waits_for } = worker;
    let step = match phase {
        ChangePhase::Finding => "asks nodes which state directories they have",
        ChangePhase::Asking | ChangePhase::Learning { .. } => "asks the members for their votes",
        ChangePhase::Ready => "asks the new members whether they are ready",
        ChangePhase::Deciding => "asks the members to accept the change",
    };
    let waits = match (phase, &waits_for[..]) {
        (_, []) => String::new(),
        (ChangePhase::Learning { within }, learning) => format!(
            "; {} may not know all leases from before the last change yet, and {} in {} s at the \
             latest",
            names(learning),
            if learning.len() == 1 { "votes" } else { "vote" },
            within.as_secs() + 1
        ),
        (_, missing) => format!(", and waits for {}", names(missing)),
    };
    let what = format!("the change is not decided within {limit:?}: {name} {step}{waits}");
    let fix = match phase {
        ChangePhase::Deciding => {
            "start the nodes that are down: the change can no longer be cancelled; tenure members \
             shows when it is made"
        }
        ChangePhase::Learning { .. } => {
            "wait, and run tenure members, which shows when the change is made; or end the change \
             with tenure members cancel"
        }
        ChangePhase::Finding | ChangePhase::Asking | ChangePhase::Ready => {
            "start the nodes that are down, and run tenure members: the change may still be \
             made; or end the change with tenure members cancel"
        }
    };
    (what, fix.to_owned())
}

fn names(names: &[NodeName]) -> String {
    names.iter().map(NodeName::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tenure_core::nerio::{Config, Missing, NoVote, Unready};

    use super::*;

    fn name(text: &str) -> NodeName {
        text.parse().unwrap()
    }

    fn cluster() -> Cluster {
        let address = ([127, 0, 0, 1], 7101).into();
        let config = Config::new("x".parse().unwrap(), vec![Member::at(name("a"), address)]);
        Cluster {
            config: config.check().unwrap(),
            listen: address,
            keys: None,
            permits_unsealed: true,
            exit_on_mismatch: false,
        }
    }

    /// The text and the remedy of a refusal by member a.
    fn told(why: &ChangeError) -> String {
        let (what, fix) = denied(&name("a"), why);
        format!("{what}|{fix}")
    }

    #[test]
    fn refusals_have_remedies() {
        let (b, d) = (name("b"), name("d"));
        let what = SeatChange::Remove { name: d.clone() };
        let missing = Missing { name: d.clone(), why: Some(Unready::Disk) };
        let addresses = [([127, 0, 0, 1], 1).into(), ([127, 0, 0, 1], 2).into()];
        for (why, expected) in [
            (
                ChangeError::Running { by: b.clone(), what },
                "a carries out another change (remove d), which is not decided yet|wait until that \
                 change is decided, or end it with tenure members cancel",
            ),
            (
                ChangeError::Deciding { before: 0, next: 1 },
                "the members are deciding on epoch 1, so epoch 0 takes no other change|wait until \
                 a quorum serves in epoch 1, and repeat the change",
            ),
            (
                ChangeError::Member { name: d.clone() },
                "d is a member already|give the new member another name, or replace this member \
                 with tenure members replace",
            ),
            (
                ChangeError::NotMember { name: d.clone() },
                "d is no member|give the name of a member; tenure members lists them",
            ),
            (
                ChangeError::NoBlank { name: d.clone() },
                "no node d with an empty state directory asks to be let in|start d without --new, \
                 with the present members in its list and, if the cluster has keys, with its key; \
                 then repeat the change",
            ),
            (
                ChangeError::Entered { name: d.clone() },
                "d runs as a member, and no second node d with an empty state directory asks to be \
                 let in|to replace d, stop it for good, start the new node, and repeat the change. \
                 If the member that runs is the new node, it needs no replacement",
            ),
            (
                ChangeError::TwoBlanks { name: d.clone(), addresses },
                "two nodes with the name d and an empty state directory ask to be let in, at \
                 127.0.0.1:1 and 127.0.0.1:2|stop one of these nodes, and repeat the change",
            ),
            (
                ChangeError::Elsewhere { name: d.clone(), address: addresses[0] },
                "the node d with an empty state directory sends from 127.0.0.1:1, and does not \
                 answer at the host of the member d|wait until that host's name leads to the \
                 node, also from this member and with its list, and repeat the change; or run \
                 tenure members replace d=HOST:PORT with the host at which all others reach the \
                 node, in the spelling of this member's list",
            ),
            (
                ChangeError::Silent { who: vec![b, d] },
                "too few members answer (no answer from b, d)|start the members that are down, or \
                 check the network to them, then repeat the change. A node whose state directory \
                 was lost in this epoch has no vote",
            ),
            (
                ChangeError::NotReady { who: vec![missing] },
                "too few of the new members are ready for a quorum (d cannot write its state \
                 directory)|mend these nodes, and repeat the change",
            ),
            (
                ChangeError::QuorumsNeeded,
                "the quorum system of the present members is not a majority|give the quorum system \
                 of the new members with --quorums, and repeat the change",
            ),
        ] {
            assert_eq!(told(&why), expected);
        }
    }

    #[test]
    fn running_members_stay() {
        let d = name("d");
        assert_eq!(
            told(&ChangeError::Runs { name: d.clone() }),
            "d still runs as a member, with its state directory|if d is the new node, it needs no \
             replacement. Otherwise stop d for good, and repeat the change"
        );
        assert_eq!(
            told(&ChangeError::LetIn { name: d, epoch: 2 }),
            "the waiting node d is already a member of epoch 2, but has not entered that \
             epoch|check that d and the members reach each other, and that their lists have the \
             present address of d; d then enters by itself"
        );
    }

    /// The core's texts of these errors have no remedy, or a remedy for the node that answers.
    #[test]
    fn remedies_are_added() {
        for (why, expected) in [
            (
                ChangeError::Outside,
                "a is no member of the present epoch|ask a member; tenure members lists them",
            ),
            (
                ChangeError::NoVote { why: NoVote::Starts },
                "no member can carry the change out: a cannot vote on it, because the node is \
                 starting, or waits until old leases have ended|check the nodes with tenure \
                 members, and repeat the command",
            ),
            (
                ChangeError::Last { name: name("d") },
                "d is the only member, and a cluster needs one|add another member first: tenure \
                 members add",
            ),
            (
                ChangeError::NothingRuns,
                "there is nothing to cancel: no member carries out a change|check with tenure \
                 members whether the change is made already",
            ),
            (
                ChangeError::Unsealed,
                "the cluster has no keys, and without keys the members can change only if all of \
                 them, old and new, are on loopback|give the cluster keys (tenure keys new)",
            ),
        ] {
            assert_eq!(told(&why), expected);
        }
        let fix = "|wait until the change is decided; then undo it by another change";
        assert!(told(&ChangeError::Begun).ends_with(fix));
    }

    #[tokio::test]
    async fn list_with_old_address_is_warned_about() {
        let mut list = cluster().config.members.clone();
        list.push(Member { name: name("c"), address: "localhost:7101".parse().unwrap() });
        let warning = async |member: &str, hosts: &[&str]| {
            let hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
            let change = MemberChange::Replace(NewMember { name: name(member), hosts });
            listed_elsewhere(&list, &change).await
        };
        for (member, listed) in [("a", "127.0.0.1:7101"), ("c", "localhost:7101")] {
            let told = warning(member, &["127.0.0.1:7102"]).await.unwrap();
            let here = format!("the members list here has {member} at {listed}, ");
            assert!(told.starts_with(&here), "{told}");
            assert_eq!(warning(member, &[]).await, None);
            assert_eq!(warning(member, &["a.internal:1", "127.0.0.1:7101"]).await, None);
        }
        assert_eq!(warning("b", &["127.0.0.1:7102"]).await, None);
    }

    #[test]
    fn unknown_outcome_is_told() {
        let limit = Duration::from_secs(30);
        let said = |known: &Unfinished| {
            let failure = unknown(&cluster(), known, limit);
            assert_eq!(failure.exit, Exit::Unknown);
            (failure.what, failure.fix)
        };
        let worker =
            |phase| Some(Worker { name: name("a"), phase, waits_for: vec![name("b"), name("c")] });
        let known = Unfinished { worker: worker(ChangePhase::Asking), ..Unfinished::default() };
        let (what, fix) = said(&known);
        let expected = "the change is not decided within 30s: a asks the members for their votes, \
                        and waits for b, c";
        assert_eq!(what, expected);
        assert!(fix.ends_with("or end the change with tenure members cancel"), "{fix}");
        let phase = ChangePhase::Learning { within: Duration::from_millis(7_500) };
        let (what, fix) = said(&Unfinished { worker: worker(phase), ..known.clone() });
        let expected = "the change is not decided within 30s: a asks the members for their votes; \
                        b, c may not know all leases from before the last change yet, and vote in \
                        8 s at the latest";
        assert_eq!(what, expected);
        assert!(fix.starts_with("wait, and run tenure members"), "{fix}");
        let known = Unfinished { worker: worker(ChangePhase::Deciding), ..known };
        assert!(said(&known).1.contains("can no longer be cancelled"));

        let decided = Some(Arc::clone(cluster().config.membership()));
        let (what, _) = said(&Unfinished { decided, ..known });
        let expected =
            "epoch 0 is decided (members a), but no quorum of its members serves after 30s";
        assert_eq!(what, expected);

        let silent = vec![name("b")];
        let (what, fix) = said(&Unfinished { silent, ..Unfinished::default() });
        let expected = "no member has confirmed within 30s that it carries the change out: b does \
                        not answer, and may have begun the change";
        assert_eq!(what, expected);
        assert!(fix.starts_with("check these nodes"), "{fix}");
    }
}
