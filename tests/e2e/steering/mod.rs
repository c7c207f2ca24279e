//! Threads that are held up, delayed or kept apart: `lockwright confirm`, `check --confirm`, `--perturb` and `--avoid`.

mod avoid;
mod confirm;
mod perturb;
