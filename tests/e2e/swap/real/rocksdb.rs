//! RocksDB: what was written is found, and transactions add up.

use super::Arm;
use crate::harness::{Scratch, installed, native};

const KEYS: &str = "10000";
const READS: &str = "2000";

pub fn work(arm: &Arm) {
    let ldb = installed(&["ldb"], "rocksdb-tools").expect("asked for before");
    let rounds = arm.rounds(|round| {
        let scratch = Scratch::new();
        let database = |name: &str| format!("--db={}", scratch.join(name).display());
        let bench = |name: &str, options: &[&str]| {
            let job = arm.job().args(["--threads=6", "--max_background_jobs=4"]).args(options);
            // Little of it is in memory: threads flush and compact.
            let run = job.args(["--write_buffer_size=262144"]).arg(database(name)).run();
            arm.ended(&run);
            run.text() + &run.stderr
        };
        let seed = format!("--seed={}", round + 1);
        let num = format!("--num={KEYS}");
        let reads = format!("--reads={READS}");
        let benchmarks =
            "--benchmarks=fillseq,overwrite,readwhilewriting,readrandom,waitforcompaction";
        let said = bench("filled", &[benchmarks, &num, &reads, &seed]);
        // One thread says it for all, in both of the benchmarks that read.
        let found = format!("({READS} of {READS} found)");
        assert_eq!(said.matches(&found).count(), 2, "not everything is found: {said}");

        // The first key: the number, and what fills it up to 16 bytes.
        let delete = ["delete", "0x00000000000000003030303030303030"];
        if arm.loses {
            let deleted = native(&ldb).arg(database("filled")).arg("--key_hex").args(delete).run();
            assert_eq!(deleted.code(), 0, "{}", deleted.stderr);
        }
        let counted = arm.other(&ldb).arg(database("filled")).args(["dump", "--count_only"]).run();
        arm.ended(&counted);
        let expected = format!("Keys in range: {KEYS}");
        assert!(
            counted.text().contains(&expected),
            "keys are not what was written: {}",
            counted.text()
        );

        // Pipelined writes, the default here, fail an assertion of the package's own.
        let options = ["--transaction_db=true", "--enable_pipelined_write=false", "--num=500"];
        let benchmark = ["--benchmarks=randomtransaction", "--transaction_sets=4", &seed];
        let said = bench("transactions", &[options, benchmark].concat());
        assert!(said.contains("RandomTransactionVerify Success"), "{said}");
    });
    eprintln!("rocksdb on {:?}: {rounds} rounds", arm.lock);
}
