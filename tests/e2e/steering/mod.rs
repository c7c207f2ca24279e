//! Threads that are held up or delayed: `lockwright confirm`, `check --confirm` and `check --perturb`.

mod confirm;
mod perturb;
