//! Names of locks on the heap and on stacks: the member that the call at which a lock was created or first
//! taken names in its line of source, by the types that it names there.
//!
//! Without the file of source, as it was when the program was built, there is none.

use std::path::Path;
use std::rc::Rc;

use lockwright_ledger::layout;

use super::lock_expression::{
    calls_in_line, guarded_in_line, guards_in_line, in_line, is_alone, own_calls_in_line,
    owner_in_line,
};
use super::lock_owner::{Call, Owner};
use super::merged_calls::CallsLeft;
use super::wrapper::own_frames;
use super::{Image, Symbols};
use crate::finding::Frame;

/// Methods of locks that are looked through on the way out to the lock's owner.
const DEEPEST: usize = 4;

/// What a function of the program's own took, as seen from where it was called.
enum Inner {
    /// What lies in its object, so that object by this method of its class.
    Object { class: String, method: String },
    /// A lock of this type that a guard was made with.
    Guarded { class: String, guard: String },
}

impl Inner {
    /// The type of the lock.
    fn class(&self) -> &str {
        let (Self::Object { class, .. } | Self::Guarded { class, .. }) = self;
        class
    }

    /// What was called in the line.
    fn called(&self) -> &str {
        let (Self::Object { method: name, .. } | Self::Guarded { guard: name, .. }) = self;
        name
    }

    /// How many such calls a line has that are not known anyway.
    fn calls_in_line(&self, line: &str) -> usize {
        match self {
            Self::Object { method, .. } => own_calls_in_line(line, method),
            Self::Guarded { guard, .. } => guards_in_line(line, guard),
        }
    }

    /// What a line calls it.
    fn in_line<'l>(&self, line: &'l str) -> Option<&'l str> {
        match self {
            // It may have been called by a guard of the standard library's.
            Self::Object { method, .. } => owner_in_line(line, method).or_else(|| in_line(line)),
            Self::Guarded { guard, .. } => guarded_in_line(line, guard),
        }
    }
}

/// What the source calls a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockMember {
    /// `store::Session::mu_`.
    pub name: String,
    /// It is a field that points to the lock, as others may.
    pub is_pointer: bool,
}

/// What is known on the way out.
#[derive(Default)]
struct Known {
    inner: Option<Inner>,
    /// What is left of the way once the object has a name.
    path: String,
    /// What it is called if nothing is known further out.
    name: Option<String>,
}

impl Symbols<'_> {
    /// The member, or variable of a function, that the lock of the call with stack `stack_id` is:
    /// `store::Session::mu_`. `None` where that is not certain.
    pub fn lock_member(&self, stack_id: u32) -> Option<LockMember> {
        let mut known = Known::default();
        let plain = |name| LockMember { name, is_pointer: false };
        self.owner_of(stack_id, &mut known).or(known.name.map(plain))
    }

    fn owner_of(&self, stack_id: u32, known: &mut Known) -> Option<LockMember> {
        let (addresses, epoch) = self.ledger.stack(stack_id)?;
        // Functions further in only wrap the call, and took locks for several others.
        let all = self.stack(stack_id);
        let place = all.len() - own_frames(&all).len();
        let (mut seen, mut next) = (0, 0);
        for address in addresses {
            if layout::interpreted(address).is_some() {
                return None;
            }
            let frames = self.return_address(address, epoch);
            for (inlined, frame) in frames.iter().enumerate() {
                let wraps = next < place;
                next += 1;
                if is_of_library(frame) || is_helper_of_library(frame, frames.last()) {
                    continue;
                }
                seen += 1;
                if seen > DEEPEST {
                    return None;
                }
                let (image, at) = self.image_at(address, epoch)?;
                let line = self.line(frame, &image)?;
                let expression = match &known.inner {
                    None => in_line(&line),
                    Some(inner) => inner.in_line(&line),
                };
                let function = frame.function.as_deref();
                let whole = function.unwrap_or_default().split('(').next().unwrap_or_default();
                let mut scopes = whole.rsplit("::");
                let method = scopes.next().unwrap_or_default();
                let is_constructor = scopes.next() == Some(method);
                let expression = expression.filter(|one| is_alone(&line, one, method))?;
                let call = Call {
                    address: at,
                    // The innermost is the last that was inlined.
                    inlined: frames.len() - 1 - inlined,
                    all_inlined: frames.len() - 1,
                    function,
                    expression,
                    lock_class: known.inner.as_ref().map(Inner::class),
                };
                let (owner, left) = image.owner(call)?;
                if left.is_some_and(|left| self.are_merged(&image, &left, known.inner.as_ref())) {
                    return None;
                }
                let is_it = |of_type: &str| {
                    known.inner.as_ref().is_none_or(|inner| inner.class() == of_type)
                };
                match owner {
                    Owner::Member { of_type, .. } | Owner::InLock { of_type, .. }
                        if !is_it(&of_type) =>
                    {
                        return None;
                    }
                    Owner::Member { name, within: Some(within), .. } if wraps => {
                        known.name = Some(name + &known.path);
                        if let Some(path) = within.path {
                            known.path = format!(".{path}{}", known.path);
                        }
                        let (class, method) = (within.class, method.to_owned());
                        known.inner = Some(Inner::Object { class, method });
                    }
                    Owner::Member { name, is_pointer, .. } => {
                        return Some(LockMember { name: name + &known.path, is_pointer });
                    }
                    Owner::InLock { class, .. } if wraps || known.inner.is_none() => {
                        known.inner = Some(Inner::Object { class, method: method.to_owned() });
                    }
                    Owner::Passed(class) if wraps && is_constructor && is_it(&class) => {
                        known.inner = Some(Inner::Guarded { class, guard: method.to_owned() });
                    }
                    Owner::InLock { .. } | Owner::Passed(_) => return None,
                }
            }
        }
        None
    }

    /// Whether more calls of locks stand in the lines of a function than are left of them, with those of
    /// what took `inner`.
    fn are_merged(&self, image: &Image, left: &CallsLeft, inner: Option<&Inner>) -> bool {
        let lines = image.lines(&left.code);
        let calls =
            lines.iter().filter(|(path, _)| !is_file_of_library(path)).map(|(path, line)| {
                let source = self.images.sources.get(path, *line);
                source.map_or(0, |source| {
                    let line = source.line(*line as usize);
                    calls_in_line(line) + inner.map_or(0, |inner| inner.calls_in_line(line))
                })
            });
        calls.sum::<usize>() > left.of_locks(inner.map(Inner::called))
    }

    /// The module that has the call that returns to `address`, and where the call is in its file.
    pub(super) fn image_at(&self, address: u64, epoch: u32) -> Option<(Rc<Image>, u64)> {
        let call = address.checked_sub(1)?;
        let (row, module) = self.modules.at(call, epoch)?;
        Some((self.image(*row, module), call.wrapping_sub(module.bias)))
    }

    /// The line of source of a frame, unless the file is younger than the module.
    pub(super) fn line(&self, frame: &Frame, image: &Image) -> Option<String> {
        let line = frame.line?;
        let path = frame.file.as_deref()?;
        let built = image.built?;
        let written = Path::new(path).metadata().ok()?.modified().ok()?;
        let source = self.images.sources.get(path, line)?;
        (written <= built).then(|| source.line(line as usize).to_owned())
    }
}

/// Whether a frame is of C++'s or Rust's standard library, or of ours, which take the lock that they are
/// called with.
pub(super) fn is_of_library(frame: &Frame) -> bool {
    const SCOPES: &[&str] = &["std::", "core::", "alloc::", "lock_api::", "parking_lot::"];
    const OURS: &[&str] = &["lockwright::sync::", "lockwright::traced::", "lockwright::annotate::"];
    let name = frame.function.as_deref().unwrap_or_default();
    let name = name.trim_start_matches('<');
    let file = frame.file.as_deref().unwrap_or_default();
    SCOPES.iter().chain(OURS).any(|scope| name.starts_with(scope))
        || name.starts_with("__gthread")
        || is_file_of_library(file)
}

/// Whether a frame without a scope in its name was inlined into code of a library, `within`, from a file of
/// that same library.
pub(super) fn is_helper_of_library(frame: &Frame, within: Option<&Frame>) -> bool {
    let root = |frame: &Frame| {
        let file = frame.file.as_deref()?;
        Some(file[..file.rfind("/src/")?].to_owned())
    };
    let Some(within) = within.filter(|within| frame.inlined && is_of_library(within)) else {
        return false;
    };
    !frame.function.as_deref().is_some_and(|name| name.contains("::"))
        && root(frame).is_some_and(|own| root(within) == Some(own))
}

/// Whether a file is of C++'s or Rust's standard library.
fn is_file_of_library(file: &str) -> bool {
    const PARTS: &[&str] = &["/rustc/", "/lib/rustlib/src/rust/library/"];
    // C++ has files of each architecture besides: `/usr/include/x86_64-linux-gnu/c++/12/bits`.
    let is_of_cxx = file
        .split_once("/include/")
        .is_some_and(|(_, rest)| rest.starts_with("c++/") || rest.contains("-gnu/c++/"));
    is_of_cxx || PARTS.iter().any(|part| file.contains(part))
}
