//! The page for people with only `curl`: runs its lines in order, and compares the answers.

use std::process::Command;

use tenure_testkit::processes::wait::{eventually, output};

use crate::network::{Network, end};

const PAGE: &str = include_str!("../../../../docs/reference/voter-http.md");

/// The commands of the page, each with parts of its answer.
fn commands() -> Vec<(String, Vec<String>)> {
    let mut commands: Vec<(String, Vec<String>)> = Vec::new();
    let mut inside = false;
    for line in PAGE.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            _ if !inside => {}
            line => match line.strip_prefix("# ") {
                Some(part) => commands.last_mut().unwrap().1.push(part.to_owned()),
                None => match commands.last_mut().filter(|(command, _)| command.ends_with('\\')) {
                    Some((command, _)) => {
                        command.pop();
                        command.push_str(line.trim_start());
                    }
                    None => commands.push((line.to_owned(), Vec::new())),
                },
            },
        }
    }
    commands
}

#[test]
fn curl_page_commands_work() {
    let network = Network::new();
    let voters = network.listed(3);
    network.await_leader(0, 0);
    let folder = network.machine.path("curl");
    std::fs::create_dir(&folder).unwrap();
    let commands = commands();
    assert!(commands.len() >= 6, "{commands:?}");
    for (command, parts) in commands {
        let line = command
            .replace("10.0.0.1:7001", &network.address(0))
            .replace("10.0.0.9:7001", &network.address(9));
        // The page does not say which voter leads, so give the leader's requests to each voter.
        eventually(&command, || {
            (0..3).find_map(|nth| {
                let line = line.replace(&network.address(0), &network.address(nth));
                let mut shell = Command::new("sh");
                shell.args(["-c", &line]).current_dir(&folder);
                let output = output(&mut shell);
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                parts.iter().all(|part| text.contains(part.as_str())).then_some(())
            })
        });
    }
    end(voters);
}
