//! The document's two tables.

/// The line of `kernel_flag`, and the functions below it.
pub struct Published {
    /// Percent.
    pub utilisation: f64,
    /// Percent.
    pub contention: f64,
    /// TOTAL.
    pub acquisitions: u64,
    /// Percent.
    pub wait_cpu: f64,
    /// Milliseconds.
    pub longest_ms: f64,
    /// MEAN of HOLD, microseconds.
    pub hold_us: f64,
    /// MEAN of WAIT, microseconds.
    pub wait_us: f64,
    /// In the order of the table: by function, and within it by address.
    pub sites: &'static [Site],
}

/// A row of a table: one call site.
pub struct Site {
    /// The function that has it.
    pub function: &'static str,
    /// TOTAL.
    pub acquisitions: u64,
    /// CON, percent.
    pub contention: f64,
    /// MEAN of HOLD, microseconds.
    pub hold_us: f64,
    /// MEAN of WAIT, microseconds.
    pub wait_us: f64,
}

const fn site(function: &'static str, acquisitions: u64, figures: [f64; 3]) -> Site {
    let [contention, hold_us, wait_us] = figures;
    Site { function, acquisitions, contention, hold_us, wait_us }
}

/// 2.4.17, no patches applied.
pub const BEFORE: Published = Published {
    utilisation: 27.2,
    contention: 32.6,
    acquisitions: 8_823_974,
    wait_cpu: 7.1,
    longest_ms: 55.0,
    hold_us: 6.0,
    wait_us: 39.0,
    sites: &[
        site("do_exit", 193, [22.8, 7_711.0, 2_363.0]),
        site("ext2_delete_inode", 153_921, [14.9, 32.0, 21.0]),
        site("ext2_discard_prealloc", 756_626, [37.7, 1.3, 31.0]),
        site("ext2_get_block", 1_939_931, [35.8, 8.4, 40.0]),
        site("lookup_hash", 77_244, [36.8, 37.0, 52.0]),
        site("notify_change", 20_480, [18.7, 7.6, 18.0]),
        site("open_namei", 20_480, [30.3, 0.6, 36.0]),
        site("open_namei", 559_692, [45.5, 0.9, 30.0]),
        site("real_lookup", 8_881, [32.5, 23.0, 45.0]),
        site("schedule", 1_072, [63.0, 112.0, 38.0]),
        site("sys_lseek", 4_477_600, [30.0, 1.0, 41.0]),
        site("sys_rename", 31_200, [31.9, 84.0, 39.0]),
        site("vfs_create", 153_770, [42.7, 0.9, 31.0]),
        site("vfs_create", 153_770, [16.4, 62.0, 22.0]),
        site("vfs_mkdir", 1_772, [79.8, 2.1, 39.0]),
        site("vfs_mkdir", 1_772, [28.8, 119.0, 48.0]),
        site("vfs_readdir", 4, [75.0, 34.0, 20.0]),
        site("vfs_rmdir", 1_919, [33.8, 0.6, 381.0]),
        site("vfs_rmdir", 1_919, [20.5, 28.0, 59.0]),
        site("vfs_statfs", 3, [33.3, 7.7, 8.0]),
        site("vfs_unlink", 153_761, [32.1, 0.7, 36.0]),
        site("vfs_unlink", 153_761, [12.3, 51.0, 20.0]),
    ],
};

/// 2.4.17, the rollup applied.
pub const AFTER: Published = Published {
    utilisation: 17.2,
    contention: 8.2,
    acquisitions: 4_557_319,
    wait_cpu: 1.0,
    longest_ms: 10.0,
    hold_us: 7.2,
    wait_us: 41.0,
    sites: &[
        site("do_fcntl", 2, [50.0, 1.6, 59.0]),
        site("ext2_delete_inode", 155_532, [9.0, 36.0, 33.0]),
        site("ext2_free_blocks", 357_232, [4.8, 0.3, 33.0]),
        site("ext2_new_block", 324_391, [11.2, 0.5, 50.0]),
        site("ext2_new_block", 2_063_114, [1.6, 0.2, 15.0]),
        site("ext2_new_block", 62_865, [0.76, 0.2, 12.0]),
        site("inode_change_ok", 20_480, [8.4, 0.8, 19.0]),
        site("inode_setattr", 20_480, [4.1, 24.0, 14.0]),
        site("lookup_hash", 77_515, [17.4, 27.0, 59.0]),
        site("open_namei", 20_480, [18.9, 0.4, 49.0]),
        site("open_namei", 559_693, [22.3, 0.4, 43.0]),
        site("real_lookup", 8_833, [16.0, 19.0, 44.0]),
        site("schedule", 77_152, [26.3, 41.0, 44.0]),
        site("sem_exit", 193, [9.8, 1.6, 78.0]),
        site("sync_old_buffers", 37, [8.1, 4_598.0, 105.0]),
        site("sys_rename", 31_201, [16.1, 104.0, 56.0]),
        site("vfs_create", 153_762, [19.2, 0.4, 42.0]),
        site("vfs_create", 153_762, [4.8, 61.0, 16.0]),
        site("vfs_mkdir", 1_770, [28.8, 0.8, 35.0]),
        site("vfs_mkdir", 1_770, [10.5, 137.0, 34.0]),
        site("vfs_rmdir", 1_920, [16.4, 0.4, 76.0]),
        site("vfs_rmdir", 1_920, [8.9, 29.0, 53.0]),
        site("vfs_unlink", 153_761, [18.2, 0.4, 51.0]),
        site("vfs_unlink", 153_761, [4.1, 46.0, 15.0]),
    ],
};

/// Holds of one site.
#[derive(Clone, Copy)]
pub struct Holds {
    /// Microseconds.
    pub mean_us: f64,
    /// Microseconds.
    pub longest_us: f64,
}

/// do_exit before; sem_exit after.
pub const EXIT: [Holds; 2] =
    [Holds { mean_us: 7_711.0, longest_us: 55_000.0 }, Holds { mean_us: 1.6, longest_us: 5.5 }];

/// A function's part of a table's acquisitions, percent.
pub fn share(table: &Published, name: &str) -> f64 {
    let of = table.sites.iter().filter(|site| site.function == name);
    let of: u64 = of.map(|site| site.acquisitions).sum();
    100.0 * of as f64 / table.acquisitions as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_table_has_more_at_its_sites_than_at_its_lock() {
        for (table, trimmed) in [(&BEFORE, 154_203), (&AFTER, 155_693)] {
            let sites: u64 = table.sites.iter().map(|site| site.acquisitions).sum();
            assert_eq!(table.acquisitions - sites, trimmed, "what the document left out");
        }
    }
}
