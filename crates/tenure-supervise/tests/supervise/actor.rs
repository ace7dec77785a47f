//! A supervisor that obeys orders over the control socket, and reports its events.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use tenure::clock;
use tenure_core::{Fence, Time};
use tenure_supervise::{Plan, SuperviseError, Supervised, reap_orphans, resolve};
use tokio::sync::mpsc;

pub(crate) const ROLE: &str = "__actor";

const RENEWAL: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(600);

/// Pause between two looks for the guard.
const LOOK: Duration = Duration::from_millis(1);

/// A variable that the command never has.
pub(crate) const WITHHELD: &str = "TENURE_TEST_SECRET";

/// `folder until grace kill_margin fence command…`, times in nanoseconds, fence 0 for none.
pub(crate) fn main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let folder = PathBuf::from(args.next().unwrap());
    let mut number = || args.next().unwrap().to_str().unwrap().parse::<u64>().unwrap();
    let until = Time::from_nanos(number());
    let grace = Duration::from_nanos(number());
    let kill_margin = Duration::from_nanos(number());
    let fence = Some(Fence::new(number())).filter(|fence| *fence != Fence::NONE);
    let name = args.next().unwrap();

    let mut control = UnixStream::connect(folder.join("control")).unwrap();
    let (orders, heard) = mpsc::unbounded_channel();
    let reader = BufReader::new(control.try_clone().unwrap());
    std::thread::spawn(move || {
        for line in reader.lines().map_while(Result::ok) {
            orders.send(line).ok();
        }
    });
    let plan = resolve(&name).map(|program| Plan {
        program,
        name,
        args: args.collect(),
        election: "db/primary".parse().unwrap(),
        id: "node-1".parse().unwrap(),
        fence,
        role: None,
        output: None,
        withheld: vec![WITHHELD.into()],
        until_file: folder.join("until"),
        grace,
        kill_margin,
        last_word: None,
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let said = match plan.and_then(|plan| runtime.block_on(play(&plan, until, &control, heard))) {
        Ok(said) => said,
        Err(error) => format!("error {} {error}", error.exit_code()),
    };
    writeln!(control, "{said}").unwrap();
    ExitCode::SUCCESS
}

async fn play(
    plan: &Plan,
    until: Time,
    mut control: &UnixStream,
    mut heard: mpsc::UnboundedReceiver<String>,
) -> Result<String, SuperviseError> {
    let mut supervised = Supervised::start(plan, until)?;
    loop {
        tokio::select! {
            started = supervised.started() => break started?,
            Some(order) = heard.recv() => obey(&order, &mut supervised, control),
        }
    }
    let pid = supervised.pid().unwrap();
    // The guard may report that the command runs before the thread that spawned it has sent its id.
    let guard = loop {
        match supervised.guard() {
            Some(guard) => break guard,
            None => drop(tokio::time::timeout(LOOK, supervised.wait()).await),
        }
    };
    writeln!(control, "started {pid} {guard}").unwrap();
    let mut renewal = tokio::time::interval(RENEWAL);
    let mut renews = false;
    let (outcome, gone) = loop {
        tokio::select! {
            outcome = supervised.wait() => break (outcome, clock::now()),
            _ = renewal.tick() => {
                if renews {
                    supervised.extend(clock::now().after(LONG)).ok();
                }
                // Reaping orphans must not take a command's exit status.
                reap_orphans().unwrap();
            }
            Some(order) = heard.recv() => match &*order {
                "renew" => renews = true,
                order => obey(order, &mut supervised, control),
            },
        }
    };
    assert_eq!(supervised.wait().await, outcome, "the answer stays");
    Ok(format!("outcome {} {} {outcome}", gone.as_nanos(), outcome.exit_code()))
}

/// Obeys an order other than `renew`. The order `look` reaps orphans, and `extend UNTIL` sets the
/// end of the lease. The order `flood TIMES BEFORE UNTIL` sets the end `TIMES` times: to `BEFORE`,
/// and in the last call to `UNTIL`. The order `stop` has no answer.
fn obey(order: &str, supervised: &mut Supervised, mut control: &UnixStream) {
    let words: Vec<&str> = order.split(' ').collect();
    let time = |word: &str| Time::from_nanos(word.parse().unwrap());
    let done = match words[..] {
        ["look"] => {
            assert!(reap_orphans().unwrap());
            Ok(())
        }
        ["extend", until] => supervised.extend(time(until)),
        ["flood", times, before, until] => {
            let times: u32 = times.parse().unwrap();
            (1..times)
                .try_for_each(|_| supervised.extend(time(before)))
                .and_then(|()| supervised.extend(time(until)))
        }
        _ => return supervised.stop(),
    };
    match done {
        Ok(()) => writeln!(control, "ok").unwrap(),
        Err(error) => writeln!(control, "{error}").unwrap(),
    }
}
