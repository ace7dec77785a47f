//! `cargo xtask bench`: what elections cost, beside what nothing can do without.

use clap::{Args, Subcommand, ValueEnum};
use tenure_services::{etcd, protoc};

use crate::command::Cmd;
use crate::error::Error;
use crate::workspace::Workspace;

/// One thing of Nerio's that is measured. The order of the variants is the order of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Part {
    /// Winning an election that nobody else wants, beside a bare exchange over UDP.
    Campaign,
    /// Taking over from a leader who resigns, beside a bare exchange over UDP.
    Handover,
    /// Asking whether one leads, and creating an edict, beside a read of the clock.
    Question,
    /// Taking over after a machine is lost, beside the remaining lease.
    Loss,
    /// Processor time and datagrams with 1, 100 and 10,000 elections.
    Load,
    /// Memory of each election.
    Memory,
}

/// One thing that is measured on etcd. The order of the variants is the order of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum EtcdPart {
    /// Winning an election that nobody else wants.
    Campaign,
    /// Taking over from a leader who resigns, by one who came just before.
    Handover,
    /// Whom a departure wakes up, of 1,000 who wait.
    Waiters,
    /// Processor time of etcd for those who wait, in queues of 1,000 and of 5,000.
    Looks,
    /// What 1,000 and 5,000 candidates that wait in one election cost etcd: four minutes.
    Crowd,
    /// Processor time and keep-alives with 10,000 elections.
    Load,
}

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Selection {
    #[command(subcommand)]
    elsewhere: Option<Elsewhere>,
    #[command(flatten)]
    here: Chosen<Part>,
}

/// Where elections are that are not Nerio's.
#[derive(Subcommand)]
enum Elsewhere {
    /// On etcd, beside its own election service and beside the bare requests: twelve minutes.
    Etcd(Chosen<EtcdPart>),
}

#[derive(Args)]
struct Chosen<P: ValueEnum + Send + Sync + 'static> {
    /// Fewer rounds: a minute or so.
    #[arg(long)]
    quick: bool,
    /// Measure these only.
    #[arg(long, value_name = "PART", value_delimiter = ',', num_args = 1..)]
    only: Vec<P>,
}

/// Prints measurements and whether targets are met. One that is not is an error, after everything
/// was measured.
pub(crate) fn run(workspace: &Workspace, selection: &Selection) -> Result<(), Error> {
    let commands = match &selection.elsewhere {
        None => nerio(&selection.here),
        Some(Elsewhere::Etcd(chosen)) => {
            protoc::ensure()?;
            etcd::install(etcd::Version::Newest)?;
            vec![on_etcd(chosen)]
        }
    };
    all(workspace, &commands)
}

/// Runs all of them, whatever becomes of those before; the first error.
fn all(workspace: &Workspace, commands: &[Cmd]) -> Result<(), Error> {
    let done: Vec<_> = commands.iter().map(|command| command.run(workspace)).collect();
    done.into_iter().collect()
}

/// One program for memory, because counting it slows down the rest, and one for the rest.
fn nerio(chosen: &Chosen<Part>) -> Vec<Cmd> {
    let (memory, costs): (Vec<_>, Vec<_>) = chosen.parts().partition(|part| *part == Part::Memory);
    let mut commands = Vec::new();
    if !costs.is_empty() {
        commands.push(bench("tenure", "costs", costs, chosen.quick));
    }
    if !memory.is_empty() {
        commands.push(Cmd::cargo("bench --quiet --package tenure --bench memory"));
    }
    commands
}

fn on_etcd(chosen: &Chosen<EtcdPart>) -> Cmd {
    bench("tenure-etcd", "costs", chosen.parts(), chosen.quick)
}

impl<P: ValueEnum + PartialEq + Copy + Send + Sync + 'static> Chosen<P> {
    fn parts(&self) -> impl Iterator<Item = P> {
        let all = P::value_variants().iter().copied();
        all.filter(|part| self.only.is_empty() || self.only.contains(part))
    }
}

fn bench<P: ValueEnum>(
    package: &str,
    name: &str,
    parts: impl IntoIterator<Item = P>,
    quick: bool,
) -> Cmd {
    let command = Cmd::cargo(&format!("bench --quiet --package {package} --bench {name}"));
    let parts = parts.into_iter().filter_map(|part| part.to_possible_value());
    let quick = quick.then_some("--quick".to_owned());
    let arguments = parts.map(|value| value.get_name().to_owned()).chain(quick);
    arguments.fold(command.arg("--"), Cmd::arg)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(quick: bool, only: &[Part]) -> Vec<String> {
        let chosen = Chosen { quick, only: only.to_vec() };
        nerio(&chosen).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn everything_unless_parts_are_named() {
        let bench = "cargo bench --quiet --package tenure --bench";
        let costs = format!("{bench} costs -- campaign handover question loss load");
        let memory = format!("{bench} memory");
        assert_eq!(said(false, &[]), [costs, memory.clone()]);
        assert_eq!(said(true, &[Part::Loss]), [format!("{bench} costs -- loss --quick")]);
        assert_eq!(said(true, &[Part::Memory]), [memory]);
    }

    #[test]
    fn a_target_that_is_not_met_is_told_after_all_was_measured() {
        let folder = tempfile::tempdir().unwrap();
        let measured = folder.path().join("measured");
        let [missed, next] = [Cmd::new("false", ""), Cmd::new("touch", "")];
        let commands = [missed, next.arg(measured.to_str().unwrap())];
        let error = all(&Workspace::find(), &commands).unwrap_err();
        assert!(matches!(error, Error::Failed { command, .. } if command == "false"));
        assert!(measured.exists());
    }

    #[test]
    fn etcd_has_parts_of_its_own() {
        let bench = "cargo bench --quiet --package tenure-etcd --bench costs --";
        let all = Chosen { quick: true, only: vec![] };
        let said = on_etcd(&all).to_string();
        assert_eq!(said, format!("{bench} campaign handover waiters looks crowd load --quick"));
        let one = Chosen { quick: false, only: vec![EtcdPart::Load] };
        assert_eq!(on_etcd(&one).to_string(), format!("{bench} load"));
    }
}
