use lockwright::ticket::RawTicket;

use crate::exclusion::exclusive_models;
use crate::world::Loom;

exclusive_models!(RawTicket<Loom>);
