//! Names of code that a program has made while it ran, as its perf map has them.

use lockwright_ledger::{GeneratedCode, Ledger};

use crate::finding::Frame;

/// What stands for the module of code that nothing more is known of.
const MODULE: &str = "[generated code]";

/// How names of Node.js' and V8's begin, before a letter that tells how well they were compiled.
const V8: &[&str] = &["JS:", "LazyCompile:", "Function:", "Script:", "Eval:"];

/// How names of CPython's begin.
const PYTHON: &str = "py::";

/// The frame of the call that returns to `address`, if that lies in such code.
pub fn frame(ledger: &Ledger, address: u64) -> Option<Frame> {
    let call = address.saturating_sub(1);
    let is_in =
        |code: &&GeneratedCode| (code.start..code.start.saturating_add(code.len)).contains(&call);
    // What was made later lies where the earlier was.
    let code = ledger.generated_code().iter().rev().find(is_in)?;
    let (function, file) = parts(&code.name);
    Some(Frame {
        function: Some(function.to_owned()),
        // The file that it was made of: where in it is not known, but where the function begins.
        module: Some(file.unwrap_or(MODULE).to_owned()),
        offset: address,
        function_offset: Some(address - code.start),
        ..Frame::default()
    })
}

/// The function and the source file of a name.
fn parts(name: &str) -> (&str, Option<&str>) {
    if let Some((function, file)) = name.strip_prefix(PYTHON).and_then(|name| name.split_once(':'))
    {
        return (function, Some(file));
    }
    let Some(rest) = V8.iter().find_map(|start| name.strip_prefix(start)) else {
        return (name, None);
    };
    let rest = rest.trim_start_matches(['~', '*', '^', '+', '=', '\'', '`']);
    let (function, place) = rest.split_once(' ').unwrap_or((rest, ""));
    let function = if function.is_empty() { "(anonymous)" } else { function };
    // `/app.js:12:3`
    let without = |place: &'_ str| {
        let (file, number) = place.rsplit_once(':')?;
        number.parse::<u32>().ok()?;
        Some(file.len())
    };
    let file = without(place).map(|len| &place[..len]);
    let file = file.and_then(without).map_or(file, |len| Some(&place[..len]));
    (function, file.or(Some(place)).filter(|file| !file.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart_as_who_wrote_them_means_them() {
        for (name, function, file) in [
            ("JS:~work /srv/app.js:12:3", "work", Some("/srv/app.js")),
            ("LazyCompile:*take a b.js:7:1", "take", Some("a b.js")),
            ("JS:^ /srv/app.js:1:1", "(anonymous)", Some("/srv/app.js")),
            (
                "JS:~compileFunction node:internal/vm:1:2",
                "compileFunction",
                Some("node:internal/vm"),
            ),
            ("py::transfer:/srv/app.py", "transfer", Some("/srv/app.py")),
            ("Lcom/example/Main;::run", "Lcom/example/Main;::run", None),
            ("stub", "stub", None),
        ] {
            assert_eq!(parts(name), (function, file), "{name}");
        }
    }
}
