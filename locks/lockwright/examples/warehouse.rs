//! A small warehouse with the locks of `lockwright::sync`, and a fault in it for the tool to find.
//!
//!     cargo build --example warehouse
//!     lockwright check -- target/debug/examples/warehouse
//!
//! Clerks take goods from a shelf and note it in the ledger. The stocktaking reads the ledger first and
//! then the shelves: the other order. It comes when the clerks are done, so this never hangs here.

use std::thread;
use std::time::Duration;

use lockwright::sync::{Arc, Mutex, RwLock};

struct Shelf {
    goods: Mutex<u32>,
}

struct Warehouse {
    shelves: Vec<Shelf>,
    ledger: RwLock<Vec<(usize, u32)>>,
}

impl Warehouse {
    fn with_shelves(count: usize) -> Self {
        let shelves = (0..count).map(|_| Shelf { goods: Mutex::new(100) }).collect();
        Self { shelves, ledger: RwLock::new(Vec::new()) }
    }

    fn take(&self, shelf: usize, amount: u32) {
        let mut goods = self.shelves[shelf].goods.lock().unwrap();
        *goods -= amount;
        self.ledger.write().unwrap().push((shelf, amount));
    }

    fn is_consistent(&self) -> bool {
        let ledger = self.ledger.read().unwrap();
        let taken: u32 = ledger.iter().map(|(_, amount)| amount).sum();
        let left: u32 = self.shelves.iter().map(|shelf| *shelf.goods.lock().unwrap()).sum();
        left + taken == 100 * u32::try_from(self.shelves.len()).unwrap()
    }
}

fn main() {
    let warehouse = Arc::new(Warehouse::with_shelves(3));
    let in_thread = |name: &str, work: Box<dyn FnOnce(&Warehouse) + Send>| {
        let warehouse = Arc::clone(&warehouse);
        let thread = thread::Builder::new().name(name.into());
        thread.spawn(move || work(&warehouse)).unwrap()
    };
    let clerks = (0..3).map(|clerk| {
        let round = move |warehouse: &Warehouse| (0..20).for_each(|_| warehouse.take(clerk, 1));
        in_thread(&format!("clerk-{clerk}"), Box::new(round))
    });
    let mut threads: Vec<_> = clerks.collect();
    threads.push(in_thread(
        "stocktaking",
        Box::new(|warehouse| {
            thread::sleep(Duration::from_millis(200));
            assert!(warehouse.is_consistent());
        }),
    ));
    for thread in threads {
        thread.join().unwrap();
    }
}
