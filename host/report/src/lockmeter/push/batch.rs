//! What is sent in one request.

use serde::{Deserialize, Serialize};

use crate::lockmeter::contention::Sample;
use crate::lockmeter::pprof::Period;

/// Samples of a stretch of time, sent together or not at all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// By which a server can know that it has it already: random bits.
    pub id: [u64; 2],
    /// Begin, ns since the epoch.
    pub begun_ns: u64,
    /// End, likewise.
    pub ended_ns: u64,
    /// What was measured in between.
    pub samples: Vec<Sample>,
}

impl Batch {
    pub(super) fn period(&self) -> Period {
        let duration_ns = self.ended_ns.saturating_sub(self.begun_ns);
        Period { begun_ns: self.begun_ns, duration_ns }
    }

    /// Its id in hexadecimal digits.
    pub(super) fn digits(&self) -> String {
        let [high, low] = self.id;
        format!("{high:016x}{low:016x}")
    }

    pub(super) fn id_bytes(&self) -> [u8; 16] {
        let [high, low] = self.id;
        (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
    }

    /// Its id as a UUID is written.
    pub fn uuid(&self) -> String {
        let digits = self.digits();
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32];
        parts.map(|part| &digits[part]).join("-")
    }
}

/// A POST request.
#[derive(Debug)]
pub struct Request {
    /// What comes after the `?` of the URL.
    pub query: Option<String>,
    /// Its Content-Type.
    pub content_type: String,
    /// The body is compressed, beyond what the profile itself is.
    pub is_gzip: bool,
    /// Its body.
    pub body: Vec<u8>,
}
