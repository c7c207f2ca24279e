//! What a person does with a page, in Chromium without a window: sort, search, follow an edge, use
//! keys; and read it where JavaScript is off.

use serde_json::json;

use crate::browser::Browser;
use crate::harness::{Scratch, program, tool};

/// A page of the demo.
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

/// A page of a program that was watched and measured, so that it has all there is.
fn measured_page(scratch: &Scratch, source: &str) -> std::path::PathBuf {
    let page = scratch.path().join("measured.html");
    let out = tool()
        .args(["run", "--exit-code", "0", "-o", "/dev/null", "--html"])
        .arg(&page)
        .arg("--")
        .arg(program(source))
        .output()
        .expect("lockwright run");
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

/// Whatever is wider than a telephone scrolls by itself; the page does not.
#[test]
fn a_page_fits_a_narrow_window() {
    const WIDTH: u32 = 400;
    const WIDE: &str = "document.documentElement.scrollWidth";
    let scratch = Scratch::new();
    for page in [page(&scratch), measured_page(&scratch, "abba.c")] {
        let Some(mut browser) = Browser::open(&page, true) else { return };
        let size =
            json!({ "width": WIDTH, "height": 800, "deviceScaleFactor": 1, "mobile": false });
        browser.call("Emulation.setDeviceMetricsOverride", size);
        browser.becomes("innerWidth", &json!(WIDTH));
        browser.eval("document.querySelectorAll('details').forEach(each => { each.open = true; })");
        browser.becomes(&format!("{WIDE} <= {WIDTH}"), &json!(true));
        // The end of a source file's name is there, whatever its folder is called.
        let name = "[...document.querySelectorAll('.file')].filter(e => e.getClientRects().length)\
                    .every(e => e.getBoundingClientRect().right <= innerWidth && e.scrollWidth <= e.clientWidth)";
        browser.becomes("document.querySelectorAll('.file').length > 0", &json!(true));
        browser.becomes(name, &json!(true));
        // What is wider would be noticed.
        let wide = "document.querySelector('main').append(Object.assign(document.createElement('pre'), \
                    { textContent: 'x'.repeat(400) }))";
        browser.eval(&format!("{wide}, 0"));
        browser.becomes(&format!("{WIDE} > {WIDTH}"), &json!(true));
    }
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
