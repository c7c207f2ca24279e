//! debugobjects' engine against what it is told.

mod host;
mod interrupt;
mod memory;
mod model;
mod selftest;
mod table;
mod threads;
