//! debugobjects' engine against what it is told.

mod host;
mod selftest;
mod table;
