//! A run of all measurements, or of some.

use std::io;

use crate::target::{self, Targets};

/// Measures a part and prints the result; with fewer rounds if the flag is set.
pub(crate) type Part<E> = fn(bool, &mut Targets) -> Result<(), E>;

/// Measures all parts, or the named ones; fewer rounds with `--quick`. A missed target is an error
/// in the end. `on` describes the machine.
pub(crate) fn measure<E: From<io::Error> + From<String>>(
    parts: &[(&'static str, Part<E>)],
    arguments: &[String],
    on: &str,
) -> Result<(), E> {
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let named: Vec<_> = arguments.iter().filter(|word| !word.starts_with("--")).collect();
    if let Some(unknown) = named.iter().find(|word| parts.iter().all(|(name, _)| name != *word)) {
        let names: Vec<_> = parts.iter().map(|(name, _)| *name).collect();
        let names = names.join(", ");
        return Err(format!("no part is called {unknown}; there are {names}").into());
    }
    let before = busy()?;
    println!(
        "Before this run {before} threads wanted a processor (load average of a minute).\n{on}"
    );
    let mut judged = Vec::new();
    for (name, part) in parts {
        if named.is_empty() || named.iter().any(|word| *word == name) {
            let mut targets = Targets::of(name);
            part(quick, &mut targets)?;
            judged.push(targets);
            println!();
        }
    }
    println!("After it {} did.", busy()?);
    Ok(target::conclude(judged)?)
}

fn busy() -> io::Result<String> {
    let busy = std::fs::read_to_string("/proc/loadavg")?;
    Ok(busy.split_whitespace().next().unwrap_or_default().to_owned())
}
