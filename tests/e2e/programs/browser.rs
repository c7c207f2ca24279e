//! A browser without a window, for what a person does with a page.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Scratch, installed};

/// Chromium, driven by the DevTools protocol over two pipes.
pub struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    session: String,
    number: u64,
    /// The requests that the page made, except for the page itself.
    pub requests: Vec<String>,
    _profile: Scratch,
}

impl Browser {
    /// Opens a page. `None` where Chromium is not installed.
    pub fn open(page: &Path, script: bool) -> Option<Self> {
        Self::visit(&format!("file://{}", page.display()), script)
    }

    /// The same with an address.
    pub fn visit(url: &str, script: bool) -> Option<Self> {
        let chromium = installed(&["chromium"], "chromium")?;
        let profile = Scratch::new();
        let (theirs_in, to) = std::io::pipe().expect("a pipe");
        let (from, theirs_out) = std::io::pipe().expect("a pipe");
        let (theirs_in, theirs_out) = (OwnedFd::from(theirs_in), OwnedFd::from(theirs_out));
        let (read, write) = (theirs_in.as_raw_fd(), theirs_out.as_raw_fd());
        let mut command = Command::new(chromium);
        command
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .arg("--remote-debugging-pipe")
            .arg(format!("--user-data-dir={}", profile.path().join("profile").display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // SAFETY: only calls that are async-signal-safe. What the two descriptors become may be each
        // other's number, so they are moved out of the way first.
        unsafe {
            command.pre_exec(move || {
                let read = libc::fcntl(read, libc::F_DUPFD, 10);
                let write = libc::fcntl(write, libc::F_DUPFD, 10);
                if libc::dup2(read, 3) < 0 || libc::dup2(write, 4) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let child = command.spawn().expect("chromium");
        drop((theirs_in, theirs_out));
        let mut browser = Self {
            child,
            to: File::from(OwnedFd::from(to)),
            from: BufReader::new(File::from(OwnedFd::from(from))),
            session: String::new(),
            number: 0,
            requests: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let target = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", target);
        browser.session = attached["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page.enable", "Runtime.enable", "Network.enable", "Log.enable"] {
            browser.call(domain, json!({}));
        }
        let off = json!({ "value": !script });
        browser.call("Emulation.setScriptExecutionDisabled", off);
        browser.call("Page.navigate", json!({ "url": url }));
        browser.until("Page.loadEventFired");
        browser.requests.retain(|request| request != url);
        Some(browser)
    }

    /// Calls a method and waits for its answer.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let number = self.number;
        let mut message = json!({ "id": number, "method": method, "params": params });
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("chromium reads");
        loop {
            let answer = self.next();
            if answer["id"] == json!(number) {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    fn until(&mut self, event: &str) {
        while self.next()["method"] != json!(event) {}
    }

    fn next(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).expect("chromium answers");
        assert_eq!(bytes.pop(), Some(0), "chromium has ended");
        let message: Value = serde_json::from_slice(&bytes).expect("JSON");
        match message["method"].as_str() {
            Some("Network.requestWillBeSent") => {
                let url = message["params"]["request"]["url"].as_str().unwrap_or_default();
                self.requests.push(url.to_owned());
            }
            // Nobody closes it: the page would wait for ever, and so would a caller that asks it
            // something.
            Some("Page.javascriptDialogOpening") => {
                panic!("the page says: {}", message["params"]["message"]);
            }
            // What the policy forbids is logged.
            Some("Log.entryAdded") => {
                self.requests.push(message["params"]["entry"]["text"].to_string());
            }
            _ => {}
        }
        message
    }

    /// What an expression is, in the page.
    pub fn eval(&mut self, expression: &str) -> Value {
        let params =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is `expected`: what an input sets off may come after it.
    pub fn becomes(&mut self, expression: &str, expected: &Value) {
        let give_up = Instant::now() + Duration::from_secs(60);
        loop {
            let value = self.eval(expression);
            if value == *expected {
                return;
            }
            assert!(Instant::now() < give_up, "{expression}: {value}, not {expected}");
            self.eval("new Promise(done => setTimeout(() => done(0), 20))");
        }
    }

    /// Clicks with the mouse on the middle of what `selector` finds. On a line it clicks half-way
    /// along: the middle of a curve's bounding box may not be on the curve.
    pub fn click(&mut self, selector: &str) {
        let find = format!("const e = document.querySelector({selector:?});");
        let middle = "const middle = () => { \
             const r = e.getBoundingClientRect(); \
             if (e.localName !== 'path') return [r.x + r.width / 2, r.y + r.height / 2]; \
             const p = e.getPointAtLength(e.getTotalLength() / 2).matrixTransform(e.getScreenCTM()); \
             return [p.x, p.y]; };";
        self.eval(&format!(
            "(async () => {{ {find} e.scrollIntoView({{behavior: 'instant', block: 'center'}}); \
             const frame = () => new Promise(done => requestAnimationFrame(done)); \
             await frame(); await frame(); }})()"
        ));
        // Nothing lies over it, and it is where it will be.
        self.becomes(
            &format!("(() => {{ {find} {middle} const over = document.elementFromPoint(...middle()); return e.contains(over) || e instanceof SVGElement && e.parentElement.contains(over); }})()"),
            &json!(true),
        );
        let at = self.eval(&format!("(() => {{ {find} {middle} return middle(); }})()"));
        for kind in ["mousePressed", "mouseReleased"] {
            let params = json!({
                "type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1
            });
            self.call("Input.dispatchMouseEvent", params);
        }
    }

    /// Types a key, or a text letter by letter.
    pub fn press(&mut self, key: &str) {
        let text = match key {
            "Enter" => "\r",
            key if key.chars().count() == 1 => key,
            _ => "",
        };
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            _ => 0,
        };
        let down = json!({
            "type": "keyDown", "key": key, "text": text, "windowsVirtualKeyCode": code
        });
        self.call("Input.dispatchKeyEvent", down);
        let up = json!({ "type": "keyUp", "key": key, "windowsVirtualKeyCode": code });
        self.call("Input.dispatchKeyEvent", up);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
