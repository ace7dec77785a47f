//! Headless Chromium, driven over a pipe by its DevTools protocol.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;
use tenure_testkit::processes::{PATIENCE, eventually};

/// Chromium reads from descriptor 3 and writes to 4, which are this process's pipes.
const STARTED: &str = "exec \"$0\" --headless --no-sandbox --disable-gpu --no-first-run \
                       --remote-debugging-pipe --user-data-dir=\"$1\" about:blank \
                       3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null";

/// A browser with one page. Dropping it ends the browser.
pub(crate) struct Browser {
    child: Child,
    orders: ChildStdin,
    answers: Receiver<Value>,
    session: Option<String>,
    /// Errors and refusals that the page has logged.
    pub(crate) complaints: Vec<String>,
    last: u64,
    _profile: TempDir,
}

impl Browser {
    pub(crate) fn start() -> Self {
        let chromium = tenure_services::chromium().unwrap();
        let profile = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", STARTED]).arg(chromium).arg(profile.path());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (orders, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let answers = messages(answers);
        let (session, complaints) = (None, Vec::new());
        let mut browser =
            Self { child, orders, answers, session, complaints, last: 0, _profile: profile };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let target = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", &target);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for part in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{part}.enable"), &json!({}));
        }
        browser
    }

    /// Calls a method of the protocol, and returns its result.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let mut order = json!({"id": self.last, "method": method, "params": params});
        if let Some(session) = &self.session {
            order["sessionId"] = session.as_str().into();
        }
        self.orders.write_all(format!("{order}\0").as_bytes()).unwrap();
        loop {
            let answer = self.answers.recv_timeout(PATIENCE).unwrap();
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            let method = answer["method"].as_str();
            if matches!(method, Some("Runtime.exceptionThrown" | "Log.entryAdded")) {
                self.complaints.push(answer["params"].to_string());
            }
        }
    }

    /// Opens a page in a window of this width.
    pub(crate) fn open(&mut self, address: &str, width: u32) {
        self.width(width);
        self.call("Page.navigate", &json!({"url": address}));
    }

    pub(crate) fn width(&mut self, width: u32) {
        let size = json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", &size);
    }

    /// The value of an expression; null if it throws.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true});
        self.call("Runtime.evaluate", &asked)["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub(crate) fn until(&mut self, what: &str, expression: &str) {
        eventually(what, || (self.value(expression) == true).then_some(()));
    }

    /// Presses a key and releases it.
    pub(crate) fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" && key == "Enter" { "\r" } else { "" };
            let press = json!({"type": kind, "key": key, "code": key, "text": text});
            self.call("Input.dispatchKeyEvent", &press);
        }
    }
}

/// Messages of the browser, each of which ends with a zero byte, until it closes its pipe.
fn messages(mut from: impl Read + Send + 'static) -> Receiver<Value> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let (mut message, mut bytes) = (Vec::new(), [0; 65_536]);
        while let Ok(length @ 1..) = from.read(&mut bytes) {
            for part in bytes[..length].split_inclusive(|byte| *byte == 0) {
                message.extend_from_slice(part);
                if message.pop_if(|byte| *byte == 0).is_some() {
                    let parsed = serde_json::from_slice(&message).unwrap();
                    message.clear();
                    if sender.send(parsed).is_err() {
                        return;
                    }
                }
            }
        }
    });
    receiver
}

impl Drop for Browser {
    fn drop(&mut self) {
        // This order also ends the browser's other processes. The order cannot reach a browser that
        // has crashed.
        let _ = self.orders.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let _ = self.child.wait();
    }
}
