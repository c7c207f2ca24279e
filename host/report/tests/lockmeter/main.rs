//! Reports of lockmeter, made of ledgers whose contents are known.

mod advice;
mod compat;
mod damage;
mod diff;
mod example;
mod exports;
mod golden;
mod ledger;
mod lock_stat;
mod metric_rules;
mod model;
#[path = "../pages/mod.rs"]
mod page_checks;
mod pages;
#[path = "../schema/mod.rs"]
mod schema;
mod text;
