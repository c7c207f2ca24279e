use lockwright::mcs::RawMcs;

use crate::exclusion::exclusive_models;
use crate::world::Loom;

exclusive_models!(RawMcs<Loom>);
