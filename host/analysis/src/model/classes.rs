//! Lock classes as the reader of a report thinks of them: rows of locks that are created at
//! one place of the program, or elements of one array, are one class.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

use lockwright_glibc::table::mutex;
use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{Class, Node, class_origin, lock_kind};

use super::class_group::{ClassGroup, Made};
use super::heap::{Blocks, in_block};
use super::key::{ClassKey, Key, MONITORS, subclass_name};
use super::members::{self, Creation};
use super::naming::{base_name, place_key, place_of, short_place, variable_name};
use super::roles;
use super::sources::{Sources, Symbolise, class_row};
use super::thread_ends;
use crate::finding::LockOrigin;
use crate::finding::lock_kind::LockKind;
use crate::symbolize::MemberPlace;

/// Bytes of a lock of each kind on the platforms that we run on (x86-64 and AArch64 glibc).
fn lock_bytes(kind: u8) -> u64 {
    match kind {
        lock_kind::RWLOCK | lock_kind::RWLOCK_WRITER => 56,
        lock_kind::SPIN | lock_kind::ONCE => 4,
        lock_kind::SEMAPHORE | lock_kind::COUNTING => 32,
        _ => mutex::OBJECT.size as u64,
    }
}

/// The classes of one process.
pub struct Classes<'a> {
    groups: Vec<ClassGroup>,
    /// Those with the names of their members, once somebody shows one: these cost.
    named: OnceCell<Vec<ClassGroup>>,
    creations: Vec<Creation>,
    symbols: &'a [&'a dyn Symbolise],
    /// Its ledger, and which of all it is.
    ledger: &'a Ledger,
    index: usize,
    /// By group, of which the first has none.
    keys: Vec<Rc<Key>>,
    /// By id of the class row.
    by_row: Vec<Option<Member>>,
    /// By class of ends of threads ([`super::thread_ends`]).
    thread_ends: Vec<Member>,
    has_counting: bool,
}

/// A class row's place among the merged classes.
#[derive(Clone, Debug)]
struct Member {
    group: u32,
    kind: u8,
    /// Static lock: name of this very lock.
    element: Option<String>,
    /// Annotation: merged class of the lock under which several of this class may be taken, 0 if
    /// none.
    nest: u32,
    /// What holds for one of its locks does not hold for the next: see [`Classes::is_mixed`].
    is_mixed: bool,
}

/// A variable that holds locks of one kind: its offsets tell an array from a structure.
struct Variable {
    name: String,
    size: u64,
    offsets: Vec<u64>,
    /// What the offsets tell, once all are there: a variable may hold a million locks, and each asks.
    layout: OnceCell<Layout>,
}

/// How the locks of a variable lie.
#[derive(Clone, Copy)]
struct Layout {
    /// Where an array of nothing but locks would have them.
    is_bare: bool,
    /// As elements of an array of whatever.
    is_array: bool,
}

impl Variable {
    /// Of no locks yet.
    fn new(name: String, size: u64) -> Self {
        Self { name, size, offsets: Vec::new(), layout: OnceCell::new() }
    }

    fn layout(&self, lock: u64) -> Layout {
        *self.layout.get_or_init(|| {
            let is_bare = self.is_bare_array(lock);
            let is_array = self.offsets.len() > 1 && (is_bare || self.stride().is_some());
            Layout { is_bare, is_array }
        })
    }

    /// Distance of the elements if it can only be an array: every lock lies a multiple of it apart,
    /// and it divides the whole.
    fn stride(&self) -> Option<u64> {
        let first = self.offsets.first()?;
        let stride = self.offsets.iter().fold(0, |g, offset| gcd(g, offset.abs_diff(*first)));
        (stride != 0 && self.size.is_multiple_of(stride)).then_some(stride)
    }

    /// Every lock lies where an array of nothing but locks would have it.
    fn is_bare_array(&self, lock: u64) -> bool {
        self.size.is_multiple_of(lock)
            && self.size > lock
            && self.offsets.iter().all(|offset| offset.is_multiple_of(lock))
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl<'a> Classes<'a> {
    /// The classes of ledger `index` of `sources`.
    pub fn new(sources: &Sources<'a>, index: usize) -> Self {
        let rows: Vec<(u32, usize, Class)> = sources.ledgers[index]
            .rows::<Class>()
            .map(|(id, _)| {
                let (origin, _, row) = sources.resolve(index, id);
                (id, origin, row)
            })
            .collect();
        let (variables, homes, members) = variables(sources, &rows);
        let blocks = Blocks::new(sources, &rows);
        let by_origin = |id: u32, ledger: usize, row: &Class| {
            let home = homes.get(&id).and_then(|key| Some((key, variables.get(key)?)));
            match home {
                Some((at, variable)) if row.name.len == 0 => match members.get(&id) {
                    Some(member) => in_member(at, variable, member, row),
                    None => in_variable(at, variable, row),
                },
                _ if row.origin == class_origin::ALLOCATION && row.name.len == 0 => {
                    in_block(sources, &blocks, ledger, id, row)
                }
                _ => elsewhere(sources, ledger, id, row),
            }
        };
        let mut made: Vec<Made> =
            rows.iter().map(|(id, ledger, row)| by_origin(*id, *ledger, row)).collect();
        roles::part(sources, index, &rows, &mut made);
        let mut this = Self {
            groups: vec![unknown()],
            named: OnceCell::new(),
            creations: Vec::new(),
            symbols: sources.all_symbols(),
            ledger: &sources.ledgers[index],
            index,
            keys: Vec::new(),
            by_row: Vec::new(),
            thread_ends: Vec::new(),
            has_counting: rows.iter().any(|(_, _, row)| row.kind == lock_kind::COUNTING),
        };
        let mut groups: HashMap<Rc<Key>, u32> = HashMap::new();
        for (&(id, ledger, row), made) in rows.iter().zip(made) {
            let base = this.group_of(row.parent);
            let (key, group, element) = match made {
                made if ledger != index || base == 0 => made,
                _ if row.origin == class_origin::MONITOR => {
                    in_monitor(base, this.plain(base), &row)
                }
                made if !is_subclass(&row) => made,
                _ => in_subclass(base, this.plain(base), &row),
            };
            let group = *groups.entry(Rc::new(key)).or_insert_with_key(|key| {
                this.keys.push(Rc::clone(key));
                this.groups.push(group);
                this.groups.len() as u32 - 1
            });
            // What the locks are in the process itself, whatever its parent knows of the class.
            let own = class_row(&sources.ledgers[index], id);
            // A monitor's is counted as its mutex.
            if row.kind != lock_kind::MONITOR {
                this.groups[group as usize].locks += u64::from(own.locks);
            }
            this.by_row.resize(id as usize, None);
            this.by_row.push(Some(Member {
                group,
                kind: row.kind,
                element,
                nest: 0,
                is_mixed: own.handed_over != 0 && own.kind != lock_kind::MONITOR
                    || is_passing_control(&own),
            }));
        }
        let creations = rows.iter().filter_map(|(id, ledger, row)| {
            let group = (this.group_of(*id) as usize).checked_sub(1)?;
            let name = &this.groups[group + 1].name;
            Creation::of(*ledger, row, group, &this.keys[group], name)
        });
        this.creations = creations.collect();
        this.nests(sources, index);
        this
    }

    /// Which merged classes nest in which, by what the process has said itself, or before it was
    /// forked.
    fn nests(&mut self, sources: &Sources<'_>, index: usize) {
        let rows = sources.ledgers[index].rows::<Class>();
        let said: Vec<(u32, (usize, u32))> = rows
            .filter_map(|(id, own)| {
                let (ledger, _, row) = sources.resolve(index, id);
                let (ledger, nest) =
                    if own.nest != 0 { (index, own.nest) } else { (ledger, row.nest) };
                let (ledger, nest, _) = (nest != 0).then(|| sources.resolve(ledger, nest))?;
                Some((id, (ledger, nest)))
            })
            .collect();
        if said.is_empty() {
            return;
        }
        // The nest lock's class is known by the process that first had it.
        let rows = sources.ledgers[index].rows::<Class>();
        let groups: HashMap<(usize, u32), u32> = rows
            .map(|(id, _)| {
                let (ledger, class, _) = sources.resolve(index, id);
                ((ledger, class), self.group_of(id))
            })
            .collect();
        for (id, nest) in said {
            if let Some(Some(member)) = self.by_row.get_mut(id as usize) {
                member.nest = groups.get(&nest).copied().unwrap_or(0);
            }
        }
    }

    /// Adds the classes of the ends of threads, by the stacks at which these were created.
    pub(super) fn add_thread_ends(&mut self, sources: &Sources<'_>, index: usize, created: &[u32]) {
        for &stack in created {
            let frames = sources.symbols(index).stack(stack);
            let name = match place_of(&frames) {
                Some(frame) => format!("end of a thread created at {}", short_place(frame)),
                None => "end of a thread".to_owned(),
            };
            let kind = thread_ends::KIND;
            let group = self.groups.len() as u32;
            let member = Member { group, kind, element: None, nest: 0, is_mixed: false };
            self.thread_ends.push(member);
            // By the whole stack: one function may create all threads of a program.
            self.keys.push(Rc::new(Key::ThreadEnd(index, stack)));
            let (origin, created) = (LockOrigin::Init, (index, stack));
            self.groups.push(ClassGroup { name, kind, origin, created, ..unknown() });
        }
    }

    fn member(&self, row: u32) -> Option<&Member> {
        match row.checked_sub(thread_ends::FIRST_CLASS) {
            Some(end) => self.thread_ends.get(end as usize),
            None => self.by_row.get(row as usize)?.as_ref(),
        }
    }

    /// Whether a class is that of ends of threads, which are waited for as locks are.
    pub fn is_thread_end(&self, row: u32) -> bool {
        self.kind(row) == thread_ends::KIND
    }

    /// Number of merged classes that have locks.
    pub fn len(&self) -> u64 {
        self.groups[1..].iter().filter(|group| group.locks != 0).count() as u64
    }

    /// The merged class of the lock under which several of class row `row` may be taken in any
    /// order, 0 if the program declares none.
    pub fn nest_of(&self, row: u32) -> u32 {
        self.member(row).map_or(0, |member| member.nest)
    }

    /// All merged classes, by the names of their places, as by [`Self::plain`].
    pub fn plain_groups(&self) -> impl Iterator<Item = (u32, &ClassGroup)> {
        (1..).zip(&self.groups[1..])
    }

    /// All merged classes.
    pub fn groups(&self) -> impl Iterator<Item = (u32, &ClassGroup)> {
        (1..).zip(&self.named()[1..])
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The merged class of a class row; 0 is that of rows that are not there.
    pub fn group_of(&self, row: u32) -> u32 {
        self.member(row).map_or(0, |member| member.group)
    }

    /// Merged class `group`.
    pub fn group(&self, group: u32) -> &ClassGroup {
        let named = self.named();
        named.get(group as usize).unwrap_or(&named[0])
    }

    /// The class that is called by a member and whose locks are created at `place` ([`place_key`]).
    pub fn created_at(&self, place: &str) -> Option<&ClassGroup> {
        let is_it = |group: &&ClassGroup| {
            let (ledger, stack) = group.created;
            let stack = self.symbols[ledger].stack(stack);
            place_of(&stack).is_some_and(|frame| place_key(frame) == place)
        };
        let mut named = self.named().iter().filter(|group| group.by_place.is_some());
        named.find(is_it)
    }

    /// Merged class `group` for somebody who does not show its name: that of a member is not looked up.
    pub fn plain(&self, group: u32) -> &ClassGroup {
        self.groups.get(group as usize).unwrap_or(&self.groups[0])
    }

    /// All, and that of rows that are not there.
    fn named(&self) -> &[ClassGroup] {
        if self.creations.is_empty() {
            return &self.groups;
        }
        self.named.get_or_init(|| {
            let mut groups = self.groups.clone();
            let acquired = |group: usize| {
                let nodes = self.ledger.rows::<Node>().map(|(_, node)| node);
                let of_group = |node: &Node| self.group_of(node.class) as usize == group + 1;
                nodes
                    .filter(|node| node.stack != 0 && of_group(node))
                    .map(|node| node.stack)
                    .collect()
            };
            let acquired = (self.index, acquired);
            members::name(self.symbols, &self.creations, acquired, &self.keys, &mut groups[1..]);
            groups
        })
    }

    /// What merged class `group` is known by in other processes too.
    pub fn key(&self, group: u32) -> ClassKey {
        let key = |group: u32| self.keys.get((group as usize).checked_sub(1)?).map(Rc::as_ref);
        let (mut base, mut subclasses) = (key(group), Vec::new());
        while let Some(&Key::Subclass(of, subclass)) = base {
            subclasses.push(subclass);
            base = key(of);
        }
        ClassKey { base: base.cloned(), subclasses }
    }

    /// Name of the one lock that a class row of a static lock stands for.
    pub fn element(&self, row: u32) -> Option<&str> {
        self.member(row)?.element.as_deref()
    }

    /// Kind of the locks of a class row.
    pub fn kind(&self, row: u32) -> u8 {
        self.member(row).map_or(0, |member| member.kind)
    }

    /// Whether locks of a class row let a waiting writer hold up new readers.
    pub fn prefers_writers(&self, row: u32) -> bool {
        self.kind(row) != lock_kind::RWLOCK
    }

    /// Whether what is of this class row keeps threads from each other: it is a lock.
    pub fn excludes(&self, row: u32) -> bool {
        let kind = self.kind(row);
        const NONE: [u8; 4] =
            [lock_kind::RESOURCE, lock_kind::COMPLETION, lock_kind::COUNTING, thread_ends::KIND];
        !NONE.contains(&kind)
    }

    /// Whether there are semaphores with more than one seat.
    pub fn has_counting(&self) -> bool {
        self.has_counting
    }

    /// Whether a class row has semaphores that proved to be no locks, or controls of `pthread_once`
    /// that are no variables, each of which is made for a routine of its own. What holds for one of
    /// them does not hold for the next, then.
    pub fn is_mixed(&self, row: u32) -> bool {
        self.member(row).is_some_and(|member| member.is_mixed)
    }

    /// Classes of controls of `pthread_once`, which are no locks to their program.
    pub fn controls(&self) -> u64 {
        let is_control = |group: &&ClassGroup| group.kind == lock_kind::ONCE && group.locks != 0;
        self.groups[1..].iter().filter(is_control).count() as u64
    }

    /// Whether locks of a class row have readers at all.
    pub fn has_readers(&self, row: u32) -> bool {
        let kind = self.kind(row);
        matches!(kind, lock_kind::RWLOCK | lock_kind::RWLOCK_WRITER | lock_kind::OWN | 0)
    }
}

/// A control that is no variable.
fn is_passing_control(row: &Class) -> bool {
    row.kind == lock_kind::ONCE && row.origin != class_origin::STATIC
}

fn unknown() -> ClassGroup {
    ClassGroup {
        name: "lock of unknown class".into(),
        is_symbol: false,
        by_place: None,
        kind: 0,
        origin: LockOrigin::Inherited,
        created: (0, 0),
        is_static: false,
        locks: 0,
    }
}

/// The class differs from another only in its subclass.
fn is_subclass(row: &Class) -> bool {
    row.origin == class_origin::ANNOTATED && row.name.len == 0
}

/// Class and name of a monitor whose mutex is of `base`.
fn in_monitor(base: u32, group: &ClassGroup, row: &Class) -> (Key, ClassGroup, Option<String>) {
    let name = subclass_name(&group.name, MONITORS);
    let group = ClassGroup { name, is_symbol: false, kind: row.kind, locks: 0, ..group.clone() };
    (Key::Subclass(base, MONITORS), group, None)
}

/// Class and name of a lock that was put into a subclass of `base`.
fn in_subclass(base: u32, group: &ClassGroup, row: &Class) -> (Key, ClassGroup, Option<String>) {
    let name = subclass_name(&group.name, row.subclass);
    let group = ClassGroup { name, locks: 0, ..group.clone() };
    (Key::Subclass(base, row.subclass), group, None)
}

/// Module path, start and lock kind of the variable a static lock lies in.
type Home = (String, u64, u8);

/// Finds the variables that static locks lie in, by class row which, and which member of it.
fn variables(
    sources: &Sources<'_>,
    rows: &[(u32, usize, Class)],
) -> (HashMap<Home, Variable>, HashMap<u32, Home>, HashMap<u32, MemberPlace>) {
    let mut variables: HashMap<Home, Variable> = HashMap::new();
    let mut homes = HashMap::new();
    let mut members = HashMap::new();
    // By module and lock kind: offset and class row of locks that no symbol covers.
    let mut nameless: HashMap<(String, u8), Vec<(u64, u32)>> = HashMap::new();
    for &(id, ledger, row) in rows.iter().filter(|(_, _, row)| row.origin == class_origin::STATIC) {
        let symbols = sources.symbols(ledger);
        let module = symbols.module_name(row.module);
        let Some(symbol) = symbols.data(row.module, row.offset) else {
            nameless.entry((module, row.kind)).or_default().push((row.offset, id));
            continue;
        };
        let home = (module, symbol.start, row.kind);
        // If the variable is nothing but the lock, we do not look up its type: that costs time.
        if symbol.size > 8 && symbol.size != lock_bytes(row.kind) {
            let within = row.offset.wrapping_sub(symbol.start);
            let member = symbols.member(row.module, symbol.start, within);
            members.extend(member.map(|member| (id, member)));
        }
        let variable = variables
            .entry(home.clone())
            .or_insert_with(|| Variable::new(variable_name(symbol.name), symbol.size));
        variable.offsets.push(row.offset.wrapping_sub(symbol.start));
        homes.insert(id, home);
    }
    for ((module, kind), mut locks) in nameless {
        locks.sort_unstable();
        for run in runs(&locks, lock_bytes(kind)) {
            let start = run[0].0;
            let home = (module.clone(), start, kind);
            homes.extend(run.iter().map(|&(_, id)| (id, home.clone())));
            let name = format!("{}+{start:#x}", base_name(&module));
            let mut variable = Variable::new(name, run.len() as u64 * lock_bytes(kind));
            variable.offsets.extend(run.iter().map(|&(offset, _)| offset - start));
            variables.insert(home, variable);
        }
    }
    for variable in variables.values_mut() {
        variable.offsets.sort_unstable();
        variable.offsets.dedup();
    }
    (variables, homes, members)
}

/// Locks that lie so close that they must be an array, though no symbol says so: compilers align
/// variables of this size, which leaves gaps between them.
fn runs(sorted: &[(u64, u32)], lock: u64) -> impl Iterator<Item = &[(u64, u32)]> {
    const LEAST: usize = 3;
    sorted
        .chunk_by(move |a, b| a.0.checked_add(lock) == Some(b.0))
        .filter(move |run| run.len() >= LEAST && lock > 4)
}

/// Class and name of a lock in a variable.
fn in_variable(home: &Home, variable: &Variable, row: &Class) -> (Key, ClassGroup, Option<String>) {
    let (module, start, kind) = home.clone();
    let offset = row.offset.wrapping_sub(start);
    let lock = lock_bytes(kind);
    let Layout { is_bare, is_array } = variable.layout(lock);
    let element = match (is_bare && (is_array || offset != 0), offset) {
        (true, _) => format!("{}[{}]", variable.name, offset / lock),
        (false, 0) => variable.name.clone(),
        (false, _) => format!("{}+{offset:#x}", variable.name),
    };
    let name = if is_array { format!("{}[]", variable.name) } else { element.clone() };
    let group = ClassGroup {
        name,
        is_symbol: true,
        by_place: None,
        kind,
        origin: LockOrigin::Static,
        created: (0, 0),
        is_static: true,
        locks: 0,
    };
    let offset = (!is_array).then_some(offset);
    (Key::Variable { module, start, kind, offset }, group, Some(element))
}

/// Class and name of a lock in a variable whose type says where.
fn in_member(
    home: &Home,
    variable: &Variable,
    member: &MemberPlace,
    row: &Class,
) -> (Key, ClassGroup, Option<String>) {
    let (module, start, kind) = home.clone();
    let (_, group, _) = in_variable(home, variable, row);
    let group = ClassGroup { name: format!("{}{}", variable.name, member.of_any), ..group };
    let element = format!("{}{}", variable.name, member.path);
    let (offset, is_element) = (member.first, member.is_element);
    (Key::Member { module, start, kind, offset, is_element }, group, Some(element))
}

/// Class and name of a lock that is not in a known variable.
fn elsewhere(
    sources: &Sources<'_>,
    ledger: usize,
    id: u32,
    row: &Class,
) -> (Key, ClassGroup, Option<String>) {
    let symbols = sources.symbols(ledger);
    let what = LockKind::of(row.kind).name();
    let (origin, verb) = match row.origin {
        class_origin::STATIC => (LockOrigin::Static, "in"),
        class_origin::INIT => (LockOrigin::Init, "initialised at"),
        class_origin::FIRST_ACQUIRE => (LockOrigin::FirstAcquisition, "first taken at"),
        class_origin::ALLOCATION => (LockOrigin::Allocation, "allocated at"),
        class_origin::ANNOTATED => (LockOrigin::Annotation, "annotated at"),
        _ => (LockOrigin::Inherited, "inherited at"),
    };
    let group = |name: String, is_symbol| ClassGroup {
        name,
        is_symbol,
        by_place: None,
        kind: row.kind,
        origin,
        created: (ledger, row.stack),
        is_static: row.origin == class_origin::STATIC,
        locks: 0,
    };
    let mut annotation = sources.ledgers[ledger].text(row.name);
    if !annotation.is_empty() {
        if row.subclass != 0 {
            annotation += &format!("/{}", row.subclass);
        }
        return (Key::Annotated(annotation.clone()), group(annotation, true), None);
    }
    if row.origin == class_origin::STATIC {
        let module = symbols.module_name(row.module);
        let name = format!("{}+{:#x}", base_name(&module), row.offset);
        let (start, kind) = (row.offset, row.kind);
        let key = Key::Variable { module, start, kind, offset: None };
        return (key, group(name.clone(), true), Some(name));
    }
    if row.origin == class_origin::INHERITED {
        // The parent's ledger is not among those given.
        let name = format!("{what} {id} inherited from the parent process");
        return (Key::Row(ledger, id), group(name, false), None);
    }
    match place_of(&symbols.stack(row.stack)) {
        Some(frame) => {
            let key = Key::Place { origin: row.origin, kind: row.kind, place: place_key(frame) };
            (key, group(format!("{what} {verb} {}", short_place(frame)), false), None)
        }
        None => (Key::Row(ledger, id), group(format!("{what} of class {id}"), false), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of the locks at `offsets` of a variable `v` at 1000, and the classes they fall into.
    fn names(size: u64, offsets: &[u64]) -> Vec<(String, String)> {
        let mut variable = Variable::new("v".into(), size);
        variable.offsets = offsets.to_vec();
        let home = ("m".to_owned(), 1000, lock_kind::MUTEX);
        let name = |&offset: &u64| {
            let row = Class { kind: lock_kind::MUTEX, offset: 1000 + offset, ..Class::default() };
            let (_, group, element) = in_variable(&home, &variable, &row);
            (element.unwrap(), group.name)
        };
        offsets.iter().map(name).collect()
    }

    fn pair(a: &str, b: &str) -> (String, String) {
        (a.into(), b.into())
    }

    #[test]
    fn variables_of_one_lock_go_by_their_name() {
        let lock = lock_bytes(lock_kind::MUTEX);
        assert_eq!(names(lock, &[0]), [pair("v", "v")]);
        assert_eq!(names(200 + 8, &[8]), [pair("v+0x8", "v+0x8")]);
    }

    #[test]
    fn arrays_are_one_class() {
        let lock = lock_bytes(lock_kind::MUTEX);
        let bare = names(5 * lock, &[0, 3 * lock]);
        assert_eq!(bare, [pair("v[0]", "v[]"), pair("v[3]", "v[]")]);
        let of_structures = names(640, &[8, 72, 200]);
        let expected = [pair("v+0x8", "v[]"), pair("v+0x48", "v[]"), pair("v+0xc8", "v[]")];
        assert_eq!(of_structures, expected);
    }

    #[test]
    fn members_of_a_structure_are_classes_of_their_own() {
        let lock = lock_bytes(lock_kind::MUTEX);
        let members = names(2 * lock + 10, &[0, lock]);
        assert_eq!(members[0], pair("v", "v"));
        assert_eq!(members[1].0, members[1].1);
    }

    #[test]
    fn close_locks_without_a_symbol_are_an_array() {
        let locks = [(64, 1), (160, 2), (200, 3), (240, 4), (400, 5), (440, 6)];
        let found: Vec<_> = runs(&locks, 40).collect();
        assert_eq!(found, [&locks[1..4]]);
    }
}
