//! Call stacks, and interpreters' frames in them.

use super::Core;
use crate::capture::Capture;
use crate::lockdep::recorder::Interpreter;

impl Core {
    /// Interns a call stack.
    pub fn stack(&mut self, frames: &[u64]) -> u32 {
        self.recorder.stack(frames)
    }

    /// Reads the return addresses of an interned call stack, as many as `frames` holds, and says
    /// how many these are.
    pub fn read_stack(&self, stack: u32, frames: &mut [u64]) -> usize {
        self.recorder.read_stack(stack, frames)
    }

    /// Stack of the calling thread's place, for [`crate::lockdep::ThreadState::pin`].
    pub fn pin_stack(&mut self, capture: Capture<'_>) -> u32 {
        self.recorder.captured(capture).max(1)
    }

    /// Has interpreters' frames looked up by `interpreter`.
    pub fn interpreted_by(&mut self, interpreter: Interpreter) {
        self.recorder.interpreted_by(interpreter);
    }

    /// The first `n` of `frames` are a stack as it was captured, by the calling thread and where it
    /// still is: puts the interpreter's frames in if that is asked for. How many there are then.
    pub fn with_interpreted(&mut self, frames: &mut [u64], n: usize) -> usize {
        self.recorder.with_interpreted(frames, n)
    }
}
