//! Reports of lockmeter, made of ledgers whose contents are known.

mod ledger;
mod model;
