//! Completions: waits that another thread ends.

use crate::capture::Capture;
use crate::lockdep::acquire::Acquire;
use crate::lockdep::recorder::Recorder;
use crate::lockdep::thread::ThreadState;

/// The thread ends the waits for `completion`. The waiters depend on each lock that the thread
/// holds now: those are recorded as taken inside the completion.
pub(crate) fn completes(
    recorder: &mut Recorder,
    thread: &mut ThreadState,
    completion: &Acquire,
    capture: Capture<'_>,
) {
    let mut parent = recorder.nested(0, completion, 0, thread.segment(), capture);
    // Stacks of what is held come with its contexts.
    recorder.place_held(thread);
    for i in 1..=thread.depth() {
        let held = thread.held_at(i);
        if held.addr == 0 || parent == 0 {
            continue;
        }
        parent = recorder.place(parent, &held, 0, thread.segment());
        if parent != 0 {
            recorder.attest(parent, thread.segment());
        }
    }
}
