use lockwright::debug::RawDebug;
use lockwright::tas::RawTas;

use crate::exclusion::{Exclusive, exclusion_models};
use crate::world::Loom;

type DebugTas = RawDebug<Loom, RawTas<Loom>>;

impl Exclusive for DebugTas {
    fn new() -> Self {
        Self::new_in(RawTas::new_in())
    }

    fn locked(&self, section: impl FnOnce()) {
        self.lock().unwrap();
        section();
        self.unlock().unwrap();
    }

    fn try_locked(&self, section: impl FnOnce()) -> bool {
        let taken = self.try_lock().unwrap();
        if taken {
            section();
            self.unlock().unwrap();
        }
        taken
    }
}

exclusion_models!(DebugTas);
