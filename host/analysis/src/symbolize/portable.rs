//! Names of functions without what the compiler put into them: what a reader recognises, and what
//! is the same in the next build, by this compiler or another.

/// A function's name for people: lambdas and closures without numbers and parameters, the functions
/// round them without theirs, no ABI tags and no marks of clones. Template arguments stay.
pub fn readable(name: &str) -> String {
    let name = name.find(" [clone ").map_or(name, |at| &name[..at]);
    // Shims stand for the closure that they call.
    let name = name.strip_suffix("{{vtable.shim}}").unwrap_or(name);
    let name = name.strip_suffix("{shim:vtable#0}").unwrap_or(name).trim_end_matches("::");
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        if let Some((after, shown)) = unnamed(rest, &out) {
            out += shown;
            rest = if shown == LAMBDA { without_call(after) } else { after };
        } else if let Some(after) = rest.strip_prefix("[abi:").and_then(|tag| tag.split_once(']')) {
            rest = after.1;
        } else if let Some(after) = parameters_of_scope(rest, &out) {
            rest = after;
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    // Where DWARF has a lambda's code and no linkage name, this is all of the name.
    if out == "operator()" { LAMBDA.to_owned() } else { out }
}

/// The name that a function has in every build: [`readable`], and without template arguments, which
/// compilers write in many ways and Rust's older mangling leaves out.
pub fn portable(name: &str) -> String {
    without_arguments(&readable(name))
}

/// What stands for any function without a name.
const LAMBDA: &str = "{lambda}";

/// What is left after a function or type without a name at the begin of `rest`, and what is shown
/// for it. `before` is what stands before.
fn unnamed<'n>(rest: &'n str, before: &str) -> Option<(&'n str, &'static str)> {
    // GCC's, what demanglers make of clang's where it has linkage, and GCC's in debug information.
    for (start, shown) in
        [("{lambda(", LAMBDA), ("{unnamed type", "{unnamed}"), ("<lambda(", LAMBDA)]
    {
        if rest.starts_with(start) {
            let close = if start.starts_with('<') { '>' } else { '}' };
            let after = &rest[balanced(rest, start.chars().next()?, close)?..];
            return Some((after, shown));
        }
    }
    if let Some(after) = rest.strip_prefix("'lambda") {
        let (_, after) = after.split_once("'(").or_else(|| after.split_once('\''))?;
        return Some((after.strip_prefix(')').unwrap_or(after), LAMBDA));
    }
    if let Some(after) = rest.strip_prefix("{{closure}}") {
        return Some((after, "{closure}"));
    }
    if let Some((_, after)) = rest.strip_prefix("{closure#").and_then(|after| after.split_once('}'))
    {
        return Some((after, "{closure}"));
    }
    // clang's in a function that no other file sees: `work::$_0`.
    let after = rest.strip_prefix("$_").filter(|_| before.is_empty() || before.ends_with("::"))?;
    Some((after.trim_start_matches(|c: char| c.is_ascii_digit()), LAMBDA))
}

/// What follows the call of a lambda, which goes without saying: `::operator()<int>() const`.
fn without_call(after: &str) -> &str {
    let Some(mut rest) = after.strip_prefix("::operator()") else { return after };
    if rest.starts_with('<')
        && let Some(end) = balanced(rest, '<', '>')
    {
        rest = &rest[end..];
    }
    if rest.starts_with('(')
        && let Some(end) = balanced(rest, '(', ')')
    {
        rest = &rest[end..];
    }
    rest.strip_prefix(" const").unwrap_or(rest)
}

/// What is left after the parameters at the begin of `rest` if they are a scope's: `f(int)::g`.
fn parameters_of_scope<'n>(rest: &'n str, before: &str) -> Option<&'n str> {
    if !rest.starts_with('(') || before.is_empty() || before.ends_with("::") {
        return None;
    }
    if before.ends_with("operator") {
        return None;
    }
    let after = &rest[balanced(rest, '(', ')')?..];
    let after = after.strip_prefix(" const").unwrap_or(after);
    after.starts_with("::").then_some(after)
}

/// Length of what stands between `open`, with which `text` begins, and the `close` that ends it,
/// both included.
fn balanced(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0usize;
    let mut before = ' ';
    for (i, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close && !(c == '>' && before == '-') {
            depth -= 1;
            if depth == 0 {
                return Some(i + c.len_utf8());
            }
        }
        before = c;
    }
    None
}

/// Cuts arguments of templates and generics. Rust's `<Type as Trait>` stays, `<Type>::f` becomes
/// `Type::f`, and the signs of operators are none.
fn without_arguments(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    if rest.starts_with('<')
        && let Some(end) = balanced(rest, '<', '>')
    {
        let inner = without_arguments(&rest[1..end - 1]);
        out = if inner.contains(" as ") { format!("<{inner}>") } else { inner };
        rest = &rest[end..];
    }
    while let Some(c) = rest.chars().next() {
        if c == '<'
            && !is_operator(&out)
            && let Some(end) = balanced(rest, '<', '>')
        {
            rest = &rest[end..];
            // `f::<u32>` of Rust's newer mangling
            if out.ends_with("::") {
                out.truncate(out.len() - 2);
            }
            continue;
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    // `operator<< <char>`
    out.truncate(out.trim_end().len());
    out
}

/// What stands before a sign is the rest of an operator's name.
fn is_operator(before: &str) -> bool {
    let name = before.trim_end_matches(['<', '>', '=', '-']);
    name.ends_with("operator") && before.len() - name.len() < 3
}

#[cfg(test)]
mod tests {
    use super::super::demangle::demangle;
    use super::*;

    #[test]
    fn names_of_gcc_clang_and_rustc() {
        for (raw, people, every_build) in [
            ("main", "main", "main"),
            ("_ZZ4mainENKUlvE_clEv", "main::{lambda}", "main::{lambda}"),
            ("_ZZ4mainENKUliE1_clEi", "main::{lambda}", "main::{lambda}"),
            ("_ZZ4mainENK3$_0clEv", "main::{lambda}", "main::{lambda}"),
            (
                "_ZZN12_GLOBAL__N_14workERSt5mutexENKUlvE_clEv",
                "(anonymous namespace)::work::{lambda}",
                "(anonymous namespace)::work::{lambda}",
            ),
            (
                "_ZZN4bank8in_turnsIPFvvES2_EEvT_T0_ENKUlvE0_clEv",
                "bank::in_turns<void (*)(), void (*)()>::{lambda}",
                "bank::in_turns::{lambda}",
            ),
            ("_ZN5CacheIiSaIiEE3getEv", "Cache<int, std::allocator<int> >::get", "Cache::get"),
            ("_ZN4bank4nameB5cxx11Ev", "bank::name", "bank::name"),
            (
                "_ZN3app6worker28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
                "app::worker::{closure}",
                "app::worker::{closure}",
            ),
            (
                "_RNCNvCs4fqI2P2rA04_7mycrate3foo0B3_",
                "mycrate::foo::{closure}",
                "mycrate::foo::{closure}",
            ),
            ("_RINvCs4fqI2P2rA04_7mycrate3foomEB2_", "mycrate::foo::<u32>", "mycrate::foo"),
        ] {
            let name = demangle(raw);
            assert_eq!(readable(&name), people, "{raw}: {name}");
            assert_eq!(portable(&name), every_build, "{raw}: {name}");
        }
    }

    #[test]
    fn lambdas_of_debug_information() {
        assert_eq!(readable("main::{lambda()}::operator()"), "main::{lambda}");
        let argument = "std::__invoke<main()::<lambda(int)> >";
        assert_eq!(readable(argument), "std::__invoke<main::{lambda} >");
        assert_eq!(portable(argument), "std::__invoke");
    }

    #[test]
    fn what_is_part_of_a_name_stays() {
        for (name, every_build) in [
            ("operator<<", "operator<<"),
            ("std::operator<< <char>", "std::operator<<"),
            ("Set::operator<=>", "Set::operator<=>"),
            ("Ptr<int>::operator->", "Ptr::operator->"),
            ("Task::operator()", "Task::operator()"),
            ("operator()", "{lambda}"),
            ("(anonymous namespace)::f", "(anonymous namespace)::f"),
            (
                "<app::Job<T> as core::ops::drop::Drop>::drop",
                "<app::Job as core::ops::drop::Drop>::drop",
            ),
            ("<app::Job<fn() -> u32>>::run", "app::Job::run"),
            ("f(int, char*) [clone .isra.0]", "f(int, char*)"),
            ("a < b", "a < b"),
            ("", ""),
            ("{lambda(", "{lambda("),
            ("f<(", "f<("),
        ] {
            assert_eq!(portable(name), every_build);
        }
    }

    #[test]
    fn what_is_portable_stays_as_it_is() {
        for name in ["main::{lambda}", "app::f::{closure}", "<app::Job as Drop>::drop", "operator<"]
        {
            assert_eq!(portable(name), name);
        }
    }
}
