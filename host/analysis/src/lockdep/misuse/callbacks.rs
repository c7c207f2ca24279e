//! Callbacks under a lock: a library calls a function of its user with a lock held that it takes
//! where its user calls it. If that function calls the library, its thread waits for itself.
//!
//! The stacks of all contexts show it. The module of the function that took a held lock is the
//! library. The stack of a lock acquired meanwhile has, further in, a function of another module:
//! the callback. Libraries call each other all the time with locks held, and the called ones know
//! nothing about their callers. So the module of the callback counts only if it called the library
//! in this run, and the call took this lock or another of its class. A module that the library
//! is linked against is used by it, and never called back.
//!
//! This needs no call back to have been made: one that was made is a deadlock. It is `likely` where
//! the callback was seen to make that call at a time when the lock was free, in the same thread or
//! in one created at the same place; else it is only counted, as the callback may be written in
//! knowledge of the lock. A callback is seen only if it takes some lock, or waits.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use lockwright_ledger::rows::{Node, Thread, lock_kind, mode, node_flag};

use crate::finding::action::Action;
use crate::finding::misuse::{CallbackWithLockHeld, Calls};
use crate::finding::{Details, Finding, Frame, Grade, Kind, Name, Step};
use crate::model::{Model, is_read, place_key};
use crate::symbolize::allocator::is_allocator;
use crate::symbolize::is_runtime;
use crate::symbolize::needed::Needed;
use crate::symbolize::wrapper::own_frames;
use crate::view::candidate::Candidate;
use crate::view::occurrence::Level;
use crate::view::process_view::{ProcessView, reference};

/// Held locks looked at for one context, the innermost.
const MOST_HELD: usize = 32;

/// Callbacks looked at in one process.
const MOST_CALLBACKS: usize = 4096;

/// The callbacks of one process.
pub(crate) fn find(view: &ProcessView<'_, '_>) -> Vec<Candidate> {
    let search = Search::new(view.model);
    let needed = Needed::default();
    let mut entries: HashMap<Side, Vec<Entry>> = HashMap::new();
    let mut found: BTreeMap<String, Found> = BTreeMap::new();
    for callback in search.callbacks() {
        let side = search.side(&callback);
        let entries = entries.entry(side).or_insert_with_key(|side| {
            let mut entries = search.entries(side);
            // Files are only read where it matters.
            entries.retain(|_| !needed.needs(&side.library, &side.user));
            entries
        });
        let verdicts =
            entries.iter().filter_map(|entry| Some((search.judge(&callback, entry)?, entry)));
        let Some((verdict, entry)) = verdicts.min_by_key(|(verdict, _)| *verdict) else { continue };
        let key = search.key(&callback);
        if found.get(&key).is_none_or(|known| verdict < known.verdict) {
            found.insert(key, Found { verdict, callback, entry: entry.clone() });
        }
    }
    found.into_iter().map(|(key, found)| candidate(view, key, &found)).collect()
}

/// A call out of a library with its lock held.
struct Callback {
    /// Node of the lock.
    held: u32,
    /// Node of what was acquired in the callback, or waited for.
    within: u32,
    /// The stack of that.
    stack: Rc<[Frame]>,
    /// The callback in it.
    at: usize,
    /// The module that took the lock.
    library: String,
}

impl Callback {
    fn frame(&self) -> &Frame {
        &self.stack[self.at]
    }

    /// The function by which the library was entered that calls back.
    fn entered(&self) -> &Frame {
        let call = self.call();
        let is_library = |frame: &&Frame| module(frame) == Some(&self.library);
        call.iter().take_while(is_library).last().unwrap_or(&call[0])
    }

    /// The stack from the library's call on.
    fn call(&self) -> &[Frame] {
        let is_library = |frame: &Frame| module(frame) == Some(&self.library);
        let from = (self.at + 1..self.stack.len()).find(|&at| is_library(&self.stack[at]));
        &self.stack[from.unwrap_or(self.at + 1)..]
    }
}

/// A library's lock, and the library's callers.
#[derive(PartialEq, Eq, Hash)]
struct Side {
    /// The lock's group.
    group: u32,
    /// It is held for reading.
    reads: bool,
    library: String,
    user: String,
}

/// An acquisition of the lock in a call of the library by the callback's module.
#[derive(Clone)]
struct Entry {
    /// Its node.
    node: u32,
    /// The stack.
    stack: Rc<[Frame]>,
    /// The first frame that is not of the library.
    caller: usize,
}

struct Found {
    verdict: Verdict,
    callback: Callback,
    entry: Entry,
}

/// What a callback and a call of the library say together, the most serious first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Verdict {
    calls: Calls,
    /// It may be another lock of the class.
    is_by_class: bool,
}

impl Verdict {
    fn grade(self) -> Grade {
        match (self.calls, self.is_by_class) {
            (Calls::Alike, false) => Grade::Likely,
            (Calls::Alike, true) => Grade::Possible,
            _ => Grade::Ordered,
        }
    }
}

/// What is looked for in one process.
struct Search<'m, 'a> {
    model: &'m Model<'a>,
    /// The program itself, which has no border of its own.
    program: String,
    /// By group: where its locks are taken.
    taken: HashMap<u32, Vec<u32>>,
}

impl<'m, 'a> Search<'m, 'a> {
    fn new(model: &'m Model<'a>) -> Self {
        let mut taken: HashMap<u32, Vec<u32>> = HashMap::new();
        for id in 1..model.trie.len() {
            if let Some(node) = model.trie.node(id).filter(|node| waits_for_lock(node)) {
                taken.entry(model.classes.group_of(node.class)).or_default().push(id);
            }
        }
        let program = model.ledger.text(model.ledger.header().exe);
        Self { model, program, taken }
    }

    /// All callbacks, one for each lock that is held and place.
    fn callbacks(&self) -> Vec<Callback> {
        let trie = &self.model.trie;
        let mut known: HashSet<(u32, u32, u32, u32)> = HashSet::new();
        let mut libraries =
            Libraries { search: self, stacks: HashMap::new(), places: HashMap::new() };
        let mut found = Vec::new();
        for id in 1..trie.len() {
            let Some(node) = trie.node(id).filter(|node| node.parent != 0) else { continue };
            // A signal's handler is called by nobody.
            let is_handler = node.flags & node_flag::IN_HANDLER != 0;
            if is_handler || node.mode & (mode::COND_REACQUIRE | mode::COND_SIGNAL) != 0 {
                continue;
            }
            if !libraries.are_on(node.stack) {
                continue;
            }
            // A condition wait gives up its mutex, which was taken last.
            let given_up = usize::from(node.mode & mode::COND_WAIT != 0);
            for (held, by) in trie.held(id).skip(given_up).take(MOST_HELD) {
                if !self.excludes_itself(by) || is_again(by, node) {
                    continue;
                }
                let group = self.model.classes.group_of(by.class);
                if known.insert((group, by.inst, by.stack, node.stack)) {
                    found.extend(self.callbacks_in(held, by, id, node));
                }
                if found.len() >= MOST_CALLBACKS {
                    return found;
                }
            }
        }
        found
    }

    /// A second acquisition by the holder waits for the first.
    fn excludes_itself(&self, held: &Node) -> bool {
        use lock_kind::{MUTEX, RWLOCK, RWLOCK_WRITER, SPIN};
        let kind = self.model.classes.kind(held.class);
        matches!(kind, MUTEX | RWLOCK | RWLOCK_WRITER | SPIN)
    }

    fn callbacks_in(&self, held: u32, by: &Node, within: u32, node: &Node) -> Vec<Callback> {
        let taken = self.model.symbols.stack(by.stack);
        let Some(library) = own_frames(&taken).first().and_then(module) else { return Vec::new() };
        if library == self.program || is_runtime(library) {
            return Vec::new();
        }
        let stack = self.model.symbols.stack(node.stack);
        let callback = |at| Callback {
            held,
            within,
            stack: Rc::clone(&stack),
            at,
            library: library.to_owned(),
        };
        called_from(own_frames(&taken), &stack).into_iter().map(callback).collect()
    }

    /// Whose calls of the library would wait for what a callback is called with.
    fn side(&self, callback: &Callback) -> Side {
        let held = self.model.trie.node(callback.held).copied().unwrap_or_default();
        Side {
            group: self.model.classes.group_of(held.class),
            reads: is_read(held.mode),
            library: callback.library.clone(),
            user: module(callback.frame()).unwrap_or_default().to_owned(),
        }
    }

    /// Where the user calls the library, which takes the lock, that being free.
    fn entries(&self, side: &Side) -> Vec<Entry> {
        let model = self.model;
        let is_it = |node: &Node| model.classes.group_of(node.class) == side.group;
        let entry = |&id: &u32| {
            let node = model.trie.node(id)?;
            if side.reads && is_read(node.mode) || model.trie.held(id).any(|(_, by)| is_it(by)) {
                return None;
            }
            let stack = model.symbols.stack(node.stack);
            let caller = caller_of(&side.library, &stack)?;
            let is_by_user = module(&stack[caller]) == Some(&side.user);
            is_by_user.then_some(Entry { node: id, stack, caller })
        };
        self.taken.get(&side.group).into_iter().flatten().filter_map(entry).collect()
    }

    /// What the two say together; nothing where the library was but called in the same way.
    fn judge(&self, callback: &Callback, entry: &Entry) -> Option<Verdict> {
        let calls = match calls(callback, entry) {
            true if self.is_by_one_kind(callback.within, entry.node) => Calls::Alike,
            true => Calls::Elsewhere,
            false if is_function(callback.entered(), &entry.stack[entry.caller - 1]) => {
                return None;
            }
            false => Calls::Unseen,
        };
        Some(Verdict { calls, is_by_class: !self.is_one_lock(callback.held, entry.node) })
    }

    /// One thread did both, or two that were created at one place.
    fn is_by_one_kind(&self, a: u32, b: u32) -> bool {
        let threads = |id| {
            let segments = self.model.trie.segments(id).iter();
            segments.filter_map(|&at| self.model.order.thread(at)).collect::<HashSet<u32>>()
        };
        let (a, b) = (threads(a), threads(b));
        let created = |threads: &HashSet<u32>| {
            let rows = threads.iter().filter_map(|&id| self.model.ledger.get::<Thread>(id));
            let stacks = rows.map(|row| row.create_stack).filter(|&stack| stack != 0);
            stacks.collect::<HashSet<u32>>()
        };
        !a.is_disjoint(&b) || !created(&a).is_disjoint(&created(&b))
    }

    fn is_one_lock(&self, held: u32, taken: u32) -> bool {
        let node = |id| self.model.trie.node(id).copied().unwrap_or_default();
        self.model.is_of_lock(&node(taken), &node(held))
    }

    /// Equal for calls of one function from one place of the library with locks of one class held.
    fn key(&self, callback: &Callback) -> String {
        let class = self.model.trie.node(callback.held).map_or(0, |node| node.class);
        let class = self.model.classes.group(self.model.classes.group_of(class)).name();
        let place = callback.call().first().map(place_key).unwrap_or_default();
        let frame = callback.frame();
        let function = frame.function.clone().unwrap_or_else(|| place_key(frame));
        format!("callback\n{class}\n{place}\n{function}")
    }
}

/// The stacks with a library among their modules that is not the language's own. Most have none,
/// and need no names.
struct Libraries<'s, 'm, 'a> {
    search: &'s Search<'m, 'a>,
    /// By stack.
    stacks: HashMap<u32, bool>,
    /// By return address and epoch.
    places: HashMap<(u64, u32), bool>,
}

impl Libraries<'_, '_, '_> {
    fn are_on(&mut self, stack: u32) -> bool {
        let Self { search: Search { model, program, .. }, stacks, places } = self;
        *stacks.entry(stack).or_insert_with(|| {
            let (frames, epoch) = model.ledger.stack(stack).unwrap_or_default();
            frames.into_iter().any(|address| {
                *places.entry((address, epoch)).or_insert_with(|| {
                    let module = model.module_at(address.saturating_sub(1), epoch);
                    module.is_some_and(|path| path != *program && !is_runtime(&path))
                })
            })
        })
    }
}

/// An acquisition of a lock for which the thread waits as long as it takes.
fn waits_for_lock(node: &Node) -> bool {
    const NO: u16 = mode::TRY | mode::TIMED | mode::COND_REACQUIRE;
    node.class != 0 && node.mode & NO == 0 && node.flags & node_flag::IN_HANDLER == 0
}

/// The lock that is held is acquired: told as what it is.
fn is_again(held: &Node, node: &Node) -> bool {
    node.class != 0 && (node.class, node.inst) == (held.class, held.inst)
}

fn module(frame: &Frame) -> Option<&str> {
    frame.module.as_deref()
}

fn is_function(frame: &Frame, of: &Frame) -> bool {
    frame.function.is_some() && frame.function == of.function && frame.module == of.module
}

/// Where on `stack` the library that took a lock, as `taken` tells, calls other modules: the first
/// frame of each within the function that took it, or, if that has returned, its caller.
fn called_from(taken: &[Frame], stack: &[Frame]) -> Vec<usize> {
    let Some(library) = taken.first().and_then(module) else { return Vec::new() };
    let owners = || taken.iter().take_while(|frame| module(frame) == Some(library));
    let innermost = |owner: &Frame| stack.iter().position(|frame| is_function(frame, owner));
    let is_named = owners().any(|frame| frame.function.is_some());
    let from = match is_named {
        true => owners().find_map(innermost),
        false => same_activation(taken, stack),
    };
    let Some(from) = from else { return Vec::new() };
    let mut found = Vec::new();
    let mut caller = Some(library);
    for at in (0..from).rev() {
        let frame = &stack[at];
        match module(frame) {
            // Code that no file has: what it does on the way is not known.
            None => break,
            // The C library calls back for others.
            Some(name) if is_runtime(name) => continue,
            Some(name) if Some(name) == caller => continue,
            name => caller = name,
        }
        if caller != Some(library) && !is_allocator(frame) {
            found.push(at);
        }
    }
    found
}

/// As far as functions have no names: where the two stacks part, both are in one activation of a
/// function, which first took the lock and then called on.
fn same_activation(taken: &[Frame], stack: &[Frame]) -> Option<usize> {
    let place = |frame: &Frame| (frame.module.clone(), frame.offset);
    let pairs = taken.iter().rev().zip(stack.iter().rev());
    let same = pairs.take_while(|(a, b)| place(a) == place(b)).count();
    let [owner, at] = [taken, stack].map(|frames| frames.len().checked_sub(same + 1));
    let library = module(taken.first()?);
    let is_library = taken[..=owner?].iter().all(|frame| module(frame) == library);
    at.filter(|&at| same > 0 && is_library && module(&stack[at]) == library)
}

/// The frame that called `library`, if that is what took the lock.
fn caller_of(library: &str, stack: &[Frame]) -> Option<usize> {
    let own = own_frames(stack);
    let first = stack.len() - own.len();
    let is_library = |at: &usize| module(&stack[*at]) == Some(library);
    let length = (first..stack.len()).take_while(is_library).count();
    (length > 0 && first + length < stack.len()).then_some(first + length)
}

/// Whether the very callback was seen to call the library.
fn calls(callback: &Callback, entry: &Entry) -> bool {
    let by = callback.frame();
    let own = entry.stack[entry.caller..].iter();
    own.take_while(|frame| frame.module == by.module).any(|frame| is_function(frame, by))
}

fn candidate(view: &ProcessView<'_, '_>, key: String, found: &Found) -> Candidate {
    let model = view.model;
    let Found { verdict, callback, entry } = found;
    let node = |id| model.trie.node(id).copied().unwrap_or_default();
    let (held, within, taken) = (node(callback.held), node(callback.within), node(entry.node));
    let lock = reference(&held);
    let level = if verdict.is_by_class { Level::Class } else { Level::Instance };
    let involved = view.involved(level, vec![lock]);
    let thread = |id| {
        let mut threads =
            model.trie.segments(id).iter().filter_map(|&segment| model.order.thread(segment));
        model.thread(threads.next().unwrap_or(0))
    };
    let steps = vec![
        Step {
            thread: thread(callback.within),
            lock: 0,
            action: Action::CallsBackHolding,
            held: view.held(&involved, callback.held),
            stack: callback.call().to_vec(),
        },
        Step {
            thread: thread(entry.node),
            lock: 0,
            action: Action::acquires(model.classes.kind(taken.class), taken.mode),
            held: view.held(&involved, taken.parent),
            stack: entry.stack.to_vec(),
        },
    ];
    let within = (within.class != 0).then(|| model.name(reference(&within)));
    let name = |frame: &Frame| frame.function.clone().map(Name::symbol);
    let finding = Finding {
        kind: Kind::CallbackWithLockHeld,
        grade: verdict.grade(),
        details: Details::Misuse(
            CallbackWithLockHeld {
                library: callback.library.clone(),
                callback: name(callback.frame()),
                user: module(callback.frame()).unwrap_or_default().to_owned(),
                within,
                entry: name(&entry.stack[entry.caller - 1]),
                calls: verdict.calls,
                is_by_class: verdict.is_by_class,
            }
            .into(),
        ),
        steps,
        pid: model.ledger.header().pid,
        process: None,
        origins: Vec::new(),
        confirmation: None,
        also: 0,
        locks: involved.infos,
    };
    Candidate { finding, key, insts: Vec::new(), classes: view.classes(&[lock]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stack in letters: `module:function`, innermost first.
    fn stack(frames: &[&str]) -> Vec<Frame> {
        let frame = |text: &&str| {
            let (module, function) = text.split_once(':').expect("module:function");
            Frame {
                module: (!module.is_empty()).then(|| module.to_owned()),
                function: Some(function.to_owned()),
                ..Frame::default()
            }
        };
        frames.iter().map(frame).collect()
    }

    #[test]
    fn a_call_out_of_the_library_is_seen() {
        let taken = stack(&["lib:notify", "app:main"]);
        let called = |frames: &[&str]| called_from(&taken, &stack(frames));
        assert_eq!(
            called(&["app:get", "app:on_change", "lib:call", "lib:notify", "app:main"]),
            [1]
        );
        let by_libc = ["app:compare", "/usr/lib/libc.so.6:qsort", "lib:notify", "app:main"];
        assert_eq!(called(&by_libc), [0], "through the C library");
        let further = ["app:get", "other:put", "lib:notify", "app:main"];
        assert_eq!(called(&further), [1, 0], "through another library");
    }

    #[test]
    fn what_stays_within_the_library_is_no_callback() {
        let taken = stack(&["lib:notify", "app:main"]);
        let called = |frames: &[&str]| called_from(&taken, &stack(frames));
        assert!(called(&["lib:put", "lib:notify", "app:main"]).is_empty());
        assert!(called(&["/usr/lib/libstdc++.so.6:f", "lib:notify", "app:main"]).is_empty());
        assert!(called(&["app:malloc", "lib:notify", "app:main"]).is_empty(), "an allocator");
        assert!(called(&["app:get", ":jit", "lib:notify", "app:main"]).is_empty(), "not known");
        assert!(called(&["app:get", "app:main"]).is_empty(), "it has returned");
    }

    /// A library that lets go before it calls: what was taken is taken further in.
    #[test]
    fn only_what_is_called_by_the_holder_counts() {
        let taken = stack(&["lib:notify", "app:on_change", "lib:notify", "app:main"]);
        let within = stack(&["lib:put", "lib:notify", "app:on_change", "lib:notify", "app:main"]);
        assert!(called_from(&taken, &within).is_empty());
    }

    #[test]
    fn a_helper_may_have_returned_with_the_lock() {
        let taken = stack(&["lib:enter", "lib:notify", "app:main"]);
        let within = stack(&["app:on_change", "lib:notify", "app:main"]);
        assert_eq!(called_from(&taken, &within), [0]);
    }

    #[test]
    fn a_library_without_names_is_known_by_its_callers() {
        let at = |module: &str, offset| Frame {
            module: Some(module.to_owned()),
            offset,
            ..Frame::default()
        };
        let taken = [at("lib", 0x10), at("lib", 0x50), at("app", 0x900)];
        let called = |stack: &[Frame]| called_from(&taken, stack);
        let caller = at("app", 0x900);
        let held = [at("app", 0x700), at("lib", 0x18), at("lib", 0x50), caller.clone()];
        assert_eq!(called(&held), [0]);
        let by_its_caller = [at("app", 0x700), at("lib", 0x58), caller];
        assert_eq!(called(&by_its_caller), [0]);
        let elsewhere = [at("app", 0x700), at("lib", 0x18), at("lib", 0x50), at("app", 0x910)];
        assert!(called(&elsewhere).is_empty(), "another activation");
    }

    #[test]
    fn who_calls_the_library() {
        let called = |frames: &[&str]| caller_of("lib", &stack(frames));
        assert_eq!(called(&["lib:lock", "lib:count", "app:report", "app:main"]), Some(2));
        assert_eq!(called(&["app:report", "app:main"]), None);
        assert_eq!(called(&["lib:worker"]), None);
    }
}
