//! A supervisor: does over the control socket what it is told, and tells what it sees.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use tenure::supervise::{Plan, SuperviseError, Supervised, resolve};
use tenure_core::{Fence, Time};
use tokio::sync::mpsc;

pub(crate) const ROLE: &str = "__actor";

/// The command never has this variable.
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
        withheld: vec![WITHHELD.into()],
        until_file: folder.join("until"),
        grace,
        kill_margin,
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
    let mut supervised = Supervised::start(plan, until).await?;
    writeln!(control, "started {} {}", supervised.pid().unwrap(), supervised.guard()).unwrap();
    let outcome = loop {
        tokio::select! {
            outcome = supervised.wait() => break outcome,
            Some(order) = heard.recv() => match order.split_once(' ') {
                Some(("extend", until)) => {
                    let until = Time::from_nanos(until.parse().unwrap());
                    match supervised.extend(until) {
                        Ok(()) => writeln!(control, "ok").unwrap(),
                        Err(error) => writeln!(control, "{error}").unwrap(),
                    }
                }
                Some(("flood", until)) => {
                    let until = Time::from_nanos(until.parse().unwrap());
                    let said = (0..100_000).find_map(|_| supervised.extend(until).err());
                    writeln!(control, "{}", said.unwrap()).unwrap();
                }
                _ => supervised.stop(),
            },
        }
    };
    assert_eq!(supervised.wait().await, outcome, "the answer stays");
    Ok(format!("outcome {} {outcome}", outcome.exit_code()))
}
