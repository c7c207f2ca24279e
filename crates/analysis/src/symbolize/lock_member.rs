//! Names of locks on the heap and on stacks: the member that the call at which a lock was created or first
//! taken names in its line of source, by the types that it names there.
//!
//! Without the file of source, as it was when the program was built, there is none.

use std::path::Path;
use std::rc::Rc;

use lockwright_ledger::layout;

use super::lock_expression::{calls_in_line, in_line, is_alone, owner_in_line};
use super::lock_owner::{Call, Owner};
use super::merged_calls::CallsLeft;
use super::{Image, Symbols};
use crate::finding::Frame;

/// Methods of locks that are looked through on the way out to who owns the lock.
const DEEPEST: usize = 4;

impl Symbols<'_> {
    /// The member, or variable of a function, that the lock of the call with stack `stack_id` is:
    /// `store::Session::mu_`. `None` where that is not certain.
    pub fn lock_member(&self, stack_id: u32) -> Option<String> {
        let (addresses, epoch) = self.ledger.stack(stack_id)?;
        // The class of lock that a method of its own took, and the method's name.
        let mut inner: Option<(String, String)> = None;
        let mut seen = 0;
        for address in addresses {
            if layout::interpreted(address).is_some() {
                return None;
            }
            let frames = self.return_address(address, epoch);
            for (inlined, frame) in frames.iter().enumerate() {
                if is_of_library(frame) || is_helper_of_library(frame, frames.last()) {
                    continue;
                }
                seen += 1;
                if seen > DEEPEST {
                    return None;
                }
                let (image, at) = self.image_at(address, epoch)?;
                let line = self.line(frame, &image)?;
                let expression = match &inner {
                    None => in_line(&line),
                    Some((_, method)) => owner_in_line(&line, method),
                };
                let function = frame.function.as_deref();
                let method = function.unwrap_or_default().split('(').next().unwrap_or_default();
                let method = method.rsplit("::").next().unwrap_or_default();
                let expression = expression.filter(|one| is_alone(&line, one, method))?;
                let call = Call {
                    address: at,
                    // The innermost is the last that was inlined.
                    inlined: frames.len() - 1 - inlined,
                    all_inlined: frames.len() - 1,
                    function,
                    expression,
                };
                let (owner, left) = image.owner(call)?;
                if left.is_some_and(|left| self.are_merged(&image, &left)) {
                    return None;
                }
                match (owner, &inner) {
                    (Owner::Member { name, .. }, None) => return Some(name),
                    (Owner::Member { name, of_type }, Some((class, _))) => {
                        return (of_type == *class).then_some(name);
                    }
                    (Owner::InLock(class), None) => {
                        inner = Some((class, method.to_owned()));
                    }
                    (Owner::InLock(_), Some(_)) => return None,
                }
            }
        }
        None
    }

    /// Whether more calls of locks stand in the lines of a function than are left of them.
    fn are_merged(&self, image: &Image, left: &CallsLeft) -> bool {
        let lines = image.lines(&left.code);
        let calls =
            lines.iter().filter(|(path, _)| !is_file_of_library(path)).map(|(path, line)| {
                let source = self.images.sources.get(path, *line);
                source.map_or(0, |source| calls_in_line(source.line(*line as usize)))
            });
        calls.sum::<usize>() > left.of_locks
    }

    /// The module that has the call that returns to `address`, and where the call is in its file.
    fn image_at(&self, address: u64, epoch: u32) -> Option<(Rc<Image>, u64)> {
        let call = address.checked_sub(1)?;
        let (row, module) = self.modules.at(call, epoch)?;
        Some((self.image(*row, module), call.wrapping_sub(module.bias)))
    }

    /// The line of source of a frame, unless the file is younger than the module.
    fn line(&self, frame: &Frame, image: &Image) -> Option<String> {
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
fn is_of_library(frame: &Frame) -> bool {
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
fn is_helper_of_library(frame: &Frame, within: Option<&Frame>) -> bool {
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
    const PARTS: &[&str] = &["/include/c++/", "/rustc/", "/lib/rustlib/src/rust/library/"];
    PARTS.iter().any(|part| file.contains(part))
}
