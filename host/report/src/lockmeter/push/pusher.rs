//! `push.v1.PusherService/Push` by the Connect protocol: one message as the body of a POST request.

use prost::Message;

use super::batch::{Batch, Request};
use super::names::Identity;

#[derive(Clone, PartialEq, prost::Message)]
struct PushRequest {
    #[prost(message, repeated, tag = "1")]
    series: Vec<RawProfileSeries>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RawProfileSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<LabelPair>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<RawSample>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct LabelPair {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RawSample {
    #[prost(bytes = "vec", tag = "1")]
    raw_profile: Vec<u8>,
    #[prost(string, tag = "2")]
    id: String,
}

pub(super) fn request(identity: &Identity, batch: &Batch, profile: Vec<u8>) -> Request {
    // The server is not to take differences of what are differences.
    let own = [("__name__", "mutex"), ("__delta__", "false")];
    let pair = |(name, value): (&str, &str)| LabelPair { name: name.into(), value: value.into() };
    let labels = own.into_iter().chain(identity.pairs()).map(pair).collect();
    let samples = vec![RawSample { raw_profile: profile, id: batch.uuid() }];
    let message = PushRequest { series: vec![RawProfileSeries { labels, samples }] };
    Request {
        query: None,
        content_type: "application/proto".to_owned(),
        is_gzip: false,
        body: message.encode_to_vec(),
    }
}
