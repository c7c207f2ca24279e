//! Tests of debugobjects' engine, by the operations that it gets.

mod host;
mod interrupt;
mod memory;
mod model;
mod selftest;
mod table;
mod threads;
