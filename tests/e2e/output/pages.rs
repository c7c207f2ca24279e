//! A user's actions on a page, in Chromium without a window: sort, search, follow an edge, use
//! keys; and read it where JavaScript is off.

use serde_json::json;

use crate::harness::{Scratch, program, tool};
use crate::programs::browser::Browser;

/// A page of the demo.
fn page(scratch: &Scratch) -> std::path::PathBuf {
    let page = scratch.path().join("page.html");
    let out = tool()
        .args(["demo", "-o", "/dev/null", "--html"])
        .arg(&page)
        .current_dir(scratch.path())
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

#[test]
fn flame_graphs_zoom() {
    let scratch = Scratch::new();
    // Two threads wait for different locks, each for at least 40 ms.
    let page = measured_page(&scratch, "meter_chain.c");
    let Some(mut browser) = Browser::open(&page, true) else { return };
    // The narrowest frame on top of the others, whichever that is: how wide it is, is up to time.
    browser.eval(
        "window.graph = document.querySelector('.flame'); \
         window.frames_ = [...graph.querySelectorAll('g')]; \
         window.number = (g, name) => parseFloat(g.querySelector('rect').getAttribute(name)); \
         window.places = () => frames_.map(g => [number(g, 'x'), number(g, 'width'), g.textContent]); \
         window.before = JSON.stringify(places()); \
         window.locks = frames_.filter(g => g.querySelector('title').textContent.startsWith('[')); \
         locks.sort((a, b) => number(a, 'width') - number(b, 'width')); \
         window.clicked = [number(locks[0], 'x'), number(locks[0], 'y')]; \
         locks[0].id = 'narrow'; graph.querySelector('.whole').id = 'whole'; 0",
    );
    const SAME: &str = "JSON.stringify(places()) === before && document.getElementById('whole').hidden \
                        && frames_.every(g => !g.matches('.none, .below'))";
    // It is as wide as the whole; what called it lies below it, and nothing else is shown.
    const ZOOMED: &str = "number(narrow, 'width') === 100 && number(narrow, 'x') === 0 \
                          && !document.getElementById('whole').hidden \
                          && frames_.every(g => g === narrow || (g.matches('.below') \
                             ? number(g, 'width') === 100 && number(g, 'y') > clicked[1] : g.matches('.none')))";
    assert_eq!(browser.eval(SAME), json!(true));
    assert!(browser.eval("locks.length").as_u64() > Some(1), "there is something to leave out");
    browser.click("#narrow rect");
    browser.becomes(ZOOMED, &json!(true));
    let told = "narrow.querySelector('title').textContent.startsWith(narrow.querySelector('text').textContent.replace('..', '')) \
                && narrow.querySelector('text').textContent.length > 2";
    browser.becomes(told, &json!(true));
    browser.click("#whole");
    browser.becomes(SAME, &json!(true));

    // By keys: the button has left the focus on the lowest frame.
    browser.press("ArrowUp");
    browser.becomes("document.activeElement.matches('.flame g')", &json!(true));
    browser.eval("narrow.focus()");
    browser.press("Enter");
    browser.becomes(ZOOMED, &json!(true));
    browser.press("Escape");
    browser.becomes(SAME, &json!(true));
    assert_eq!(browser.requests, Vec::<String>::new(), "it fetches nothing");
}

/// The waits of `timeline.c` are known: one after the other, for a lock that its first thread has.
#[test]
fn the_longest_waits_are_drawn_in_time_and_zoom() {
    let scratch = Scratch::new();
    let page = scratch.join("page.html");
    let out = tool()
        .args(["meter", "-o", "/dev/null", "--timeline", "/dev/null", "--html"])
        .arg(&page)
        .arg("--")
        .arg(program("timeline.c"))
        .output()
        .expect("lockwright meter");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let Some(mut browser) = Browser::open(&page, true) else { return };
    browser.eval(
        "window.figure = document.querySelector('figure.lanes'); \
         window.number = (g, name) => parseFloat(g.querySelector('rect').getAttribute(name)); \
         window.gs = [...figure.querySelectorAll('.plot g')]; \
         window.waits = gs.filter(g => g.matches('.wait')).sort((a, b) => a.dataset.from - b.dataset.from); \
         window.places = () => JSON.stringify(gs.map(g => [number(g, 'x'), number(g, 'width')])); \
         window.gate = waits.filter(g => g.querySelector('title').textContent.includes('`gate`')); \
         window.story = () => figure.querySelector('.story').textContent; \
         figure.querySelectorAll('button').forEach(b => { b.id = 'do-' + b.dataset.do; }); \
         gate[1].id = 'second'; window.chosen = () => figure.querySelector('.on'); 0",
    );
    // Each row of the table has its wait, each thread a lane, and threads that had the lock have their holds.
    browser.becomes(
        "waits.length === document.querySelectorAll('#worst-waits tbody tr').length && gate.length >= 12",
        &json!(true),
    );
    browser.becomes("figure.querySelectorAll('.name').length", &json!(2));
    browser.becomes("gs.filter(g => g.matches('.hold')).length >= 12", &json!(true));

    // Who waited, who had the lock, where.
    browser.click("#second rect");
    browser.becomes(
        "chosen() === second && story() === second.querySelector('title').textContent",
        &json!(true),
    );
    for words in
        ["waited", "for `gate`", "in worker (", "Held at first by", "in play (", "Let go last by"]
    {
        assert_eq!(
            browser.eval(&format!("story().includes({})", json!(words))),
            json!(true),
            "{words}"
        );
    }
    let marked = "gs.every(g => g.matches('.off') === (g.dataset.lock !== second.dataset.lock))";
    browser.becomes(marked, &json!(true));
    browser.becomes("figure.querySelector('.by').hasAttribute('hidden')", &json!(false));

    // By keys.
    browser.eval("window.before = places(), 0");
    let wider = |factor: &str| format!("number(second, 'width') > {factor} * wide");
    browser.eval("window.wide = number(second, 'width'), 0");
    browser.press("+");
    browser.becomes(&wider("1.9"), &json!(true));
    browser.press("-");
    browser.becomes("places() === before", &json!(true));
    browser.press("Enter");
    browser.becomes("Math.abs(number(second, 'width') - 200 / 3) < 2", &json!(true));
    browser.press("ArrowRight");
    browser.becomes(
        "chosen() === waits[waits.indexOf(second) + 1] && document.activeElement === chosen()",
        &json!(true),
    );
    browser.becomes("!chosen().matches('.none')", &json!(true));
    browser.press("ArrowLeft");
    browser.press("Escape");
    browser.becomes("chosen() === second && places() === before", &json!(true));

    // By buttons, the wheel and the mouse.
    browser.click("#do-in");
    browser.becomes(&wider("1.9"), &json!(true));
    browser.eval("window.first = places(), 0");
    browser.click("#do-right");
    browser.becomes("places() !== first", &json!(true));
    browser.click("#do-whole");
    browser.becomes("places() === before", &json!(true));
    let box_of = "(() => { const box = figure.querySelector('.back').getBoundingClientRect(); \
                  return [box.left + box.width / 2, box.top + box.height - 3]; })()";
    let at = browser.eval(box_of);
    let mouse = |kind: &str, by: f64, more: serde_json::Value| {
        let x = at[0].as_f64().unwrap() + by;
        let mut event =
            json!({ "type": kind, "x": x, "y": at[1], "button": "left", "clickCount": 1 });
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    let wheel = |delta: f64| json!({ "deltaX": 0, "deltaY": delta, "button": "none" });
    browser.call("Input.dispatchMouseEvent", mouse("mouseWheel", 0.0, wheel(-120.0)));
    browser.becomes(&wider("1.2"), &json!(true));
    browser.eval("window.first = places(), 0");
    browser.call("Input.dispatchMouseEvent", mouse("mousePressed", 0.0, json!({})));
    browser.call("Input.dispatchMouseEvent", mouse("mouseMoved", 60.0, json!({ "buttons": 1 })));
    browser.call("Input.dispatchMouseEvent", mouse("mouseReleased", 60.0, json!({})));
    browser.becomes("places() !== first", &json!(true));
    // What was dragged is not chosen.
    browser.becomes("chosen() === second", &json!(true));
    browser.eval("second.focus()");
    browser.press("0");
    browser.becomes("places() === before", &json!(true));
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
