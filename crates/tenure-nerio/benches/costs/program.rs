//! A program that measures a protocol, part by part.

use std::process::ExitCode;

use tokio::runtime::Builder;

/// Any error ends the run, without a result.
pub(crate) type Result<T> = std::result::Result<T, Error>;
pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

/// Measures the parts that the arguments name.
pub(crate) fn run(measure: impl FnOnce(&[String]) -> Result<()>) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` starts this program, too, without this flag.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    match measure(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The application's thread.
pub(crate) fn block_on(measure: impl Future<Output = Result<()>>) -> Result<()> {
    Builder::new_current_thread().enable_all().build()?.block_on(measure)
}
