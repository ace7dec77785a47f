//! The page of `tenure run --http` in Chromium, while the test kills leaders.
//!
//! `cargo xtask soak` runs it: a browser takes 300 MB.
#![expect(clippy::unwrap_used, reason = "a test says what went wrong by panicking")]

#[path = "page/browser.rs"]
mod browser;

use std::net::SocketAddr;

use browser::Browser;
use serde_json::Value;
use tenure_testkit::processes::{Cluster, addresses, eventually};

const NAMES: [&str; 3] = ["a", "b", "c"];

/// A value that would run as a script if the page took it for a part of itself.
const VALUE: &str = "<img src=x onerror=document.title='broken'>";

/// The row of the election in the table.
const ROW: &str = "document.querySelector('#rows tr')";
const STATE: &str = "document.querySelector('#rows .state').textContent";
/// The leader in the row, and nothing while no leader is shown.
const LEADER: &str = "document.querySelector('#rows td:nth-child(3) .outside').textContent";
/// The rest of the lease in the row, in seconds; null while no lease is shown.
const LEFT: &str = "parseFloat(document.querySelector('#rows td:nth-child(5)').textContent)";
/// The share of the lease that is left, as the bar shows it; below zero after its end.
const SHARE: &str =
    "parseFloat(document.querySelector('#rows .bar i')?.style.transform.slice('scaleX('.length))";
const LOST: &str = "document.body.classList.contains('lost')";
const SAID: &str = "document.getElementById('said').textContent";

/// Three processes that are members and candidates, with a page each.
struct Stage {
    cluster: Cluster,
    pages: [SocketAddr; 3],
}

impl Stage {
    fn start() -> Self {
        let settings = "election = \"jobs/1\"\nlease = \"4s\"\nround-trip = \"100ms\"";
        let cluster = Cluster::new(env!("CARGO_BIN_EXE_tenure"), NAMES, settings);
        let mut stage = Self { cluster, pages: addresses() };
        for nth in 0..3 {
            stage.spawn(nth, &["--new"]);
        }
        stage
    }

    fn spawn(&mut self, nth: usize, more: &[&str]) {
        let (name, page) = (NAMES[nth], self.pages[nth].to_string());
        let state = format!("state-{name}");
        let own = ["run", "--name", name, "--state", &state, "--value", VALUE, "--http", &page];
        let work = ["--", "sleep", "600"];
        let command = self.cluster.command(&[&own, more, &work].concat());
        self.cluster.spawn(name, command);
    }

    /// The place in [`NAMES`] of the leader, once there is one.
    fn leader(&self) -> usize {
        eventually("somebody leads", || {
            let told = self.cluster.leader(&[])?;
            NAMES.iter().position(|name| told["id"] == **name)
        })
    }

    fn page(&self, nth: usize) -> String {
        format!("http://{}/", self.pages[nth])
    }
}

#[test]
fn page_follows_leaders_to_their_ends() {
    let mut stage = Stage::start();
    let first = stage.leader();
    let watching = (first + 1) % 3;
    let mut browser = Browser::start();
    browser.open(&stage.page(watching), 1_280);
    shows_leader(&mut browser, NAMES[first]);
    shows_values_as_text(&mut browser);
    fits_narrow_windows(&mut browser);
    opens_by_keyboard(&mut browser, NAMES[first]);

    // Once the lease has come to its end, the page shows no leader until there is another one.
    stage.cluster.kill(NAMES[first]);
    follows_the_end(&mut browser, NAMES[first]);
    let second = stage.leader();
    assert_ne!(first, second);
    shows_leader(&mut browser, NAMES[second]);
    let history = format!(
        "[...document.querySelectorAll('#history li')].some(line => \
         line.textContent.includes('leader {}'))",
        NAMES[second]
    );
    browser.until("the history names the next leader", &history);
    let said = format!("{SAID}.includes('{} leads')", NAMES[second]);
    browser.until("a screen reader hears of the next leader", &said);
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);

    // A page that has lost its process shows the leader until the end of the lease, and no leader
    // afterwards.
    stage.cluster.kill(NAMES[watching]);
    browser.until("the page says that it is cut off", LOST);
    follows_the_end(&mut browser, NAMES[second]);
    browser.until("the page knows nothing any more", &format!("{STATE} === 'unknown'"));
    assert_eq!(browser.value(LEADER), "");
    stage.spawn(watching, &[]);
    browser.until("the page is back", &format!("!{LOST} && {STATE} === 'leader'"));
}

fn shows_leader(browser: &mut Browser, name: &str) {
    let shown = format!("{STATE} === 'leader' && {LEADER} === '{name}' && {LEFT} > 0");
    browser.until(&format!("the page shows {name} as leader"), &shown);
    browser.until("events come", "document.getElementById('link').textContent === 'live'");
}

fn shows_values_as_text(browser: &mut Browser) {
    let value = browser.value("document.querySelector('#rows .value.outside').textContent");
    assert_eq!(value, VALUE);
    assert_eq!(browser.value("document.images.length"), 0);
    let name = browser.value("document.querySelector('#rows button').textContent");
    assert_eq!(name, "jobs/1");
    assert_ne!(browser.value("document.title"), "broken");
}

fn fits_narrow_windows(browser: &mut Browser) {
    browser.width(400);
    browser
        .until("nothing is wider than the window", "document.documentElement.scrollWidth <= 400");
    browser.width(1_280);
}

fn opens_by_keyboard(browser: &mut Browser, leader: &str) {
    browser.value("document.querySelector('#rows button').focus()");
    browser.press("Enter");
    let opened = "document.activeElement.id === 'detail-title'";
    browser.until("the detail has the focus", opened);
    let history = format!("document.getElementById('history').textContent.includes('{leader}')");
    browser.until("the history names the leader", &history);
    browser.press("Escape");
    browser
        .until("the row has the focus again", &format!("{ROW}.contains(document.activeElement)"));
    browser.press("Enter");
    browser.until("the detail is open again", opened);
}

/// Looks at each state that the page shows until the leader is gone: as long as the page names the
/// leader, the rest of the lease is above zero.
fn follows_the_end(browser: &mut Browser, leader: &str) {
    let look = format!("[{STATE}, {LEADER}, {SHARE}]");
    eventually("the leader is gone from the page", || {
        let Value::Array(row) = browser.value(&look) else { return None };
        if row[0] != "leader" || row[1] != leader {
            return Some(());
        }
        assert!(row[2].as_f64().is_some_and(|share| share >= 0.0), "{row:?}");
        None
    });
}
