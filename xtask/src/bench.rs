//! `cargo xtask bench`: what elections cost, beside what nothing can do without.

use clap::{Args, ValueEnum};

use crate::command::Cmd;
use crate::error::Error;
use crate::workspace::Workspace;

/// One thing that is measured. The order of the variants is the order of the run.
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

#[derive(Args)]
pub(crate) struct Selection {
    /// Fewer rounds: a minute instead of two and a half.
    #[arg(long)]
    quick: bool,
    /// Measure these only.
    #[arg(long, value_name = "PART", value_delimiter = ',', num_args = 1..)]
    only: Vec<Part>,
}

/// Prints measurements and whether targets are met. Succeeds whatever they are: machines differ.
pub(crate) fn run(workspace: &Workspace, selection: &Selection) -> Result<(), Error> {
    commands(selection).iter().try_for_each(|command| command.run(workspace))
}

/// One program for memory, because counting it slows down the rest, and one for the rest.
fn commands(selection: &Selection) -> Vec<Cmd> {
    let chosen = |part: &Part| selection.only.is_empty() || selection.only.contains(part);
    let (memory, costs): (Vec<_>, Vec<_>) =
        Part::value_variants().iter().copied().filter(chosen).partition(|p| *p == Part::Memory);
    let bench = |name: &str| Cmd::cargo(&format!("bench --quiet --package tenure --bench {name}"));
    let mut commands = Vec::new();
    if !costs.is_empty() {
        let named = costs.iter().filter_map(Part::to_possible_value);
        let quick = selection.quick.then_some("--quick".to_owned());
        let arguments = named.map(|value| value.get_name().to_owned()).chain(quick);
        commands.push(arguments.fold(bench("costs").arg("--"), Cmd::arg));
    }
    if !memory.is_empty() {
        commands.push(bench("memory"));
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(quick: bool, only: &[Part]) -> Vec<String> {
        let selection = Selection { quick, only: only.to_vec() };
        commands(&selection).iter().map(ToString::to_string).collect()
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
}
