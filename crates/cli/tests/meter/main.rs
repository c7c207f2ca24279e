//! Reports of lockmeter, made of ledgers whose contents are known.

mod example;
mod golden;
mod ledger;
mod model;
mod text;
