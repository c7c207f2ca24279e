//! An acquisition: of which lock, where, and in which cell it is counted.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_engines::Trial;
use lockwright_engines::lockdep::Ident;
use lockwright_engines::lockmeter::{CellRef, key};
use lockwright_ledger::site;

use super::meter::WHAT;
use crate::callsite::Return;

/// A lock, as it is taken somewhere.
#[derive(Clone, Copy)]
pub struct Target {
    pub addr: u64,
    pub ident: Ident,
    pub mode: u16,
    pub site: u64,
    pub back: Return,
    /// Its stack has the lines of an interpreted language, as locks of its class are made and taken by those.
    pub has_lines: bool,
}

impl Target {
    /// The key at its own site.
    #[inline(always)]
    pub(super) fn key(&self) -> u64 {
        self.key_at(self.site)
    }

    /// The key at `site`.
    #[inline(always)]
    pub(super) fn key_at(&self, site: u64) -> u64 {
        key(self.ident.0 & WHAT.load(Relaxed), self.mode, site)
    }

    /// The key at a site of which nothing but the hash counts.
    #[inline(always)]
    pub(super) fn key_past(&self, site: u64) -> u64 {
        self.key_at(site::hash(site))
    }
}

/// What an acquisition is counted in.
#[derive(Clone, Copy)]
pub struct Spot {
    pub cell: CellRef,
    /// What its release is to decide on the call site.
    pub(super) trial: Option<Trial>,
}
