use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tenure_core::Time;
use tenure_core::etcd::{
    Act, Bytes, CallId, Change, Compare, Keys, LeaseId, Op, Reply, Request, Txn,
};

use super::{Check, Elections, Fact, Own, Plan, Property};

/// How long a leader waits at least before it writes its value anew once more.
const MEND_AGAIN: Duration = Duration::from_secs(1);
/// How often an observer looks again at once, if nothing has been told meanwhile.
const LOOKS_MAX: u32 = 3;

/// Who waits looks at the whole queue only once the one before it has gone: etcd sorts it for each
/// who does. Who finds another value than its own writes that anew once a second. Who observes
/// looks again at once only if something was told meanwhile. And who has left looks for a key that
/// comes late only while the lease of that is its own.
#[derive(Debug, Default)]
pub(super) struct FewRequests {
    elections: usize,
    lives: Vec<Life>,
}

/// What one life has asked and was told.
#[derive(Clone, Debug, Default)]
struct Life {
    asked: BTreeMap<CallId, (usize, Asked)>,
    /// By election.
    waits: Vec<Waits>,
    mends: Vec<Mends>,
    looks: Vec<Looks>,
    left: Vec<Left>,
    /// The leases that it has given back.
    returned: BTreeSet<LeaseId>,
    /// Which election the answer was about that came last.
    answered: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Asked {
    /// Who is first, and who is just before.
    Queue,
    /// Whether the one before is there.
    Before,
    Proclaim,
    /// Who leads, for an observer.
    Leader,
}

/// How an observer looks.
#[derive(Clone, Debug, Default)]
struct Looks {
    /// Whether its last look was answered with the input at hand, or with that before it is
    /// handled.
    answered: [bool; 2],
    /// How often it looked again at once since something was told.
    again: u32,
}

/// What is left of campaigns that are over.
#[derive(Clone, Debug, Default)]
struct Left {
    is_over: bool,
    /// The leases on which keys were to be made.
    creates: Vec<LeaseId>,
}

/// Whom it waits for, as far as it was told.
#[derive(Clone, Debug, Default)]
struct Waits {
    behind: Option<Bytes>,
}

/// When it wrote what its application has told others last.
#[derive(Clone, Debug, Default)]
struct Mends {
    /// That, as a number.
    said: u64,
    /// The last two times, as long as each was answered before the next.
    sent: [Option<Time>; 2],
    answered: bool,
    /// The last of them.
    call: Option<CallId>,
}

impl Property<Elections> for FewRequests {
    const NAME: &'static str = "Nothing is asked for without a reason";
    const SOURCE: &'static str = "ruling 1; wire facts: proclaim";

    fn begin(&mut self, plan: &Plan) {
        let elections = plan.elections.len();
        *self = Self { elections, lives: vec![Life::new(elections); plan.nodes.len()] };
    }

    #[inline(always)]
    fn see(&mut self, check: &Check<'_>, fact: Fact<'_>) -> Result<(), String> {
        match fact {
            Fact::Started { node, .. } | Fact::Crashed { node } => {
                self.lives[node] = Life::new(self.elections);
                Ok(())
            }
            Fact::Own(Own::Sent { node, request, decided, .. }) => {
                if let Op::Unwatch { .. } = request.op {
                    self.lives[node].pause();
                }
                if let Op::Revoke { lease } = request.op {
                    self.lives[node].returned.insert(lease);
                }
                let Op::Txn(txn) = &request.op else { return Ok(()) };
                let Some(election) = about(check, txn) else { return Ok(()) };
                let said = check.apps[node][election].said;
                let life = &mut self.lives[node];
                life.ask(election, request, txn, (said, decided))
                    .map_err(|why| format!("{} sends {request}, {why}", check.name(node)))
            }
            Fact::Own(Own::Heard { node, answer, .. }) => {
                self.lives[node].hear(answer.call, &answer.reply);
                Ok(())
            }
            // It had given up waiting for that answer: what that told is not known to it.
            Fact::Own(Own::Unasked { node }) => {
                let life = &mut self.lives[node];
                if let Some(election) = life.answered {
                    life.waits[election].behind = None;
                    life.mends[election].answered = false;
                }
                life.looks.iter_mut().for_each(|looks| looks.answered = [false; 2]);
                Ok(())
            }
            Fact::Handled { node, .. } => {
                let looks = self.lives[node].looks.iter_mut();
                looks.for_each(|looks| looks.answered = [looks.answered[1], false]);
                Ok(())
            }
            Fact::Own(Own::Released { node, election, .. }) => {
                self.lives[node].left[election].is_over = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Life {
    fn new(elections: usize) -> Self {
        let waits = vec![Waits::default(); elections];
        let mends = vec![Mends::default(); elections];
        let (looks, left) = (vec![Looks::default(); elections], vec![Left::default(); elections]);
        let (asked, returned) = (BTreeMap::new(), BTreeSet::new());
        Self { asked, waits, mends, looks, left, returned, answered: None }
    }

    fn ask(
        &mut self,
        election: usize,
        request: &Request,
        txn: &Txn,
        (said, now): (u64, Time),
    ) -> Result<(), String> {
        let waits = &mut self.waits[election];
        let asked = match &txn.then[..] {
            [Act::Read(first), Act::Read(_)] if matches!(first.keys, Keys::Prefix(_)) => {
                if let Some(behind) = &waits.behind {
                    return Err(format!("and waits for {behind}, of which it knows no end"));
                }
                Asked::Queue
            }
            [Act::Read(_)] if txn.when.len() == 2 => Asked::Before,
            [Act::Proclaim { .. }] => {
                self.mends[election].write(request.call, said, now)?;
                Asked::Proclaim
            }
            [Act::Put { lease, .. }] => {
                waits.behind = None;
                let Left { is_over, creates } = &mut self.left[election];
                creates.retain(|lease| !self.returned.contains(lease));
                creates.push(*lease);
                *is_over = false;
                return Ok(());
            }
            [Act::Delete { .. }] => {
                waits.behind = None;
                return Ok(());
            }
            [Act::Read(read)] if matches!(read.keys, Keys::Prefix(_)) => {
                self.looks[election].look()?;
                Asked::Leader
            }
            [Act::Read(_)] if matches!(txn.when[..], [Compare::Created { revision: 0, .. }]) => {
                let Left { is_over, creates } = &self.left[election];
                if *is_over && creates.iter().all(|lease| self.returned.contains(lease)) {
                    return Err("and has given back all leases on which that could be".to_owned());
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        self.asked.insert(request.call, (election, asked));
        Ok(())
    }

    /// After a failure it tries everything again, when it has waited for that.
    fn pause(&mut self) {
        self.mends.iter_mut().for_each(|mends| mends.answered = false);
    }

    fn hear(&mut self, call: CallId, reply: &Reply) {
        if let Reply::Changed(changes) = reply {
            self.looks.iter_mut().for_each(|looks| looks.again = 0);
            for change in changes {
                let Change::Deleted { key, .. } = change else { continue };
                let waits = self.waits.iter_mut();
                let ended = waits.filter(|waits| waits.behind.as_ref() == Some(key));
                ended.for_each(|waits| waits.behind = None);
            }
        }
        if let Reply::Unknown { .. } | Reply::Refused(_) = reply {
            self.pause();
        }
        self.answered = None;
        let Some((election, asked)) = self.asked.remove(&call) else { return };
        let last = self.mends[election].call == Some(call);
        self.answered = Some(election);
        let behind = &mut self.waits[election].behind;
        match (asked, reply) {
            (Asked::Queue, Reply::Txn { succeeded: true, found }) => {
                *behind = found.get(1).and_then(|kv| Some(kv.as_ref()?.key.clone()));
            }
            (Asked::Queue | Asked::Before, Reply::Txn { succeeded: false, .. }) => *behind = None,
            (Asked::Leader, Reply::Txn { .. }) => self.looks[election].answered[1] = true,
            (Asked::Proclaim, reply) => {
                let answered = matches!(reply, Reply::Txn { succeeded: true, .. });
                self.mends[election].answered = answered && last;
            }
            _ => {}
        }
    }
}

impl Looks {
    fn look(&mut self) -> Result<(), String> {
        self.again = if std::mem::take(&mut self.answered[0]) { self.again + 1 } else { 0 };
        match self.again > LOOKS_MAX {
            true => Err(format!("at once, for the {}th time, and was told nothing", self.again)),
            false => Ok(()),
        }
    }
}

impl Mends {
    /// The second of three may be sent late, when an answer is waited for.
    fn write(&mut self, call: CallId, said: u64, now: Time) -> Result<(), String> {
        if self.said != said || !std::mem::take(&mut self.answered) {
            *self = Self { said, ..Self::default() };
        }
        self.call = Some(call);
        let [first, second] = self.sent;
        self.sent = [second, Some(now)];
        match first.filter(|first| now < first.after(MEND_AGAIN)) {
            Some(first) => Err(format!("and wrote the same at {first} and since")),
            None => Ok(()),
        }
    }
}

/// Which election the keys of a transaction belong to.
fn about(check: &Check<'_>, txn: &Txn) -> Option<usize> {
    check.records().election_of(txn.then.first()?.key())
}
