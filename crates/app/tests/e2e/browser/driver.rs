//! Headless Chromium, driven over its debugging pipe.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use testkit::tool;

/// Far longer than any reply takes on a busy machine.
const LIMIT: Duration = Duration::from_mins(5);

/// The browser of this machine, if it has one.
pub(super) fn chromium() -> Option<PathBuf> {
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(|name| tool(name).ok())
}

/// Options of every start. Without a sandbox, which root cannot have, and without its background network requests.
pub(super) const OPTIONS: [&str; 8] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--force-prefers-reduced-motion",
];

/// One tab.
pub(super) struct Browser {
    child: Child,
    commands: ChildStdin,
    answers: Receiver<Value>,
    session: Value,
    last_id: u64,
    /// Errors reported by the page since it was opened.
    pub(super) complaints: Vec<String>,
}

impl Browser {
    pub(super) fn start(program: &Path, profile: &Path) -> Self {
        // It reads commands from descriptor 3 and writes to 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>&2", "sh"])
            .arg(program)
            .args(OPTIONS)
            .arg(format!("--user-data-dir={}", profile.display()))
            .args(["--remote-debugging-pipe", "about:blank"])
            .env("HOME", profile)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("the browser starts");
        let commands = child.stdin.take().expect("a pipe");
        let output = child.stdout.take().expect("a pipe");
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(output).split(0) {
                let message = message.expect("the browser writes");
                if sender.send(serde_json::from_slice(&message).expect("it is JSON")).is_err() {
                    break;
                }
            }
        });
        let mut browser = Self { child, commands, answers, session: Value::Null, last_id: 0, complaints: Vec::new() };
        let target = browser.ask("Target.createTarget", &json!({"url": "about:blank"}));
        let attached = browser.ask("Target.attachToTarget", &json!({"targetId": target["targetId"], "flatten": true}));
        browser.session = attached["sessionId"].clone();
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            browser.ask(domain, &json!({}));
        }
        browser
    }

    /// Sends a command of the `DevTools` protocol and waits for its result.
    pub(super) fn ask(&mut self, method: &str, parameters: &Value) -> Value {
        self.last_id += 1;
        let mut command = json!({"id": self.last_id, "method": method, "params": parameters});
        if !self.session.is_null() {
            command["sessionId"] = self.session.clone();
        }
        self.commands.write_all(format!("{command}\0").as_bytes()).expect("the browser reads");
        loop {
            let answer = self.next();
            if answer["id"] == self.last_id {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    fn next(&mut self) -> Value {
        let message = self.answers.recv_timeout(LIMIT).expect("the browser answers");
        if message["method"] == "Runtime.exceptionThrown" || message["method"] == "Log.entryAdded" {
            self.complaints.push(message["params"].to_string());
        }
        message
    }

    /// Opens a page at a width and in a theme, and waits until it is drawn.
    pub(super) fn open(&mut self, page: &Path, width: u32, theme: &str) {
        self.show(width, theme);
        self.ask("Page.navigate", &json!({"url": format!("file://{}", page.display())}));
        while self.next()["method"] != "Page.loadEventFired" {}
    }

    fn show(&mut self, width: u32, theme: &str) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.ask("Emulation.setDeviceMetricsOverride", &size);
        let feature = json!([{"name": "prefers-color-scheme", "value": theme}]);
        self.ask("Emulation.setEmulatedMedia", &json!({"media": "screen", "features": feature}));
    }

    /// Changes the width or theme of the open page, and waits until it is redrawn.
    pub(super) fn redraw(&mut self, width: u32, theme: &str) {
        self.show(width, theme);
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))");
    }

    /// The value of an expression, or of a resolved promise.
    pub(super) fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let found = self.ask("Runtime.evaluate", &parameters);
        assert!(found["exceptionDetails"].is_null(), "{expression}: {}", found["exceptionDetails"]);
        found["result"]["value"].clone()
    }

    pub(super) fn text(&mut self, expression: &str) -> String {
        let value = self.value(expression);
        value.as_str().unwrap_or_else(|| panic!("{expression} is {value}, no text")).to_owned()
    }

    pub(super) fn number(&mut self, expression: &str) -> f64 {
        let value = self.value(expression);
        value.as_f64().unwrap_or_else(|| panic!("{expression} is {value}, no number"))
    }

    /// A mouse event: `mousePressed`, `mouseMoved`, `mouseReleased`.
    pub(super) fn mouse(&mut self, kind: &str, (x, y): (f64, f64)) {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        let buttons = u32::from(kind != "mouseReleased");
        let event = json!({"type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1});
        self.ask("Input.dispatchMouseEvent", &event);
    }

    /// Presses and releases a key: `ArrowRight`, `+`.
    pub(super) fn key(&mut self, key: &str) {
        self.key_event("keyDown", key);
        self.key_event("keyUp", key);
    }

    /// A key event: `keyDown`, `keyUp`. A key that is held down repeats the first.
    pub(super) fn key_event(&mut self, kind: &str, key: &str) {
        let code = if key == "Tab" { 9 } else { 0 };
        self.ask("Input.dispatchKeyEvent", &json!({"type": kind, "key": key, "windowsVirtualKeyCode": code}));
    }

    /// Clicks the first element that a selector finds.
    pub(super) fn click(&mut self, selector: &str) {
        let at = format!(
            "(() => {{ const e = document.querySelector({selector:?}); e.scrollIntoView({{block: 'center'}}); \
             const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }})()"
        );
        let at = self.value(&at);
        let at = (at[0].as_f64().expect("a place"), at[1].as_f64().expect("a place"));
        self.mouse("mousePressed", at);
        self.mouse("mouseReleased", at);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its children end with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
