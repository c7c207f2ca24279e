//! The lock of a call by its static type: `account::lock` for `pthread_mutex_lock(&from->lock)`
//! in a function whose `from` is a `struct account *`.
//!
//! The names in the expression are looked up as the compiler does: variables of the function, members of
//! `this`, variables of the file. Debug information does not say where in a function a name begins to
//! hold, so a name that stands for things of different types in one function is not looked up at all. The
//! type of the last pointer on the way is what the lock lies in, and the rest of the way is the member.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use gimli::constants as dw;
use gimli::{DebugInfoOffset, Range};

use super::debug_info::{DEEPEST, DebugInfo, Die, Files, Where, is_of_rust, is_reserved, unsigned};
use super::inlined::{chain_at, inlined_at};
use super::lock_types::is_lock;
use super::merged_calls::{CallsLeft, calls_left};
use super::portable::portable;
use super::unit_names::{UnitNames, has, is_class, is_there};

/// A call in which a lock is taken or initialised.
#[derive(Clone, Copy, Debug)]
pub struct Call<'c> {
    /// Where it is, in the file's address space.
    pub address: u64,
    /// How many calls that contain it were inlined there.
    pub inlined: usize,
    /// All calls that were inlined there.
    pub all_inlined: usize,
    /// Name of the function that it stands in.
    pub function: Option<&'c str>,
    /// What the source calls the lock.
    pub expression: &'c str,
    /// A class of the program's that is known to be a lock, whatever it is called.
    pub lock_class: Option<&'c str>,
}

/// What is known of the lock of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// It is this member, or variable of a function, and has this type.
    Member { name: String, of_type: String, within: Option<Within>, is_pointer: bool },
    /// It lies in the object `this`, which is a lock to the reader, and has this type.
    InLock { class: String, of_type: String },
    /// It is what the function was called with, a pointer or reference to this type, or what its object
    /// has kept of that.
    Passed(String),
}

/// The object `this` that a member lies in itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Within {
    /// Its type.
    pub class: String,
    /// Where in it, `None` if it has no other lock.
    pub path: Option<String>,
}

/// Functions and types of a file, by unit, those of a unit read when they are first asked for.
pub struct Owners {
    /// Where the code of each unit is, sorted.
    units: Vec<(Range, DebugInfoOffset)>,
    read: RefCell<HashMap<(Where, DebugInfoOffset), Rc<UnitNames>>>,
}

/// A place in an object, on the way along an expression.
struct Place<'d> {
    of_type: Die<'d>,
    /// What the way began at: a type after a pointer, or a variable.
    base: Base,
    /// Members on the way from there.
    path: String,
    /// What is reached is a lock to the reader: what lies in it has no name of its own.
    is_lock: bool,
    /// It lies in the object `this` itself.
    of_this: bool,
}

impl<'d> Place<'d> {
    fn new(of_type: Die<'d>, base: Base) -> Self {
        Self { of_type, base, path: String::new(), is_lock: false, of_this: false }
    }
}

enum Base {
    /// Its qualified name, and the type is a lock itself.
    Type(String, bool),
    Variable(String),
}

impl Owners {
    /// Those of `info`: reads where the code of each unit is.
    pub fn new(info: &DebugInfo) -> Self {
        let files = info.files();
        let (mut units, untold) = info.code();
        for start in untold {
            let Some(unit) = files.unit(Where::Main, start) else { continue };
            let Ok(mut ranges) = files.main().unit_ranges(&unit) else { continue };
            while let Ok(Some(range)) = ranges.next() {
                units.push((range, start));
            }
        }
        units.retain(|(range, _)| is_there(range));
        units.sort_unstable_by_key(|(range, _)| range.begin);
        Self { units, read: RefCell::default() }
    }

    /// What the lock of `call` is, and the calls that are left in the function that has its code; `None`
    /// where there is any doubt. `info` is what these are of.
    pub fn owner(&self, info: &DebugInfo, call: Call<'_>) -> Option<(Owner, Option<CallsLeft>)> {
        let files = info.files();
        let start = self.unit_at(call.address)?;
        let names = self.names(&files, Where::Main, start)?;
        let outer = names.function_at(&files, call.address)?;
        let unit = files.unit(Where::Main, start)?;
        let function = Die { file: Where::Main, entry: unit.entry(outer.at).ok()?, unit };
        let chain = chain_at(&files, function, call.address);
        if chain.len() != call.all_inlined + 1 {
            return None;
        }
        let function = chain.get(call.inlined)?;
        let sees_file = !outer.is_nested;
        let lookup = Lookup { owners: self, files: &files, names: &names, sees_file };
        Some((lookup.owner(function, call)?, calls_left(&files, &chain[0])))
    }

    /// As [`Self::function`]; `None` if the code was inlined into it.
    pub fn own_function<T>(
        &self,
        info: &DebugInfo,
        address: u64,
        ask: impl for<'d> FnOnce(&Files<'d>, &Die<'d>) -> T,
    ) -> Option<T> {
        self.function(info, address, |files, function| {
            inlined_at(files, function, address, 0).is_none().then(|| ask(files, function))
        })?
    }

    /// Calls `ask` with the function that has the code at `address`.
    pub fn function<T>(
        &self,
        info: &DebugInfo,
        address: u64,
        ask: impl for<'d> FnOnce(&Files<'d>, &Die<'d>) -> T,
    ) -> Option<T> {
        let files = info.files();
        let start = self.unit_at(address)?;
        let names = self.names(&files, Where::Main, start)?;
        let at = names.function_at(&files, address)?.at;
        let unit = files.unit(Where::Main, start)?;
        let function = Die { file: Where::Main, entry: unit.entry(at).ok()?, unit };
        Some(ask(&files, &function))
    }

    /// The unit that has the code at `address`.
    fn unit_at(&self, address: u64) -> Option<DebugInfoOffset> {
        let after = self.units.partition_point(|(range, _)| range.begin <= address);
        let (range, start) = self.units.get(after.checked_sub(1)?)?;
        has(range, address).then_some(*start)
    }

    /// The names of the unit at `start`.
    fn names(
        &self,
        files: &Files<'_>,
        file: Where,
        start: DebugInfoOffset,
    ) -> Option<Rc<UnitNames>> {
        if let Some(names) = self.read.borrow().get(&(file, start)) {
            return Some(Rc::clone(names));
        }
        let names = Rc::new(UnitNames::read(files, file, start)?);
        self.read.borrow_mut().insert((file, start), Rc::clone(&names));
        Some(names)
    }
}

/// The look-up of one expression.
struct Lookup<'l, 'd> {
    owners: &'l Owners,
    files: &'l Files<'d>,
    names: &'l UnitNames,
    /// What is no name of the function's can only be one of the file's.
    sees_file: bool,
}

impl<'d> Lookup<'_, 'd> {
    fn owner(&self, function: &Die<'d>, call: Call<'_>) -> Option<Owner> {
        let mut steps = Steps { rest: call.expression };
        let root = steps.name()?;
        let mut place = self.root(function, root, call.function)?;
        let is_whole = steps.rest.is_empty();
        let by_this = root == "this" || !matches!(place.base, Base::Variable(_));
        let mut pointers = 0;
        while let Some(step) = steps.next() {
            let step = step?;
            let is_new = matches!(step, Step::Arrow(_)) && !(root == "this" && pointers == 0);
            pointers += usize::from(is_new);
            let is_this = root == "this" && !is_new && place.path.is_empty();
            place = self.step(place, step)?;
            place.of_this |= is_this;
        }
        let is_lock = |of_type: &Die<'d>| {
            let known =
                call.lock_class.is_some() && self.type_name(of_type).as_deref() == call.lock_class;
            known || self.is_lock(of_type, 0)
        };
        if !place.is_lock && !is_lock(&place.of_type) {
            let target = self.pointed(&place.of_type)?.of_type;
            let name = self.type_name(&target).filter(|_| is_lock(&target))?;
            let is_pointer = self.is_pointer(&place.of_type);
            return match place.base {
                _ if is_pointer => {
                    let parameter = self.parameter(function)?;
                    (place.of_this || (is_whole && parameter == root))
                        .then_some(Owner::Passed(name))
                }
                // What the field of a smart pointer points to is the field's to the reader.
                Base::Type(class, false) if !place.path.is_empty() => {
                    let name_of = format!("{class}::{}", place.path);
                    Some(Owner::Member {
                        name: name_of,
                        of_type: name,
                        within: None,
                        is_pointer: true,
                    })
                }
                _ => None,
            };
        }
        let of_type = self.type_name(&place.of_type)?;
        let within = self.within_this(function, &place);
        let name = match place.base {
            Base::Type(class, true) => {
                return (by_this && pointers == 0).then_some(Owner::InLock { class, of_type });
            }
            Base::Type(class, false) => format!("{class}::{}", place.path),
            // What has no name to begin with.
            Base::Variable(name) if name.is_empty() => return None,
            Base::Variable(name) => name + &place.path,
        };
        Some(Owner::Member { name, of_type, within, is_pointer: false })
    }

    /// Which object `this` a place lies in.
    fn within_this(&self, function: &Die<'d>, place: &Place<'d>) -> Option<Within> {
        let Base::Type(class, _) = &place.base else { return None };
        let object = self.this(function).filter(|_| place.of_this)?;
        let members = self.files.children(&object);
        let types = members.iter().filter(|die| is_member(die));
        let types = types.filter_map(|die| self.files.referred(die, dw::DW_AT_type));
        let locks = types.filter(|of_type| self.is_lock(of_type, 0)).count();
        let path = (locks != 1).then(|| place.path.clone());
        Some(Within { class: class.clone(), path })
    }

    /// The name of all that a function is called with, if that is one thing.
    fn parameter(&self, function: &Die<'d>) -> Option<String> {
        let children = self.files.children(function);
        let parameters =
            children.iter().filter(|die| die.entry.tag() == dw::DW_TAG_formal_parameter);
        let names = parameters.map(|die| self.name(die, 0).unwrap_or_default());
        // Compilers add some to constructors.
        let mut names = names.filter(|name| name != "this" && !name.starts_with("__"));
        let (one, another) = (names.next()?, names.next());
        another.is_none().then_some(one)
    }

    fn is_pointer(&self, of_type: &Die<'d>) -> bool {
        self.plain(of_type.clone(), 0).is_some_and(|plain| {
            matches!(
                plain.entry.tag(),
                dw::DW_TAG_pointer_type
                    | dw::DW_TAG_reference_type
                    | dw::DW_TAG_rvalue_reference_type
            )
        })
    }

    /// What a name stands for in a function.
    fn root(&self, function: &Die<'d>, name: &str, called: Option<&str>) -> Option<Place<'d>> {
        let mut found = Vec::new();
        self.variables(function, name, &mut found, 0);
        if !found.is_empty() {
            let of_type = self.one_type(&found)?;
            let function = portable(called.unwrap_or_default());
            let function = function.split('(').next().unwrap_or_default();
            let brackets = if is_of_rust(&of_type.unit) { "" } else { "()" };
            let base = Base::Variable(format!("{function}{brackets}::{name}"));
            return Some(Place::new(of_type, base));
        }
        if let Some(class) = self.this(function) {
            let mut place = self.within(class)?;
            place.of_this = true;
            // What a lambda keeps of its surroundings.
            for outer in ["this", "__this"] {
                let mut inner = self.within(place.of_type.clone())?;
                if self.member(&mut inner, outer, 0) {
                    place = self.pointed(&inner.of_type)?;
                    break;
                }
            }
            // A lambda, or a class of a function, sees that function's variables as well.
            return self.member(&mut place, name, 0).then_some(place);
        }
        if !self.sees_file {
            return None;
        }
        let found = self.names.variables(self.files, name);
        let (of_type, base) = (self.one_type(&found)?, Base::Variable(name.to_owned()));
        Some(Place::new(of_type, base))
    }

    /// Variables and parameters of this name in a function, wherever in it they hold.
    fn variables(&self, die: &Die<'d>, name: &str, found: &mut Vec<Die<'d>>, depth: u32) {
        if depth > DEEPEST {
            return;
        }
        for child in self.files.children(die) {
            match child.entry.tag() {
                dw::DW_TAG_variable | dw::DW_TAG_formal_parameter
                    if self.name(&child, 0).is_some_and(|own| own == name) =>
                {
                    found.push(child);
                }
                dw::DW_TAG_lexical_block | dw::DW_TAG_try_block | dw::DW_TAG_catch_block => {
                    self.variables(&child, name, found, depth + 1);
                }
                _ => {}
            }
        }
        // A copy of a function may lack what it does not use.
        if let Some(origin) = self.files.referred(die, dw::DW_AT_abstract_origin)
            && origin.entry.tag() == dw::DW_TAG_subprogram
        {
            self.variables(&origin, name, found, depth + 1);
        }
    }

    /// The type that all of the variables have.
    fn one_type(&self, variables: &[Die<'d>]) -> Option<Die<'d>> {
        let mut types = variables.iter().map(|variable| self.files.type_of(variable, 0));
        let first = types.next()??;
        types
            .all(|of_type| of_type.is_some_and(|of_type| is_same(&of_type, &first)))
            .then_some(first)
    }

    /// The class of a method's object.
    fn this(&self, function: &Die<'d>) -> Option<Die<'d>> {
        let mut found = Vec::new();
        for name in ["this", "__closure"] {
            self.variables(function, name, &mut found, 0);
        }
        Some(self.pointed(&self.one_type(&found)?)?.of_type)
    }

    /// The object of a class, as what a way begins at.
    fn within(&self, class: Die<'d>) -> Option<Place<'d>> {
        let (name, is_lock) = (self.type_name(&class), self.is_lock(&class, 0));
        // A class without a name is a lambda's: what it keeps is somebody else's.
        let base =
            name.map_or_else(|| Base::Variable(String::new()), |name| Base::Type(name, is_lock));
        Some(Place::new(class, base))
    }

    /// What a pointer, reference or object that stands for one points to.
    fn pointed(&self, pointer: &Die<'d>) -> Option<Place<'d>> {
        let pointer = self.plain(pointer.clone(), 0)?;
        let target = match pointer.entry.tag() {
            dw::DW_TAG_pointer_type
            | dw::DW_TAG_reference_type
            | dw::DW_TAG_rvalue_reference_type => self.files.referred(&pointer, dw::DW_AT_type)?,
            dw::DW_TAG_structure_type | dw::DW_TAG_class_type => {
                self.argument_of(&pointer, SMART_POINTERS)?
            }
            _ => return None,
        };
        self.within(self.plain(target, 0)?)
    }

    /// The first type argument of a class that is one of those named.
    fn argument_of(&self, class: &Die<'d>, names: &[&str]) -> Option<Die<'d>> {
        let name = self.type_name(class)?;
        let (name, _) = name.split_once('<')?;
        let (scope, name) = name.rsplit_once("::")?;
        // Others may call their own so, and mean something else.
        let is_standard = STANDARD.iter().any(|standard| {
            scope
                .strip_prefix(standard)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        });
        let is_known = is_standard && names.contains(&name);
        let arguments = is_known.then(|| self.files.children(class))?;
        let is_type = |die: &&Die<'_>| die.entry.tag() == dw::DW_TAG_template_type_parameter;
        self.files.referred(arguments.iter().find(is_type)?, dw::DW_AT_type)
    }

    fn step(&self, place: Place<'d>, step: Step<'_>) -> Option<Place<'d>> {
        match step {
            Step::Dot(name) => {
                let mut place = self.settled(place)?;
                if self.member(&mut place, name, 0) {
                    return Some(place);
                }
                // Rust looks through what stands for an object.
                let mut place = is_of_rust(&place.of_type.unit)
                    .then(|| self.pointed(&place.of_type))
                    .flatten()?;
                self.member(&mut place, name, 0).then_some(place)
            }
            Step::Arrow(name) => {
                let pointer = self.settled_pointer(place)?;
                let mut place = self.pointed(&pointer)?;
                self.member(&mut place, name, 0).then_some(place)
            }
            Step::Index => {
                let place = self.settled_pointer_place(place)?;
                let of_type = self.plain(place.of_type.clone(), 0)?;
                match of_type.entry.tag() {
                    dw::DW_TAG_array_type => {
                        let element = self.files.referred(&of_type, dw::DW_AT_type)?;
                        // An index of an array of arrays is one of several.
                        if self.files.dimensions(&of_type)?.len() != 1 {
                            return None;
                        }
                        let path = place.path + "[]";
                        Some(Place { of_type: element, path, ..place })
                    }
                    dw::DW_TAG_pointer_type => self.pointed(&of_type),
                    dw::DW_TAG_structure_type | dw::DW_TAG_class_type => {
                        let element = self.argument_of(&of_type, CONTAINERS)?;
                        self.within(self.plain(element, 0)?)
                    }
                    _ => None,
                }
            }
        }
    }

    /// As [`Self::settled`], of what may be a pointer.
    fn settled_pointer_place(&self, place: Place<'d>) -> Option<Place<'d>> {
        let plain = self.plain(place.of_type.clone(), 0)?;
        match plain.entry.tag() {
            dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type => {
                let target = self.files.referred(&plain, dw::DW_AT_type)?;
                let mut of = self.within(self.plain(target.clone(), 0)?)?;
                of.of_type = target;
                Some(of)
            }
            _ => Some(place),
        }
    }

    fn settled_pointer(&self, place: Place<'d>) -> Option<Die<'d>> {
        Some(self.settled_pointer_place(place)?.of_type)
    }

    /// The place itself, or what the reference there refers to, without its typedefs.
    fn settled(&self, place: Place<'d>) -> Option<Place<'d>> {
        let plain = self.plain(place.of_type.clone(), 0)?;
        let is_rust = is_of_rust(&plain.unit);
        match plain.entry.tag() {
            dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type => self.pointed(&plain),
            dw::DW_TAG_pointer_type if is_rust => self.pointed(&plain),
            _ => Some(place),
        }
    }

    /// Goes on to the member of this name.
    fn member(&self, place: &mut Place<'d>, name: &str, depth: u32) -> bool {
        let Some(class) = self.class(&place.of_type).filter(|_| depth <= DEEPEST) else {
            return false;
        };
        let children = self.files.children(&class);
        for child in children.iter().filter(|child| is_member(child)) {
            let Some(of_type) = self.files.referred(child, dw::DW_AT_type) else { continue };
            match self.files.name(child) {
                Some(own) if own == name => {
                    // What lies in a lock is the lock to the reader.
                    let has_begun =
                        !place.path.is_empty() || matches!(place.base, Base::Variable(_));
                    let within_lock =
                        place.is_lock || (has_begun && self.is_lock(&place.of_type, 0));
                    if !within_lock && !is_reserved(name) {
                        place.path.push_str(if has_begun { "." } else { "" });
                        place.path.push_str(name);
                    }
                    place.is_lock = within_lock;
                    place.of_type = of_type;
                    return true;
                }
                Some(_) => {}
                // The members of a structure without a name are those of what it is in.
                None => {
                    let before = std::mem::replace(&mut place.of_type, of_type);
                    if self.member(place, name, depth + 1) {
                        return true;
                    }
                    place.of_type = before;
                }
            }
        }
        for base in children.iter().filter(|die| die.entry.tag() == dw::DW_TAG_inheritance) {
            let Some(of_type) = self.files.referred(base, dw::DW_AT_type) else { continue };
            let is_first = place.path.is_empty() && matches!(place.base, Base::Type(..));
            let Some(inner) = self.within(of_type.clone()) else { continue };
            let mut inner = match is_first {
                true => inner,
                false => Place {
                    of_type,
                    base: match &place.base {
                        Base::Type(name, is_lock) => Base::Type(name.clone(), *is_lock),
                        Base::Variable(name) => Base::Variable(name.clone()),
                    },
                    path: place.path.clone(),
                    ..*place
                },
            };
            if self.member(&mut inner, name, depth + 1) {
                *place = inner;
                return true;
            }
        }
        false
    }

    /// The class that a type is, by whatever name.
    fn class(&self, of_type: &Die<'d>) -> Option<Die<'d>> {
        let plain = self.plain(of_type.clone(), 0)?;
        let class = match plain.entry.tag() {
            dw::DW_TAG_typedef => self.files.referred(&plain, dw::DW_AT_type)?,
            _ => plain,
        };
        is_class(class.entry.tag()).then_some(class)
    }

    /// A type without qualifiers and typedefs, except a typedef that is its only name.
    fn plain(&self, of_type: Die<'d>, depth: u32) -> Option<Die<'d>> {
        match of_type.entry.tag() {
            _ if depth > DEEPEST => None,
            dw::DW_TAG_typedef
            | dw::DW_TAG_const_type
            | dw::DW_TAG_volatile_type
            | dw::DW_TAG_restrict_type
            | dw::DW_TAG_atomic_type => {
                let inner = self.files.referred(&of_type, dw::DW_AT_type)?;
                // A structure may have its only name by a typedef.
                if of_type.entry.tag() == dw::DW_TAG_typedef
                    && is_class(inner.entry.tag())
                    && self.files.name(&inner).is_none()
                {
                    return Some(of_type);
                }
                self.plain(inner, depth + 1)
            }
            _ => Some(of_type),
        }
    }

    /// Whether a type, or what it is a typedef of, is a lock to the reader.
    fn is_lock(&self, of_type: &Die<'d>, depth: u32) -> bool {
        if depth > DEEPEST {
            return false;
        }
        match of_type.entry.tag() {
            dw::DW_TAG_typedef
            | dw::DW_TAG_const_type
            | dw::DW_TAG_volatile_type
            | dw::DW_TAG_atomic_type => {
                let name = self.files.name(of_type);
                name.is_some_and(|name| is_lock(&name))
                    || self
                        .files
                        .referred(of_type, dw::DW_AT_type)
                        .is_some_and(|inner| self.is_lock(&inner, depth + 1))
            }
            tag if is_class(tag) => self.files.name(of_type).is_some_and(|name| is_lock(&name)),
            _ => false,
        }
    }

    /// The name of a type, with the namespaces and classes that it is in.
    fn type_name(&self, of_type: &Die<'d>) -> Option<String> {
        let name = self.files.name(of_type)?;
        let start = of_type.unit.header.debug_info_offset()?;
        let names = self.owners.names(self.files, of_type.file, start)?;
        let scope = names.scope_of(self.files, of_type.entry.offset());
        Some(scope.map_or_else(|| name.clone(), |scope| format!("{scope}::{name}")))
    }

    fn name(&self, die: &Die<'d>, depth: u32) -> Option<String> {
        self.files.name(die).or_else(|| {
            let origin = self.files.referred(die, dw::DW_AT_abstract_origin)?;
            if depth < DEEPEST { self.name(&origin, depth + 1) } else { None }
        })
    }
}

/// Namespaces of the standard libraries of C++ and Rust.
const STANDARD: &[&str] = &["std", "alloc"];

/// Classes whose `->` leads to an object of their first type argument, and through which Rust looks.
const SMART_POINTERS: &[&str] = &["unique_ptr", "shared_ptr", "Arc", "Rc", "Box"];

/// Classes whose elements are objects of their first type argument.
const CONTAINERS: &[&str] = &["vector", "array", "deque", "Vec"];

/// A step along an expression.
enum Step<'e> {
    Dot(&'e str),
    Arrow(&'e str),
    Index,
}

/// What is left of an expression.
struct Steps<'e> {
    rest: &'e str,
}

impl<'e> Steps<'e> {
    fn name(&mut self) -> Option<&'e str> {
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        (!name.is_empty()).then_some(name)
    }

    /// The next step, `Some(None)` if it is none that is known.
    fn next(&mut self) -> Option<Option<Step<'e>>> {
        if self.rest.is_empty() {
            return None;
        }
        if let Some(rest) = self.rest.strip_prefix('[') {
            let end = rest.find(']');
            self.rest = end.map_or("", |end| &rest[end + 1..]);
            return Some(end.map(|_| Step::Index));
        }
        if let Some(rest) = self.rest.strip_prefix("->") {
            self.rest = rest;
            return Some(self.name().map(Step::Arrow));
        }
        self.rest = self.rest.strip_prefix('.')?;
        Some(self.name().map(Step::Dot))
    }
}

/// A member of objects; a static one is not in them.
fn is_member(die: &Die<'_>) -> bool {
    die.entry.tag() == dw::DW_TAG_member
        && !die.entry.has_attr(dw::DW_AT_external)
        && unsigned(&die.entry, dw::DW_AT_bit_size).is_none()
}

fn is_same(a: &Die<'_>, b: &Die<'_>) -> bool {
    a.file == b.file
        && a.entry.offset() == b.entry.offset()
        && a.unit.header.debug_info_offset() == b.unit.header.debug_info_offset()
}
