//! The shapes of endpoints.

use crate::lockmeter::otlp;

/// How an endpoint wants profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Pyroscope's `/ingest`, and those of servers that take the same.
    Ingest,
    /// `push.v1.PusherService/Push` by the Connect protocol: Pyroscope from 1.0 on.
    Pusher,
    /// Parca's `WriteRaw`, by its JSON gateway.
    Parca,
    /// OTLP over HTTP.
    Otlp,
}

impl Shape {
    /// What a server that has taken a request says is wrong with it.
    pub fn complaint(self, answer: &[u8]) -> Option<String> {
        if self == Self::Otlp { otlp::complaint(answer) } else { None }
    }
}
