//! What a person does with a page, in Chromium without a window: sort, search, follow an edge, use
//! keys; and read it where JavaScript is off.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Scratch, installed, tool};

/// Chromium, driven by the DevTools protocol over two pipes.
struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    session: String,
    number: u64,
    /// Of requests that the page made, but for the page itself.
    requests: Vec<String>,
    _profile: Scratch,
}

impl Browser {
    /// Opens a page. `None` where Chromium is not installed.
    fn open(page: &Path, script: bool) -> Option<Self> {
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
        let url = format!("file://{}", page.display());
        browser.call("Page.navigate", json!({ "url": url }));
        browser.until("Page.loadEventFired");
        browser.requests.retain(|request| *request != url);
        Some(browser)
    }

    /// Calls a method and waits for its answer.
    fn call(&mut self, method: &str, params: Value) -> Value {
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
            // What the policy forbids is logged.
            Some("Log.entryAdded") => {
                self.requests.push(message["params"]["entry"]["text"].to_string());
            }
            _ => {}
        }
        message
    }

    /// What an expression is, in the page.
    fn eval(&mut self, expression: &str) -> Value {
        let params =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is `expected`: what an input sets off may come after it.
    fn becomes(&mut self, expression: &str, expected: &Value) {
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

    /// Clicks with the mouse on the middle of what `selector` finds.
    fn click(&mut self, selector: &str) {
        let at = self.eval(&format!(
            "(() => {{ const e = document.querySelector({selector:?}); e.scrollIntoView({{behavior: 'instant', \
             block: 'center'}}); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let params = json!({
                "type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1
            });
            self.call("Input.dispatchMouseEvent", params);
        }
    }

    /// Types a key, or a text letter by letter.
    fn press(&mut self, key: &str) {
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

/// A page of the demo, watched and measured, so that it has all there is.
fn page(scratch: &Scratch) -> std::path::PathBuf {
    let page = scratch.path().join("page.html");
    let out = tool()
        .args(["demo", "-o", "/dev/null", "--html"])
        .arg(&page)
        .output()
        .expect("lockwright demo");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    page
}

const NAMES: &str = "[...document.querySelectorAll('#locks tbody tr')]\
                     .filter(row => row.getClientRects().length).map(row => row.cells[0].textContent)";

#[test]
fn a_page_can_be_sorted_searched_and_followed() {
    let scratch = Scratch::new();
    let page = page(&scratch);
    let Some(mut browser) = Browser::open(&page, true) else { return };

    // Sort by name, and back.
    browser.click("#locks thead th:first-child button");
    browser.becomes(NAMES, &json!(["accounts_lock", "journal_lock"]));
    browser.click("#locks thead th:first-child button");
    browser.becomes(NAMES, &json!(["journal_lock", "accounts_lock"]));
    let sorted = "document.querySelector('#locks thead th').getAttribute('aria-sort')";
    browser.becomes(sorted, &json!("descending"));

    // Search with the keyboard, and clear it.
    browser.press("/");
    browser.becomes("document.activeElement.id", &json!("search"));
    for letter in "journal_lock".chars() {
        browser.press(&letter.to_string());
    }
    browser.becomes("document.getElementById('search').value", &json!("journal_lock"));
    browser.becomes(NAMES, &json!(["journal_lock"]));
    browser.becomes("/match/.test(document.getElementById('hits').textContent)", &json!(true));
    browser.press("Escape");
    browser.becomes("document.querySelectorAll('.none').length", &json!(0));

    // An edge of the drawing leads to its finding.
    browser.click("svg.graph a.edge.k-bad path.line");
    browser.becomes("location.hash", &json!("#f1"));
    browser.becomes("document.activeElement.id", &json!("f1"));

    // From item to item; Enter opens what is closed.
    browser.press("j");
    browser.becomes("document.querySelector('.current')?.id", &json!("f1"));
    let open = "document.querySelectorAll('#f1 details[open]').length";
    let all = browser.eval("document.querySelectorAll('#f1 details').length");
    assert_ne!(all, json!(0));
    assert_eq!(browser.eval(open), json!(0));
    browser.press("Enter");
    browser.becomes(open, &all);
    browser.press("j");
    let second =
        "document.querySelector('.current') && document.querySelector('.current').id !== 'f1'";
    browser.becomes(second, &json!(true));
    browser.press("k");
    browser.becomes("document.querySelector('.current').id", &json!("f1"));

    assert_eq!(browser.requests, Vec::<String>::new(), "it fetches nothing");
}

/// The policy is what keeps it from that: an image that somebody slips in is not fetched.
#[test]
fn the_policy_of_a_page_holds() {
    let scratch = Scratch::new();
    let page = page(&scratch);
    let text = std::fs::read_to_string(&page).expect("the page");
    let slipped =
        "<main><img src=\"https://127.0.0.1:9/x.png\"><script>document.title = 'run'</script>";
    std::fs::write(&page, text.replacen("<main>", slipped, 1)).expect("the page");
    let Some(mut browser) = Browser::open(&page, true) else { return };
    assert_ne!(browser.eval("document.title"), json!("run"));
    let refused = browser.requests.iter().filter(|told| told.contains("Content Security Policy"));
    assert_eq!(refused.count(), 2, "{:?}", browser.requests);
}

#[test]
fn a_page_is_whole_without_javascript() {
    let scratch = Scratch::new();
    let page = page(&scratch);
    let Some(mut browser) = Browser::open(&page, false) else { return };
    let answer = browser.call("DOM.getDocument", json!({ "depth": 0 }));
    let html = browser.call("DOM.getOuterHTML", json!({ "nodeId": answer["root"]["nodeId"] }));
    let html = html["outerHTML"].as_str().expect("markup").to_owned();
    for text in ["accounts_lock", "journal_append", "svg class=\"graph\"", "pthread_mutex_lock("] {
        assert!(html.contains(text), "{text}");
    }
    // What needs the script is not there to be clicked in vain.
    assert!(
        html.contains("class=\"tools\" hidden") && !html.contains("<button type=\"button\">lock")
    );
}
