//! The name of a lock in the line of source that takes it: `from->lock` in
//! `pthread_mutex_lock(&from->lock);`. Only calls that are known, and expressions that are nothing
//! but a way to a variable: where there is any doubt, nothing is said.

/// The C library's functions that take or initialise the lock of their first argument.
const FUNCTIONS: &[&str] = &[
    "pthread_barrier_init",
    "pthread_cond_init",
    "pthread_mutex_init",
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_mutex_timedlock",
    "pthread_rwlock_init",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "pthread_spin_init",
    "pthread_spin_lock",
    "sem_init",
    "mtx_init",
    "mtx_lock",
];

/// C++'s guards, whose constructors take the lock of their first argument.
const GUARDS: &[&str] = &["lock_guard", "unique_lock", "shared_lock", "scoped_lock"];

/// Methods without arguments that take their own lock.
const METHODS: &[&str] =
    &["lock()", "lock_shared()", "native_handle()", "read()", "write()", "acquire()"];

/// The lock that `line` takes, as it stands there; `None` also where it takes several.
pub fn in_line(line: &str) -> Option<&str> {
    let mut found = all_in_line(line);
    let (one, another) = (found.next()?, found.next());
    // A call that is not understood may be the one that is meant.
    if another.is_some() { None } else { one }
}

/// How many calls `line` has that take or initialise a lock, as far as they are known.
pub fn calls_in_line(line: &str) -> usize {
    all_in_line(line).count()
}

/// The locks of all known calls; `None` for those that are not understood.
fn all_in_line(line: &str) -> impl Iterator<Item = Option<&str>> {
    let code = line.split("//").next().unwrap_or_default();
    let calls = FUNCTIONS.iter().flat_map(|name| arguments(code, name, false));
    let guards = GUARDS.iter().flat_map(|name| arguments(code, name, true));
    let methods = METHODS.iter().flat_map(|name| owners(code, name));
    calls.chain(guards).chain(methods).chain(with(code))
}

/// What `line` calls the object whose `method` it calls without arguments; `None` also where it calls
/// that of several.
pub fn owner_in_line<'l>(line: &'l str, method: &str) -> Option<&'l str> {
    let code = line.split("//").next().unwrap_or_default();
    let call = format!("{method}()");
    let mut found = owners(code, &call);
    let (one, another) = (found.next()?, found.next());
    if another.is_some() { None } else { one }
}

/// How many calls of such a method `line` has that [`calls_in_line`] does not count.
pub fn own_calls_in_line(line: &str, method: &str) -> usize {
    let code = line.split("//").next().unwrap_or_default();
    let call = format!("{method}()");
    if METHODS.contains(&call.as_str()) { 0 } else { owners(code, &call).count() }
}

/// How many variables of class `guard` a line makes.
pub fn guards_in_line(line: &str, guard: &str) -> usize {
    let code = line.split("//").next().unwrap_or_default();
    words(code, guard).filter(|at| after_variable(&code[at + guard.len()..]).is_some()).count()
}

/// What `line` makes a variable of class `guard` with, if that is all it is made with.
pub fn guarded_in_line<'l>(line: &'l str, guard: &str) -> Option<&'l str> {
    let code = line.split("//").next().unwrap_or_default();
    let mut found = words(code, guard).map(|at| {
        let rest = after_variable(&code[at + guard.len()..])?;
        let end = rest.find([',', ')', '}']).filter(|&end| !rest[end..].starts_with(','))?;
        let argument = rest[..end].trim();
        way(argument.strip_prefix('&').unwrap_or(argument))
    });
    let (one, another) = (found.next()?, found.next());
    if another.is_some() { None } else { one }
}

/// Whether nothing but the call that `expression` is a part of can take a lock in `line`: there is no
/// other call, which could be a macro's. The line may be all of the function with the name `within`.
pub fn is_alone(line: &str, expression: &str, within: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let Some(at) = (expression.as_ptr() as usize).checked_sub(code.as_ptr() as usize) else {
        return false;
    };
    let (Some(before), Some(after)) = (code.get(..at), code.get(at + expression.len()..)) else {
        return false;
    };
    let before = before.trim_end_matches([' ', '&']);
    // A constructor's members are initialised before what it does.
    let initialises = before.split_once('{').filter(|(head, _)| {
        let is_constructor = head
            .rsplit_once(") :")
            .filter(|(head, _)| !within.is_empty() && words(head, within).next().is_some());
        // With what was called there may be a macro again.
        is_constructor.is_some_and(|(_, members)| {
            members.split(')').all(|member| member.matches('(').count() <= 1)
        })
    });
    // What else a function has before its body is not executed there: attributes, by macros, too.
    let begins = before.split_once('{').filter(|(head, _)| is_head(head, within));
    let before = initialises.or(begins).map_or(before, |(_, body)| body);
    let before = before.strip_suffix(['(', '{']).unwrap_or(before);
    let is_call = |text: &str, open: usize| {
        let text = text[..open].trim_end();
        let name = text.len() - text.trim_end_matches(|c| in_word(c) || c == '!').len();
        let (scope, name) = text.split_at(text.len() - name);
        let is_method = scope.ends_with('.') || scope.ends_with("->");
        !name.is_empty() && !is_method && name != within && !KEYWORDS.contains(&name)
    };
    [before, after].iter().all(|text| !text.match_indices('(').any(|(open, _)| is_call(text, open)))
}

/// Whether `head` declares the function `name`, without members that a constructor initialises.
fn is_head(head: &str, name: &str) -> bool {
    let found = if name.is_empty() { None } else { words(head, name).next() };
    found.is_some_and(|at| {
        let begin = head[..at].trim_start();
        let attribute =
            begin.strip_prefix("__attribute__((").and_then(|rest| rest.split_once("))"));
        let begin = attribute.map_or(begin, |(_, rest)| rest);
        head[at + name.len()..].starts_with('(')
            && !begin.contains(['(', ')', '=', ';', '.', '>'])
            && !head[at..].contains(';')
            && !head[at..].contains(") :")
    })
}

/// What may stand before a bracket and is no call.
const KEYWORDS: &[&str] =
    &["if", "while", "for", "switch", "return", "match", "__attribute__", "noexcept"];

/// The first argument of each call of `name`, or, for a guard, of each variable of that type;
/// `None` for those that are not understood.
pub(super) fn arguments<'c>(
    code: &'c str,
    name: &'static str,
    is_guard: bool,
) -> impl Iterator<Item = Option<&'c str>> {
    words(code, name).map(move |at| {
        let rest = &code[at + name.len()..];
        let rest = if is_guard { after_variable(rest)? } else { rest.strip_prefix('(')? };
        let end = rest.find([',', ')', '}'])?;
        let argument = rest[..end].trim();
        let is_alone = !rest[end..].starts_with(',');
        match is_guard {
            // Several locks at once are none of them.
            true if name == "scoped_lock" && !is_alone => None,
            true => way(argument),
            // Without the sign it is a pointer to an unknown object.
            false => way(argument.strip_prefix('&')?),
        }
    })
}

/// What follows the bracket of `<std::mutex> guard(` or ` guard{`.
fn after_variable(rest: &str) -> Option<&str> {
    let rest = match rest.strip_prefix('<') {
        Some(arguments) => &arguments[arguments.find('>')? + 1..],
        None => rest,
    };
    let rest = rest.trim_start();
    let variable = rest.len() - rest.trim_start_matches(in_word).len();
    rest[variable..].strip_prefix(['(', '{'])
}

/// What stands before each `.method()` or `->method()`.
fn owners<'c>(code: &'c str, method: &str) -> impl Iterator<Item = Option<&'c str>> {
    let calls = words(code, method).filter(|&at| {
        let is_method = [".", "->"].iter().any(|sign| code[..at].ends_with(sign));
        is_method || !is_definition(&code[at + method.len()..])
    });
    calls.map(|at| owner(code, at))
}

/// What stands before each `.method(` or `->method(`, whatever its arguments are.
pub(super) fn owners_of_any<'c>(
    code: &'c str,
    method: &'static str,
) -> impl Iterator<Item = Option<&'c str>> {
    let is_call = move |at: &usize| {
        let is_method = [".", "->"].iter().any(|sign| code[..*at].ends_with(sign));
        is_method && code[at + method.len()..].starts_with('(')
    };
    words(code, method).filter(is_call).map(|at| owner(code, at))
}

/// Whether a function whose head ends before `rest` is defined there.
fn is_definition(rest: &str) -> bool {
    const MAY_FOLLOW: &[&str] = &["const", "noexcept", "override", "final"];
    let head = rest.find('{').map(|body| &rest[..body]);
    head.is_some_and(|head| head.split_whitespace().all(|word| MAY_FOLLOW.contains(&word)))
}

/// What stands before the method that begins at `at`.
fn owner(code: &str, at: usize) -> Option<&str> {
    let owner = code[..at].strip_suffix('.').or_else(|| code[..at].strip_suffix("->"))?;
    let is_in_way =
        |c: char| in_word(c) || matches!(c, '.' | '-' | '>' | ':' | '[' | ']' | ')' | '(');
    let start = owner.rfind(|c| !is_in_way(c)).map_or(0, |before| before + 1);
    way(&owner[start..])
}

/// What a statement of Python enters: `with self.lock:`.
fn with(code: &str) -> Option<Option<&str>> {
    let entered = code.trim().strip_prefix("with ")?;
    Some(entered.split_once(':').and_then(|(entered, _)| way(entered.trim())))
}

/// Where `word` stands in `code`, and is no part of a longer one.
fn words(code: &str, word: &str) -> impl Iterator<Item = usize> {
    code.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let after = code[at + word.len()..].chars().next();
        !code[..at].ends_with(in_word) && !after.is_some_and(in_word)
    })
}

/// `text` if it is names, members and elements of simple indices, and nothing else.
fn way(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        let name = rest.len() - rest.trim_start_matches(in_word).len();
        if name == 0 || rest.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        rest = &rest[name..];
        while let Some(index) = rest.strip_prefix('[') {
            let end = index.find(']')?;
            if end == 0 || !index[..end].chars().all(in_word) {
                return None;
            }
            rest = &index[end + 1..];
        }
        if rest.is_empty() {
            return Some(text);
        }
        rest = ["->", "::", "."].into_iter().find_map(|sign| rest.strip_prefix(sign))?;
    }
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::{guarded_in_line, in_line, is_alone, own_calls_in_line, owner_in_line};

    #[test]
    fn what_is_plain_is_quoted() {
        for (line, expression) in [
            ("\tpthread_mutex_lock(&from->lock);", "from->lock"),
            ("\tif (pthread_mutex_trylock(&pool.slots[i].lock) != 0)", "pool.slots[i].lock"),
            ("pthread_mutex_init(&object->lock, NULL);", "object->lock"),
            ("std::lock_guard<std::mutex> g(accounts[i].lock);", "accounts[i].lock"),
            ("std::unique_lock guard{mutex_, std::defer_lock};", "mutex_"),
            ("std::scoped_lock both(a); // and b.lock()", "a"),
            ("    this->mutex_.lock();", "this->mutex_"),
            ("let state = self.state.lock();", "self.state"),
            ("bank::Vault::all.lock();", "bank::Vault::all"),
            ("self.ledger.write().unwrap().push((shelf, amount));", "self.ledger"),
            ("        with self.accounts:", "self.accounts"),
            ("    self._lock.acquire()", "self._lock"),
            ("void lock() const noexcept { inner_.lock(); }", "inner_"),
            ("if let Ok(state) = self.state.lock() {", "self.state"),
        ] {
            assert_eq!(in_line(line), Some(expression), "{line}");
        }
    }

    #[test]
    fn another_call_may_be_a_macro() {
        for (line, is_it) in [
            ("\tpthread_mutex_lock(&from->lock);", true),
            ("\tif (pthread_mutex_trylock(&from->lock) != 0)", true),
            ("std::lock_guard<std::mutex> g(accounts[i].lock);", true),
            ("self.ledger.write().unwrap().push((shelf, amount));", true),
            ("void Lock() const noexcept { pthread_mutex_lock(&mu_); }", true),
            ("HIDDEN(a) pthread_mutex_lock(&from->lock);", false),
            ("pthread_mutex_lock(&from->lock); HIDDEN(a)", false),
            ("pthread_mutex_lock(&from->lock); work(a);", false),
            ("assert!(is_free()); self.state.lock();", false),
        ] {
            assert_eq!(is_alone(line, in_line(line).unwrap(), "Lock"), is_it, "{line}");
        }
    }

    #[test]
    fn members_of_a_constructor_are_no_calls() {
        for (line, is_it) in [
            ("explicit Guard(Mutex *m) : m_(m) { m_->Lock(); }", true),
            ("explicit Guard(Mutex *m) : m_(m), n_(HIDDEN(m)) { m_->Lock(); }", false),
            ("explicit Guard(Mutex *m) : m_(m) { HIDDEN(m); m_->Lock(); }", false),
            ("explicit Other(Mutex *m) : m_(m) { m_->Lock(); }", false),
        ] {
            let owner = owner_in_line(line, "Lock").unwrap();
            assert_eq!(is_alone(line, owner, "Guard"), is_it, "{line}");
        }
    }

    #[test]
    fn attributes_of_a_function_are_no_calls() {
        for (line, is_it) in [
            ("  void Lock() EXCLUSIVE_LOCK_FUNCTION() { mu_.lock(); }", true),
            ("__attribute__((noinline)) void Lock() ACQUIRE() { mu_.lock(); }", true),
            ("inline void Lock() const ACQUIRE(this) { mu_.lock(); }", true),
            ("  void Lock() EXCLUSIVE_LOCK_FUNCTION() { HIDDEN(mu_); mu_.lock(); }", false),
            ("  void Other() EXCLUSIVE_LOCK_FUNCTION() { mu_.lock(); }", false),
            ("  if (Lock() && HIDDEN()) { mu_.lock(); }", false),
            ("  x = Lock() + HIDDEN(); { mu_.lock(); }", false),
            ("  Lock(); HIDDEN(); { mu_.lock(); }", false),
            ("  Lock(int n) : n_(HIDDEN(n)) { mu_.lock(); }", false),
        ] {
            assert_eq!(is_alone(line, in_line(line).unwrap(), "Lock"), is_it, "{line}");
        }
    }

    #[test]
    fn guards_of_the_programs_own() {
        for line in
            ["Guard g(&db->mutex_);", "Guard g{db->mutex_};", "Guard<Mutex> g( db->mutex_ );"]
        {
            assert_eq!(guarded_in_line(line, "Guard"), Some("db->mutex_"), "{line}");
        }
        for line in [
            "Guard g(&a, &b);",
            "Guard g(*a);",
            "Guard g(lock_of(a));",
            "Guard g(a); Guard h(b);",
            "explicit Guard(Mutex *m) : m_(m) { m_->Lock(); }",
            "OtherGuard g(a);",
        ] {
            assert_eq!(guarded_in_line(line, "Guard"), None, "{line}");
        }
        assert_eq!(own_calls_in_line("a.enter(); b->enter();", "enter"), 2);
        assert_eq!(own_calls_in_line("void enter() { lock(); }", "enter"), 0);
    }

    #[test]
    fn methods_of_the_programs_own_locks() {
        assert_eq!(owner_in_line("\ttable.Lock();", "Lock"), Some("table"));
        assert_eq!(owner_in_line("db->mutex_.Lock();", "Lock"), Some("db->mutex_"));
        for line in ["Lock();", "a.Lock(); b.Lock();", "a.Unlock();", "f().Lock();", "a.Lock(1);"] {
            assert_eq!(owner_in_line(line, "Lock"), None, "{line}");
        }
    }

    #[test]
    fn what_is_in_doubt_is_not() {
        for line in [
            "",
            "lock(first);",
            "pthread_mutex_lock(lock);",
            "pthread_mutex_lock(&table(key)->lock);",
            "pthread_mutex_lock(&slots[i + 1].lock);",
            "pthread_mutex_lock(&a); pthread_mutex_lock(&b);",
            "pthread_mutex_lock(&a); b->lock();",
            "pthread_mutex_lock(",
            "my_pthread_mutex_lock(&a);",
            "with a, b:",
            "with open(path) as file:",
            "with lock_of(account):",
            "std::scoped_lock both(a, b);",
            "std::lock_guard<std::mutex> g(*m);",
            "pool().lock();",
            "lock();",
            "// a.lock();",
            "1.lock();",
        ] {
            assert_eq!(in_line(line), None, "{line}");
        }
    }
}
