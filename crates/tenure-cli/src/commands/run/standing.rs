//! Adds roles to a running process, and removes roles. A leader steps down before the process gives
//! up its role.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tenure::Time;
use tenure_http::Monitor;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::orders::{Commander, Order, Orders, ParkRequest};
use super::reporter::Reporter;
use super::runner::{Runner, RunnerKit};
use crate::control::{self, Answer, Request, Server};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::run::{RunRole, RunSettings};
use crate::protocol::{AnyElection, Participant, Rank};
use crate::service_manager::ServiceManager;

/// The longest wait for a file system while sockets are made: meanwhile no signal is handled.
const BINDS: Duration = Duration::from_secs(5);

/// The role of a runner that has ended, and its result.
pub(super) type Ended = (Option<u32>, Result<Exit, Failure>);

/// A request about the roles of the process.
pub(super) struct RoleCall {
    pub(super) request: Request,
    pub(super) reply: oneshot::Sender<Answer>,
}

/// The parts from which the process makes runners.
pub(super) struct Workshop {
    pub(super) settings: Rc<RunSettings>,
    pub(super) participant: Rc<Box<dyn Participant>>,
    pub(super) until: Option<Time>,
    pub(super) rank: Option<Rank>,
    pub(super) json: bool,
    /// Answers over HTTP for the elections of this process.
    pub(super) monitor: Option<Monitor>,
    pub(super) manager: ServiceManager,
    pub(super) give_back: mpsc::Sender<oneshot::Sender<Answer>>,
    pub(super) parked: mpsc::Sender<ParkRequest>,
    pub(super) role_calls: mpsc::Sender<RoleCall>,
    /// The number of roles for which the process stands.
    pub(super) roles: Rc<Cell<usize>>,
}

impl Workshop {
    pub(super) fn start(
        &self,
        runners: &mut JoinSet<Ended>,
        role: RunRole,
        control: Server,
        orders: Orders,
    ) {
        let election = self.participant.election(&role.part.election);
        let several = matches!(election, AnyElection::MayOverlap(_));
        let (rank, json, manager) = (self.rank, self.json, self.manager.clone());
        let number = role.part.role;
        let kit = RunnerKit {
            reporter: Reporter::new(&self.settings, &role, several, rank, json, manager),
            settings: Rc::clone(&self.settings),
            participant: Rc::clone(&self.participant),
            role,
            roles: Rc::clone(&self.roles),
            until: self.until,
            monitor: self.monitor.clone(),
            orders,
            give_back: self.give_back.clone(),
            parked: self.parked.clone(),
            role_calls: self.role_calls.clone(),
        };
        match election {
            AnyElection::AtMostOne(election) => {
                let runner = Runner::new(kit, election, control);
                runners.spawn_local(async move { (number, runner.run().await) });
            }
            AnyElection::MayOverlap(election) => {
                let runner = Runner::new(kit, election, control);
                runners.spawn_local(async move { (number, runner.run().await) });
            }
        }
    }
}

/// The roles for which the process stands, and the roles that it is about to lose.
pub(super) struct Standing {
    roles: BTreeSet<u32>,
    removal: Option<Removal>,
}

/// A removal that waits for its runners to end.
struct Removal {
    removed: BTreeSet<u32>,
    left: BTreeSet<u32>,
    reply: oneshot::Sender<Answer>,
}

impl Standing {
    pub(super) fn new(settings: &RunSettings) -> Self {
        let roles = settings.roles.iter().filter_map(|role| role.part.role).collect();
        Self { roles, removal: None }
    }

    /// Whether some roles are being removed.
    pub(super) fn changes(&self) -> bool {
        self.removal.is_some()
    }

    /// Carries out a request about roles, or refuses it. A removal is answered when its runners
    /// have ended.
    pub(super) async fn on_call(
        &mut self,
        RoleCall { request, reply }: RoleCall,
        workshop: &Workshop,
        orders: &mut Commander,
        runners: &mut JoinSet<Ended>,
    ) {
        let answer = match request {
            Request::AddRoles { .. } | Request::RemoveRoles { .. }
                if self.changes() || orders.now() != Order::Go =>
            {
                busy()
            }
            Request::AddRoles { first, last } => {
                match self.add(first..=last, workshop, orders, runners).await {
                    Ok(added) => self.told(workshop, "added", &added),
                    Err(Failure { what, fix, .. }) => Answer::Refused { what, fix },
                }
            }
            Request::RemoveRoles { first, last } => {
                let own = self.roles.iter().copied();
                let removed: BTreeSet<_> =
                    own.filter(|role| (first..=last).contains(role)).collect();
                if removed.len() == self.roles.len() {
                    none_left(&removed)
                } else if removed.is_empty() {
                    self.told(workshop, "removed", &removed)
                } else {
                    removed.iter().for_each(|role| orders.remove(*role));
                    let left = removed.clone();
                    self.removal = Some(Removal { removed, left, reply });
                    return;
                }
            }
            _ => Answer::Done(self.shown(workshop)),
        };
        // The client may have left.
        let _ = reply.send(answer);
    }

    /// Adds roles. Makes all sockets before the first runner, so that a failure changes nothing.
    /// Returns the roles for which the process did not stand before.
    async fn add(
        &mut self,
        asked: RangeInclusive<u32>,
        workshop: &Workshop,
        orders: &mut Commander,
        runners: &mut JoinSet<Ended>,
    ) -> Result<BTreeSet<u32>, Failure> {
        let Workshop { settings, participant, .. } = workshop;
        let Some(holder) = participant.roles() else { return Ok(BTreeSet::new()) };
        if settings.once {
            let what = "this process has --once, and ends with its first leadership";
            return Err(Failure::new(Exit::Refused, what, "start it without --once"));
        }
        // Count the roles before listing them: a request may name a range of any size.
        let others = self.roles.iter().filter(|role| !asked.contains(role)).count();
        let named = (u64::from(*asked.end()) + 1).saturating_sub(u64::from(*asked.start()));
        holder.fits(usize::try_from(named).unwrap_or(usize::MAX).saturating_add(others))?;
        let added: BTreeSet<_> = asked.filter(|role| !self.roles.contains(role)).collect();
        let binds = async {
            let mut made = Vec::new();
            for number in &added {
                let role = settings.place.role(holder.part(*number));
                let server = Server::bind(&role.control).await?;
                control::check_room(&role.control)?;
                made.push((server, role));
            }
            Ok::<_, Failure>(made)
        };
        let bound = tokio::time::timeout(BINDS, binds).await;
        let made = bound.unwrap_or_else(|_| Err(hangs(added.len())))?;
        self.roles.extend(&added);
        holder.stand_for(self.roles.clone());
        workshop.roles.set(self.roles.len());
        for (control, role) in made {
            let orders = orders.enlist(role.part.role);
            workshop.start(runners, role, control, orders);
        }
        Ok(added)
    }

    /// Handles the end of a runner. Returns whether a request has removed the runner: the other
    /// runners then go on.
    pub(super) fn removes(&mut self, role: Option<u32>, workshop: &Workshop) -> bool {
        let Some(role) = role else { return false };
        let Some(removal) = self.removal.as_mut() else { return false };
        if !removal.left.remove(&role) {
            return false;
        }
        self.roles.remove(&role);
        workshop.roles.set(self.roles.len());
        if removal.left.is_empty()
            && let Some(Removal { removed, reply, .. }) = self.removal.take()
        {
            if let Some(holder) = workshop.participant.roles() {
                holder.stand_for(self.roles.clone());
            }
            // The client may have left.
            let _ = reply.send(self.told(workshop, "removed", &removed));
        }
        true
    }

    fn told(&self, workshop: &Workshop, what: &str, changed: &BTreeSet<u32>) -> Answer {
        let mut told = self.shown(workshop);
        told[what] = json!(changed);
        Answer::Done(told)
    }

    fn shown(&self, workshop: &Workshop) -> Value {
        let mut told = named(&workshop.settings);
        told["roles"] = json!(self.roles);
        told
    }
}

/// The names that identify the process.
pub(super) fn named(settings: &RunSettings) -> Value {
    let RunSettings { id, election, protocol, realm, .. } = settings;
    let mut told = json!({
        "id": id.as_str(),
        "election": election.as_str(),
        "protocol": protocol.name,
    });
    told[realm.setting] = realm.name.as_str().into();
    told
}

/// The refusal of a process that is not ready for the request.
pub(super) fn busy() -> Answer {
    Answer::Refused {
        what: "the process is ending, or is already changing its roles or giving them back"
            .to_owned(),
        fix: "wait until that is done".to_owned(),
    }
}

fn none_left(removed: &BTreeSet<u32>) -> Answer {
    Answer::Refused {
        what: format!("the process would have none of its {} roles left", removed.len()),
        fix: "end the process instead".to_owned(),
    }
}

fn hangs(sockets: usize) -> Failure {
    let what = format!("the {sockets} control sockets of the roles were not made within {BINDS:?}");
    let fix = "check the file system of the control sockets, or add fewer roles at once";
    Failure::new(Exit::System, what, fix)
}
