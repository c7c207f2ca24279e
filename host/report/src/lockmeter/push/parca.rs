//! Parca's `WriteRaw` by its JSON gateway. (By gRPC, which it speaks besides, it would be HTTP/2.)

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::json;

use super::batch::Request;
use super::names::Identity;

pub(super) fn request(identity: &Identity, profile: &[u8]) -> Request {
    let labels = std::iter::once(("__name__", "mutex")).chain(identity.pairs());
    let labels: Vec<_> =
        labels.map(|(name, value)| json!({ "name": name, "value": value })).collect();
    let message = json!({
        // Addresses are those of the modules' files.
        "normalized": true,
        "series": [{
            "labels": { "labels": labels },
            "samples": [{ "rawProfile": BASE64_STANDARD.encode(profile) }],
        }],
    });
    Request {
        query: None,
        content_type: "application/json".to_owned(),
        is_gzip: false,
        body: message.to_string().into_bytes(),
    }
}
