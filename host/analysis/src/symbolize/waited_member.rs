//! Names of condition variables, semaphores and barriers that are waited for: what the line of source with the call names, by the
//! types that it names there, as of [locks](super::lock_member).

use lockwright_ledger::layout;

use super::Symbols;
use super::lock_expression::{arguments, owners_of_any};
use super::lock_member::{is_helper_of_library, is_of_library};
use super::lock_owner::{Call, Owner};

/// The C library's functions that wait for their first argument.
const FUNCTIONS: &[&str] = &[
    "pthread_cond_wait",
    "pthread_cond_timedwait",
    "pthread_cond_clockwait",
    "pthread_barrier_wait",
    "sem_wait",
    "sem_timedwait",
    "sem_clockwait",
    "cnd_wait",
    "cnd_timedwait",
];

/// Methods that wait for their own object, of C++ and Rust.
const METHODS: &[&str] = &[
    "wait",
    "wait_for",
    "wait_until",
    "wait_while",
    "wait_timeout",
    "wait_timeout_while",
    "arrive_and_wait",
    "acquire",
];

/// What `line` waits for, as it stands there; `None` also where it waits for several.
fn in_line(line: &str) -> Option<&str> {
    let code = line.split("//").next().unwrap_or_default();
    let calls = FUNCTIONS.iter().flat_map(|name| arguments(code, name, false));
    let methods = METHODS.iter().flat_map(|name| owners_of_any(code, name));
    let mut found = calls.chain(methods);
    let (one, another) = (found.next()?, found.next());
    if another.is_some() { None } else { one }
}

impl Symbols<'_> {
    /// What the call with stack `stack_id` waits for: `store::Queue::ready`. `None` where that is not certain.
    pub fn waited_member(&self, stack_id: u32) -> Option<String> {
        let (addresses, epoch) = self.ledger.stack(stack_id)?;
        for address in addresses {
            if layout::interpreted(address).is_some() {
                return None;
            }
            let frames = self.return_address(address, epoch);
            let is_own =
                |frame| !is_of_library(frame) && !is_helper_of_library(frame, frames.last());
            let Some(inlined) = frames.iter().position(is_own) else { continue };
            let frame = &frames[inlined];
            let (image, at) = self.image_at(address, epoch)?;
            let line = self.line(frame, &image)?;
            let call = Call {
                address: at,
                inlined: frames.len() - 1 - inlined,
                all_inlined: frames.len() - 1,
                function: frame.function.as_deref(),
                expression: in_line(&line)?,
                lock_class: None,
            };
            return match image.owner(call)?.0 {
                Owner::Member { name, .. } => Some(name),
                // A class of the program's own: its caller would know.
                Owner::InLock { .. } | Owner::Passed(_) => None,
            };
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::in_line;

    #[test]
    fn what_is_waited_for() {
        for (line, expression) in [
            ("\t\tpthread_cond_wait(&queue->ready, &queue->lock);", Some("queue->ready")),
            ("while (pthread_cond_timedwait(&ready, &m, &at) == 0)", Some("ready")),
            ("q.ready.wait(l, [&] { return q.n > 0; });", Some("q.ready")),
            ("if (!this->cv_.wait_for(lock, 5ms))", Some("this->cv_")),
            ("guard = self.ready.wait(guard).unwrap();", Some("self.ready")),
            ("sem_wait(&items);", Some("items")),
            ("slots.acquire();", Some("slots")),
            ("pthread_cond_wait(ready, m);", None),
            ("first.wait(l); second.wait(l);", None),
            ("wait(l);", None),
            ("ready().wait(l);", None),
            ("co_await q.ready();", None),
        ] {
            assert_eq!(in_line(line), expression, "{line}");
        }
    }
}
