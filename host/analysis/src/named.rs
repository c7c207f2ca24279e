//! Enumerations whose values have names that the JSON, files of rules and command lines share.

/// An enumeration of one row per value: its documentation, the value and its name. Makes `ALL`,
/// `name`, and the names that serde and clap go by.
macro_rules! named {
    (
        $(#[$meta:meta])*
        pub enum $type:ident {
            $($(#[$doc:meta])* $value:ident = $name:literal,)*
        }
    ) => {
        $(#[$meta])*
        pub enum $type {
            $($(#[$doc])* #[serde(rename = $name)] $value,)*
        }

        impl $type {
            /// All of them, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$value),*];

            /// What it is called by machines.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)*
                }
            }
        }
    };
}

pub(crate) use named;
