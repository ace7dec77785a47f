//! A stopped or killed supervisor does not save its child: the guard has sent SIGKILL to all of
//! CMD's processes at least the kill margin before the lease ends.
//!
//! CMD itself writes down the end of its lease with all that it does, and its children ignore
//! SIGTERM, so their last lines tell when SIGKILL came.

use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, sleep};
use std::time::Duration;

use rustix::process::Signal;
use tenure::clock;
use tenure_core::Fence;
use tenure_testkit::processes::nerio::Nerio;
use tenure_testkit::processes::rounds::is_soak;
use tenure_testkit::processes::{
    Fleet, Host, Leadership, Manner, Marked, Proxy, Timing, eventually,
};

tenure_testkit::tests!(
    a_stopped_supervisor_does_not_save_its_child,
    a_killed_supervisor_does_not_save_its_child,
    a_supervisor_killed_late_in_its_lease_does_not_save_its_child,
);

/// The machine may stand still for six seconds just when a lease ends.
const TIMING: Timing = Timing {
    lease: Duration::from_secs(21),
    grace: Duration::from_secs(7),
    kill_margin: Duration::from_secs(6),
};
/// In the soak: a guard has more to do than to wake up.
const SLACK: Duration = Duration::from_millis(500);
const X: Host = Host::runner(0);
const Y: Host = Host::runner(1);

struct Scene {
    cluster: Fleet<Nerio<Proxy>>,
    leader: Leadership,
    witness: Witness,
}

impl Scene {
    /// x leads with a family of processes, y waits, and the lease was renewed a moment ago.
    fn set() -> Self {
        let mut cluster = Fleet::start(crate::TENURE, Nerio::new(Proxy::start(7), TIMING));
        cluster.start_runner(X, Manner::Family);
        let first = cluster.await_any();
        cluster.start_runner(Y, Manner::Polite);
        eventually("all of CMD runs", || (cluster.workers().len() == 4).then_some(()));
        // Right after a renewal, so that the next one is far away and what CMD has read of its
        // lease is what the guard knows.
        let until = first.until;
        eventually("a renewal", || (cluster.judged().current()?.until > until).then_some(()));
        sleep(Duration::from_millis(50));
        let leader = cluster.judged().current().unwrap().clone();
        Self { cluster, leader, witness: Witness::begin() }
    }

    /// Strikes the supervisor, and reads the lease that CMD has since then.
    fn strike(&mut self, how: impl FnOnce(&mut Fleet<Nerio<Proxy>>)) {
        how(&mut self.cluster);
        let leader = self.cluster.await_leader(Fence::NONE, clock::now());
        assert_eq!(leader.fence, self.leader.fence, "the leadership goes on");
        self.leader = leader;
    }

    /// That nothing of CMD was left when its lease ended, and in the soak when the kill margin
    /// began. A machine that wakes up others late may wake up the guard late, which is what the
    /// margin is for.
    fn expect_end_in_time(&mut self) -> Leadership {
        let worker = |process: &Marked| {
            process.arguments().get(3).is_some_and(|manner| manner != Manner::Polite.word())
        };
        eventually("all of CMD is gone", || {
            self.cluster.workers().iter().all(|process| !worker(process)).then_some(())
        });
        let next = self.cluster.await_leader(self.leader.fence, clock::now());
        let judge = self.cluster.judged();
        let ended = judge.with_fence(self.leader.fence).unwrap().clone();
        assert_eq!(ended.until, self.leader.until, "the lease was not renewed any more");
        let margin = ended.until.before(TIMING.kill_margin);
        let lateness = self.witness.worst();
        let (last, bound) = (ended.last, margin.after(lateness * 2 + SLACK));
        assert!(
            last < bound || !is_soak(),
            "at work at {last}, the margin began at {margin}, {lateness:?} late"
        );
        assert!(last < ended.until);
        assert_eq!(next.id, Y.name());
        assert!(next.began > ended.until, "{} began before the lease ended", next.id);
        ended
    }
}

/// A thread that sleeps for a millisecond again and again, and sees how late it wakes up.
struct Witness {
    worst: Arc<Mutex<Duration>>,
}

impl Witness {
    const NAP: Duration = Duration::from_millis(1);

    fn begin() -> Self {
        let worst = Arc::default();
        let seen: Weak<Mutex<Duration>> = Arc::downgrade(&worst);
        thread::spawn(move || {
            while let Some(worst) = seen.upgrade() {
                let due = clock::now().after(Self::NAP);
                sleep(Self::NAP);
                let late = clock::now().since(due);
                let mut worst = worst.lock().unwrap();
                *worst = late.max(*worst);
            }
        });
        Self { worst }
    }

    /// The worst it saw so far.
    fn worst(&self) -> Duration {
        *self.worst.lock().unwrap()
    }
}

fn a_stopped_supervisor_does_not_save_its_child() {
    let mut scene = Scene::set();
    scene.strike(|cluster| cluster.freeze(X));
    let ended = scene.expect_end_in_time();
    // Children were still at work after SIGTERM: it was SIGKILL that ended them.
    assert!(ended.last > ended.until.before(TIMING.grace));
    scene.cluster.signal(X, Signal::CONT);
    scene.cluster.expect_no_panics();
}

fn a_killed_supervisor_does_not_save_its_child() {
    let mut scene = Scene::set();
    let killed = clock::now();
    scene.strike(|cluster| cluster.kill(X));
    let ended = scene.expect_end_in_time();
    assert!(ended.last.since(killed) > TIMING.grace / 2, "CMD has its grace");
}

fn a_supervisor_killed_late_in_its_lease_does_not_save_its_child() {
    let mut scene = Scene::set();
    scene.strike(|cluster| cluster.freeze(X));
    // SIGTERM is due in a moment; a whole grace later would be too late.
    let late = scene.leader.until.before(TIMING.grace + Duration::from_millis(100));
    eventually("late in the lease", || (clock::now() > late).then_some(()));
    scene.cluster.kill(X);
    scene.expect_end_in_time();
}
