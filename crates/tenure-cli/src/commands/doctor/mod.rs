//! `tenure doctor`: checks this machine and its settings, before and after the start, and gives
//! remedies. Each file has one check; `finding.rs` has the form of the results.

mod clock;
mod files;
mod finding;
mod listening;
mod names;
mod peers;
mod state;

use std::path::Path;

use serde_json::json;
use tenure_core::Drift;

use self::finding::{Finding, Grade};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::invocation::doctor::DoctorSettings;
use crate::output;
use crate::protocol::Transport;
use crate::settings::{Context, Origins};

pub(super) async fn run(settings: DoctorSettings, context: Context) -> Result<Exit, Failure> {
    let mut findings = files::check(&settings.files);
    findings.splice(0..0, of_settings(&settings, &findings, &context));
    findings.extend(settings.command.as_deref().map(command));
    findings.push(clock::check(settings.drift.unwrap_or(Drift::DEFAULT)).await);
    let peers = settings.peers.as_deref().unwrap_or_default();
    // Both may wait for name servers, so they run side by side.
    let (of_names, of_peers) = tokio::join!(
        names::check(peers, reached_directly(&settings)),
        of_peers(&settings, &context.origins),
    );
    findings.extend(of_names.into_iter().chain(of_peers));
    let text = if context.json { object(&findings) } else { lines(&findings) };
    output::print(&text)?;
    let fails = findings.iter().any(|finding| finding.grade == Grade::Fails);
    Ok(if fails { Exit::Wrong } else { Exit::Done })
}

/// Checks the state directory, the address of this process, and its peers.
async fn of_peers(settings: &DoctorSettings, origins: &Origins) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut runs = None;
    if let Some(path) = &settings.state {
        let (finding, user) = of_state(path, settings, origins).await;
        findings.push(finding);
        runs = user;
    }
    if let Some(backend) = settings.backend.as_ref().ok().or(settings.asks.as_ref()) {
        let asked = peers::ask(settings, &**backend, runs, origins).await;
        findings.extend(listening::check(&**backend, asked.answers_itself, runs));
        findings.extend(asked.findings);
    } else {
        let subject = if settings.protocol.can.members { "members" } else { "service" };
        findings.push(Finding::warning(subject, "not asked", "mend the settings first"));
    }
    findings
}

/// The name of this member, if other members send datagrams to its address in the list. A member
/// that speaks HTTP may have a proxy at this address instead.
fn reached_directly(settings: &DoctorSettings) -> Option<&str> {
    let (_, transport) = settings.backend.as_ref().ok()?.binds()?;
    let own = settings.own.as_ref().filter(|_| transport == Transport::Udp)?;
    Some(own.as_str())
}

/// Checks the state directory. Also returns the process that uses the directory as this member.
async fn of_state(
    path: &Path,
    settings: &DoctorSettings,
    origins: &Origins,
) -> (Finding, Option<u32>) {
    let finding = state::check(path, lease(settings)).await;
    // Read nothing more from a disk that may hang.
    if finding.grade == Grade::Fails {
        return (finding, None);
    }
    let backend = settings.backend.as_ref();
    match backend.map_or(Ok(()), |backend| backend.check_owner(path, origins)) {
        Ok(()) => (finding, tenure::state::locked_by(path)),
        Err(failure) => (Finding::of_failure("state", &failure), None),
    }
}

fn lease(settings: &DoctorSettings) -> Option<std::time::Duration> {
    settings.backend.as_ref().ok()?.lease()
}

/// Checks the settings themselves. Leaves out a fault of a file that already has a finding.
fn of_settings(settings: &DoctorSettings, files: &[Finding], context: &Context) -> Vec<Finding> {
    let name = settings.protocol.shown();
    let mut findings = Vec::new();
    match &settings.backend {
        Ok(_) => {
            let given = context.origins.count_given();
            let text = format!("protocol {name}, {given} given; --show-settings prints all");
            findings.push(Finding::ok("settings", text));
        }
        Err(failure) => {
            let known = settings.files.iter().any(|file| {
                failure.what.contains(&file.path.display().to_string())
                    && files.iter().any(|it| it.check == file.setting && it.grade == Grade::Fails)
            });
            if !known {
                let mut finding = Finding::of_failure("settings", failure);
                if settings.asks.is_some()
                    && settings.own.is_none()
                    && let Some(fix) = &mut finding.fix
                {
                    fix.push_str("; a process that only asks, as a monitor does, needs no change");
                }
                findings.push(finding);
            }
        }
    }
    let warned = settings.warnings.iter().filter(|text| {
        !settings.files.iter().any(|file| text.contains(&file.path.display().to_string()))
    });
    findings.extend(warned.map(|text| Finding::told("settings", text)));
    findings
}

fn command(name: &std::ffi::OsStr) -> Finding {
    match tenure_supervise::resolve(name) {
        Ok(path) => Finding::ok("command", format!("CMD is {}", path.display())),
        Err(error) => {
            let (_, fix) = crate::exit::exit_of_start(&error);
            Finding::fails("command", error.to_string(), fix)
        }
    }
}

fn lines(findings: &[Finding]) -> String {
    findings.iter().map(|finding| format!("{finding}\n")).collect()
}

fn object(findings: &[Finding]) -> String {
    let all: Vec<_> = findings.iter().map(Finding::object).collect();
    let ok = findings.iter().all(|finding| finding.grade != Grade::Fails);
    let told = json!({"version": env!("CARGO_PKG_VERSION"), "ok": ok, "checks": all});
    format!("{told}\n")
}
