//! Two clusters that elect leaders of the same roles, in one table. Either cluster may be silent:
//! users have a second cluster for exactly this case.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use tenure::{ElectionName, Time, clock};
use tenure_kafka::Options;
use tokio::sync::Mutex;

use super::client;
use super::ledger::Settings;
use crate::exit::Exit;
use crate::failure::{Failure, warn};
use crate::protocol::{
    AnyElection, Later, Part, Participant, RoleHolder, Row, StartedParticipant, Table, at_once,
};
use crate::settings::Origins;

/// The pause between two attempts to start an asker of a silent cluster.
const AGAIN: Duration = Duration::from_secs(5);

/// The time for which a table waits for an asker that starts.
const MOMENT: Duration = Duration::from_millis(20);

/// Starts an asker of both clusters, as soon as one of them answers. Fails when neither cluster
/// answers, or when a cluster cannot be used with these settings.
pub(super) async fn begin(
    settings: &Settings,
    origins: &Origins,
) -> Result<Box<dyn Participant>, Failure> {
    let own = &settings.options.brokers;
    let sides = [own, &settings.other_brokers].map(|brokers| {
        let options = Options { brokers: brokers.clone(), ..settings.options.clone() };
        let settings = Settings { options, other_brokers: Vec::new(), ..settings.clone() };
        Side::new(settings, origins.clone())
    });
    loop {
        let mut failures = Vec::new();
        for side in &sides {
            let mut state = side.state.lock().await;
            side.advance(&mut state).await;
            match &*state {
                State::Running { asker, .. } => {
                    let first = Rc::clone(asker);
                    drop(state);
                    return Ok(Box::new(Sides { settings: settings.clone(), sides, first }));
                }
                State::Failed { failure, .. } if failure.exit != Exit::Unknown => {
                    return Err(failure.clone());
                }
                State::Failed { failure, .. } => failures.push(failure.clone()),
                State::Starting(_) => {}
            }
        }
        if failures.len() == sides.len()
            && let Some(first) = failures.into_iter().next()
        {
            return Err(first);
        }
    }
}

/// An asker of both clusters.
struct Sides {
    settings: Settings,
    sides: [Side; 2],
    /// The asker that started first, for questions about a single election.
    first: Rc<Box<dyn Participant>>,
}

/// A cluster, with its asker.
struct Side {
    /// The addresses of the cluster's brokers, which serve as its name.
    name: String,
    settings: Settings,
    origins: Origins,
    state: Mutex<State>,
    /// The latest warning.
    warned: RefCell<String>,
}

enum State {
    Starting(StartedParticipant<'static>),
    Running { asker: Rc<Box<dyn Participant>>, fails: Later<'static, Failure> },
    Failed { failure: Failure, again: Time },
}

impl Side {
    fn new(settings: Settings, origins: Origins) -> Self {
        let name = settings.options.addresses();
        let state = Mutex::new(State::Starting(start(&settings, &origins)));
        Self { name, settings, origins, state, warned: RefCell::default() }
    }

    /// Starts the asker, and starts it again some time after it failed.
    async fn advance(&self, state: &mut State) {
        let failed = match state {
            State::Starting(starts) => match tokio::time::timeout(MOMENT, starts.as_mut()).await {
                Ok(Ok(asker)) => {
                    let fails = asker.permanent_failure();
                    *state = State::Running { asker: Rc::new(asker), fails };
                    return;
                }
                Ok(Err(failure)) => failure,
                Err(_) => return,
            },
            State::Running { fails, .. } => {
                match tokio::time::timeout(Duration::ZERO, fails.as_mut()).await {
                    Ok(failure) => failure,
                    Err(_) => return,
                }
            }
            State::Failed { again, .. } => {
                if *again <= clock::now() {
                    *state = State::Starting(start(&self.settings, &self.origins));
                }
                return;
            }
        };
        *state = State::Failed { failure: failed, again: clock::now().after(AGAIN) };
    }

    /// The rows of this cluster, and whether the cluster has answered. Without an answer each
    /// requested role is unknown.
    async fn rows(&self) -> (Vec<Row>, bool) {
        let mut state = self.state.lock().await;
        self.advance(&mut state).await;
        match &*state {
            State::Failed { failure, .. } => self.warn_of(failure),
            State::Running { .. } => self.warned.borrow_mut().clear(),
            State::Starting(_) => {}
        }
        let table = match &*state {
            State::Running { asker, .. } => match asker.roles() {
                Some(roles) => roles.table().await,
                None => None,
            },
            State::Starting(_) | State::Failed { .. } => None,
        };
        let answers = table.is_some();
        let mut rows = table.map_or_else(|| self.unknown(), |table| table.rows);
        for row in &mut rows {
            row.side = Some(self.name.clone());
        }
        (rows, answers)
    }

    /// Warns of a failure, and again when it changes or comes back.
    fn warn_of(&self, Failure { what, fix, .. }: &Failure) {
        let text = format!("{} is not in the table: {what}: {fix}", self.name);
        if *self.warned.borrow() != text {
            warn(&text);
            self.warned.replace(text);
        }
    }

    fn unknown(&self) -> Vec<Row> {
        let Settings { config, roles, any_role, .. } = &self.settings;
        let row = |part, partition| Row { part, side: None, partition, owner: None, known: false };
        if *any_role {
            return vec![row(Part { election: config.election.clone(), role: None }, None)];
        }
        let of_role = |role| {
            let partition = config.partition_of(tenure_core::nele::Role(role)).0;
            row(client::part(config, role), Some(partition))
        };
        roles.each().map(of_role).collect()
    }
}

fn start(settings: &Settings, origins: &Origins) -> StartedParticipant<'static> {
    let settings = settings.clone();
    let origins = origins.clone();
    Box::pin(
        async move { client::begin(&settings, settings.config.id.clone(), false, &origins).await },
    )
}

impl Participant for Sides {
    fn election(&self, name: &ElectionName) -> AnyElection {
        self.first.election(name)
    }

    fn alive(&self) -> Later<'_, bool> {
        self.first.alive()
    }

    /// This process starts a failed asker again, so no failure is permanent.
    fn permanent_failure(&self) -> Later<'static, Failure> {
        Box::pin(std::future::pending())
    }

    fn roles(&self) -> Option<&dyn RoleHolder> {
        Some(self)
    }

    fn close(self: Box<Self>) -> Later<'static, ()> {
        let Self { sides, first, .. } = *self;
        drop(first);
        Box::pin(async move {
            for side in sides {
                if let State::Running { asker, .. } = side.state.into_inner()
                    && let Some(asker) = Rc::into_inner(asker)
                {
                    asker.close().await;
                }
            }
        })
    }
}

/// An asker leads nothing, so only the table has an answer.
impl RoleHolder for Sides {
    fn give_back_all(&self) -> Later<'_, ()> {
        at_once(())
    }

    fn keeps_all(&self) -> Option<Failure> {
        None
    }

    fn leave_and_lead_on(&self) -> Option<Later<'_, ()>> {
        None
    }

    fn could_be_followed(&self, _: &ElectionName) -> Later<'_, bool> {
        at_once(false)
    }

    fn others_that_lead(&self, _: &ElectionName, _: Time) -> Later<'_, BTreeSet<String>> {
        at_once(BTreeSet::new())
    }

    fn part(&self, role: u32) -> Part {
        client::part(&self.settings.config, role)
    }

    fn fits(&self, _: usize) -> Result<(), Failure> {
        Ok(())
    }

    fn stand_for(&self, _: BTreeSet<u32>) {}

    fn table(&self) -> Later<'_, Option<Table>> {
        Box::pin(async {
            let mut rows = Vec::new();
            let mut answers = false;
            for side in &self.sides {
                let (of_side, answered) = side.rows().await;
                rows.extend(of_side);
                answers |= answered;
            }
            rows.sort_by_key(|row| (row.part.role, row.side.clone()));
            answers.then_some(Table { rows })
        })
    }
}
