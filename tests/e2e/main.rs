//! End to end: small C and C++ programs, and Debian's servers, under the real tool.
//!
//! The programs lie in tests/programs and say in their first lines what they do. Golden reports lie
//! in tests/golden/e2e; `LOCKWRIGHT_BLESS=1` writes them anew. With `LOCKWRIGHT_CI=1` a package
//! that is not installed fails its test; without, the test says that it was skipped and why.

mod harness;

mod address_space;
mod advice;
mod all_keys;
mod allocations;
mod annotations;
mod atomic_sleep;
mod bench_locks;
mod bench_peers;
mod bench_tables;
mod bkl_fs;
mod build_driver;
mod c11;
mod c_locks;
mod classes;
mod complete;
mod constructors;
mod cxx;
mod damaged;
mod deadlocks;
mod doctor;
mod ends;
mod errors;
mod escapes;
mod faults;
mod file_sizes;
mod follow;
mod golden;
mod hangs;
mod hidden;
mod idioms;
mod inherited_locks;
mod joins;
mod kill9;
mod lockmeter_faults;
mod many;
mod mariadb;
mod memcached;
mod merge;
mod meter;
mod meter_command;
mod meter_diff;
mod missed;
mod misuse;
mod modules;
mod object_types;
mod objects;
mod options;
mod other_users;
mod own_objects;
mod passthrough;
mod processes;
mod programs;
mod sandboxes;
mod seccomp;
mod semaphores;
mod signals;
mod soak;
mod stack_use;
mod stories;
mod surroundings;
mod swap;
mod threadpool;
mod torture;
mod traced;
mod tune;
mod untrue;
mod unwatched;
mod verdicts;
mod waits;
mod wrappers;
