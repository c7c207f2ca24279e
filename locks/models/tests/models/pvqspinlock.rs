use lockwright::pvqspinlock::{Hybrid, RawPvQspinlock, SingleSteal, Unfair};

use crate::exclusion::exclusive_models;
use crate::world::Loom;

mod hybrid {
    use super::*;

    exclusive_models!(RawPvQspinlock<Loom, Hybrid>);
}

mod single_steal {
    use super::*;

    exclusive_models!(RawPvQspinlock<Loom, SingleSteal>);
}

mod unfair {
    use super::*;

    exclusive_models!(RawPvQspinlock<Loom, Unfair>);
}
