//! What a server for profiles is sent, for each shape of endpoint.

mod batch;
mod ingest;
mod names;
mod parca;
mod pusher;
mod shape;

use super::otlp::{self, About};
use super::pprof;

pub use batch::{Batch, Request};
pub use names::{Identity, Label};
pub use shape::Shape;

/// The request that gives an endpoint of this shape the batch.
pub fn request(shape: Shape, identity: &Identity, batch: &Batch) -> Request {
    let profile = || pprof::encode(&batch.samples, batch.period());
    match shape {
        Shape::Ingest => ingest::request(identity, batch, &profile()),
        Shape::Pusher => pusher::request(identity, batch, profile()),
        Shape::Parca => parca::request(identity, &profile()),
        Shape::Otlp => {
            let about = About {
                attributes: &identity.attributes(),
                id: batch.id_bytes(),
                period: batch.period(),
            };
            Request {
                query: None,
                content_type: "application/x-protobuf".to_owned(),
                is_gzip: true,
                body: pprof::compress(&otlp::encode(&batch.samples, &about)),
            }
        }
    }
}
