use lockwright::tas::RawTas;

use crate::exclusion::exclusive_models;
use crate::world::Loom;

exclusive_models!(RawTas<Loom>);
