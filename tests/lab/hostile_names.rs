//! Words of the command line that would command a terminal or forge a line of a log. Errors quote them, and none comes
//! out raw.

use std::ffi::{OsStr, OsString};

use crate::plain_output::{hostile_word, tool_is_plain};

#[test]
fn errors_quote_what_the_user_typed_without_its_controls() {
    let hostile = hostile_word();
    let text = "w\u{1b}[2J\u{1b}[35;5m\n::error::forged\u{7f}\u{9b}31m\u{202e}";
    let word = hostile.as_os_str();
    let option = OsString::from(format!("--{text}"));
    let fails = |words: &[&OsStr]| assert_ne!(tool_is_plain(words), 0, "{words:?}");
    fails(&[word]);
    for command in ["bench", "torture", "sim"] {
        let command = OsStr::new(command);
        fails(&[command, &option]);
        fails(&[command, word]);
        fails(&[command, OsStr::new("--color"), OsStr::new(text)]);
    }
    for words in [
        ["bench", "locks", "--only", text],
        ["bench", "tables", "--plot", "/dev/null/\u{1b}[2J"],
        ["sim", "--lock", text, "--list=x"],
        ["sim", "--machine", text, "--seconds=0.001"],
        ["torture", text, "--seed", "1"],
        ["torture", "tas", "--seed", text],
    ] {
        fails(&words.map(OsStr::new));
    }
}
