//! What a report calls a lock or another object.

use std::fmt;

use serde::{Serialize, Serializer};

/// What a lock, or another object, is called.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// The name, or a description.
    pub text: String,
    /// It is the program's own name, to be quoted.
    pub is_symbol: bool,
}

impl Name {
    /// The program's own name.
    pub fn symbol(name: impl Into<String>) -> Self {
        Self { text: name.into(), is_symbol: true }
    }

    /// A description of what has no name.
    pub fn description(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_symbol: false }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.text == *other
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}
