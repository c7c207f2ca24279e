//! The name of an object in a report: by its variable, by where it was made, or by its address.

use lockwright_ledger::rows::object::{ObjectFinding as Row, object_type};

use crate::finding::lock_kind::Subject;
use crate::finding::{LockInfo, LockOrigin, Name, object_types};
use crate::model::Model;

/// An object with its names.
pub struct Called {
    /// As sentences have it.
    pub named: Name,
    /// As the report has it.
    pub info: LockInfo,
    /// Equal for objects that are the same to a reader.
    pub identity: String,
}

/// Names the object of a row. `own` is the program's name for its type, empty for the C library's
/// types.
pub fn of(model: &Model<'_>, row: &Row, builtin: u32, own: &str) -> Called {
    let (kind, what) = match own {
        "" => (Subject::Object(builtin), object_types::name(builtin).to_owned()),
        own => (Subject::Own(own.to_owned()), format!("object of type {own}")),
    };
    let init = if builtin == object_type::TIMER { "created" } else { "initialised" };
    let made = model.short_place(row.init_stack);
    let made = made.map(|place| format!("{what} {init} at {place}"));
    let (origin, identity) = match &made {
        Some(_) => (LockOrigin::Init, model.place(row.init_stack)),
        None => (LockOrigin::Unknown, String::new()),
    };
    let called = |named: Name, class, origin, addr, identity| Called {
        info: LockInfo {
            name: named.clone(),
            class,
            class_by_place: None,
            kind: kind.clone(),
            addr,
            created: if origin == LockOrigin::Init {
                model.stack(row.init_stack)
            } else {
                Vec::new()
            },
            origin,
        },
        named,
        identity: format!("{kind}\n{identity}"),
    };
    if builtin == object_type::TIMER {
        // Another run may have another number.
        let class = Name::description(made.unwrap_or(what));
        return called(Name::symbol(timer(row.addr)), class, origin, None, identity);
    }
    let addr = (row.addr != 0).then_some(row.addr);
    // Its module was there when it was first heard of, whatever became of that since.
    let seen = [row.init_stack, row.active_stack, row.stack].into_iter().find(|&stack| stack != 0);
    if let Some(variable) = model.element_at(row.addr, seen.unwrap_or(0)) {
        return {
            let name = Name::symbol(variable.as_str());
            called(name.clone(), name, LockOrigin::Static, addr, variable)
        };
    }
    // As a lock is called: by the member that its line of source initialises.
    let member = (own.is_empty() && origin == LockOrigin::Init)
        .then(|| model.symbols.lock_member(row.init_stack))
        .flatten()
        .filter(|member| !member.is_pointer);
    if let (Some(member), Some(by_place)) = (member, &made) {
        // Where several classes have the name, theirs have more to it.
        let class = model.classes.created_at(&identity);
        let class = class.filter(|class| class.name.starts_with(&member.name));
        let name = Name::symbol(class.map_or(member.name, |class| class.name.clone()));
        let mut called = called(name.clone(), name, origin, addr, identity);
        called.info.class_by_place = Some(by_place.clone());
        return called;
    }
    let name = made.unwrap_or_else(|| format!("{what} at {:#x}", row.addr));
    let name = Name::description(name);
    called(name.clone(), name, origin, addr, identity)
}

/// A timer's name. Its id is a small number, but one that calls a function is known by an address.
fn timer(id: u64) -> String {
    match u32::try_from(id) {
        Ok(id) => format!("timer {id}"),
        Err(_) => format!("timer {id:#x}"),
    }
}
