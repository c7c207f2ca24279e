//! What registers and stack slots have, as numbers that are equal for equal values.

use std::collections::HashMap;

use iced_x86::Register;

/// What a register or a slot has, as far as it is known: equal numbers are equal values.
pub type Value = u32;

/// How a value came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Made {
    /// What a register had at the function's begin.
    First(Register),
    Constant(u64),
    Sum(Value, i64),
    /// What is in memory there.
    At(Value),
    /// Whether it is 0.
    IsZero(Value),
    /// Something of its own.
    New(u32),
}

/// All values of a walk.
#[derive(Default)]
pub struct Values {
    known: HashMap<Made, Value>,
    made: Vec<Made>,
}

impl Values {
    /// The number of what is made so.
    pub fn of(&mut self, made: Made) -> Value {
        let Self { known, made: all } = self;
        *known.entry(made).or_insert_with(|| {
            all.push(made);
            all.len() as Value - 1
        })
    }

    /// One that is equal to no other.
    pub fn new_one(&mut self) -> Value {
        self.of(Made::New(self.made.len() as u32))
    }

    /// A value and a number.
    pub fn sum(&mut self, value: Value, more: i64) -> Value {
        match self.made[value as usize] {
            _ if more == 0 => value,
            Made::Sum(base, offset) => self.sum(base, offset.wrapping_add(more)),
            Made::Constant(number) => self.of(Made::Constant(number.wrapping_add_signed(more))),
            _ => self.of(Made::Sum(value, more)),
        }
    }

    /// How much must be added to one value to make the other; `None` if that is not known.
    pub fn between(&self, from: Value, to: Value) -> Option<i64> {
        let parts = |value: Value| match self.made(value) {
            Made::Sum(base, more) => (base, more),
            _ => (value, 0),
        };
        let ((from, before), (to, after)) = (parts(from), parts(to));
        (from == to).then(|| after.wrapping_sub(before))
    }

    /// How a value was made.
    pub fn made(&self, value: Value) -> Made {
        self.made[value as usize]
    }
}
