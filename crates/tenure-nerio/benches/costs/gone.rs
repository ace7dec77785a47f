//! Supervised release: kill -9 of a leader that a grantor on its machine watches.

use std::thread::{self, sleep};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tenure::{Time, clock};

use crate::common::Result;
use crate::common::cluster::{Cluster, Settings};
use crate::common::process::Process;
use crate::floor::Floor;
use crate::latency::{IDLE_WAITING, REFRESH, runtime};
use crate::node;
use crate::sample::Samples;
use crate::target::Targets;

/// No lease ends during a round.
const LEASE: Duration = Duration::from_secs(60);
/// Longest wait until a process that was just started is watched.
const PATIENCE: Duration = Duration::from_secs(10);

/// Measures from the end of the leader's process until the campaign of a waiting candidate
/// resolves. The benchmark sees the end by a pidfd of its own, not by the grantor's.
pub(crate) fn measure(quick: bool, targets: &mut Targets) -> Result<()> {
    let rounds = if quick { 20 } else { 100 };
    let runtime = runtime()?;
    let floor = Floor::start()?;
    let settings = Settings { lease: LEASE, refresh: REFRESH, ..Settings::new()? };
    let mut cluster = Cluster::start(settings)?;
    let directory = tempfile::tempdir()?;
    let socket = directory.path().join("watch").display().to_string();
    cluster.grantors[0].ask(&format!("supervise {socket}"))?;
    let supervisor = format!("a={socket}");
    let election = node(&cluster, "next")?.election("service-00000")?;
    let mut bare = Samples::new();
    let mut gone = Samples::new();
    for round in 0..=rounds {
        let mut leader = cluster.process(&["watched", &format!("leader-{round}"), &supervisor])?;
        leader.ask("hold 1")?;
        until_watched(&mut leader)?;
        let (leadership, took) = runtime.block_on(async {
            let mut waiting = Box::pin(election.campaign("10.0.0.8:8080"));
            tokio::select! {
                _ = &mut waiting => return Err("two leaders at once".into()),
                () = tokio::time::sleep(IDLE_WAITING) => {}
            }
            let seen = end_of(&leader)?;
            leader.child.kill()?;
            let leadership = waiting.await?;
            let won = clock::now();
            let seen = seen.join().map_err(|_| "the watching thread failed")??;
            Ok::<_, Box<dyn std::error::Error>>((leadership, won.since(seen)))
        })?;
        runtime.block_on(async {
            leadership.settled().await?;
            leadership.resign().await;
            Ok::<_, tenure::Loss>(())
        })?;
        sleep(IDLE_WAITING);
        let took_bare = woken_and_asked(&runtime, &floor, leader)?;
        if round > 0 {
            bare.push_span(took_bare);
            gone.push_span(took);
        }
    }
    println!("supervised release: kill -9 of a watched leader, {rounds} rounds, lease {LEASE:?}");
    bare.print("floor: a thread's wake-up, exchange with 2 of 3");
    gone.print("end seen to the end of campaign().await");
    targets.at_most("median", gone.median() / 1e6, 2.0, " ms");
    Ok(())
}

fn until_watched(leader: &mut Process) -> Result<()> {
    let give_up = clock::now().after(PATIENCE);
    while leader.ask("watched")? != "true" {
        if clock::now() > give_up {
            return Err("a leader is not watched".into());
        }
        sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Begins to wait for the end of a process, by a pidfd, on a thread.
fn end_of(process: &Process) -> Result<thread::JoinHandle<std::io::Result<Time>>> {
    let pid = Pid::from_raw(i32::try_from(process.child.id())?).ok_or("no number of a process")?;
    let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
    Ok(thread::spawn(move || {
        poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], None)?;
        Ok(clock::now())
    }))
}

/// The time of an exchange, and of the wake-up of a thread that waits for a pidfd. The watched
/// process has ended before, so that the pidfd is readable at once.
fn woken_and_asked(
    runtime: &tokio::runtime::Runtime,
    floor: &Floor,
    ended: Process,
) -> Result<Duration> {
    let began = clock::now();
    end_of(&ended)?.join().map_err(|_| "the watching thread failed")??;
    runtime.block_on(floor.exchange())?;
    Ok(clock::now().since(began))
}
