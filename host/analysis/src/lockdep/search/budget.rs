//! Limits to searches whose full extent is exponential, and the memory that a limit was met.

/// Steps that a search may take.
#[derive(Clone, Debug)]
pub struct Budget {
    left: u64,
    spent_out: bool,
}

impl Budget {
    /// So many steps.
    pub fn new(steps: u64) -> Self {
        Self { left: steps, spent_out: false }
    }

    /// Takes `steps`; false once there are not enough of them left.
    pub fn take(&mut self, steps: u64) -> bool {
        match self.left.checked_sub(steps) {
            Some(left) => self.left = left,
            None => self.spent_out = true,
        }
        !self.spent_out
    }

    /// Whether the steps ran out, and so something was not looked at.
    pub fn is_spent_out(&self) -> bool {
        self.spent_out
    }
}
