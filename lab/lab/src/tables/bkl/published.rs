//! The document's two tables. Sites of one function are one here.

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
    /// TOTAL of each function's sites.
    pub sites: &'static [(&'static str, u64)],
}

/// 2.4.17, no patches applied.
pub const BEFORE: Published = Published {
    utilisation: 27.2,
    contention: 32.6,
    acquisitions: 8_823_974,
    wait_cpu: 7.1,
    longest_ms: 55.0,
    sites: &[
        ("do_exit", 193),
        ("ext2_delete_inode", 153_921),
        ("ext2_discard_prealloc", 756_626),
        ("ext2_get_block", 1_939_931),
        ("lookup_hash", 77_244),
        ("notify_change", 20_480),
        ("open_namei", 20_480 + 559_692),
        ("real_lookup", 8_881),
        ("schedule", 1_072),
        ("sys_lseek", 4_477_600),
        ("sys_rename", 31_200),
        ("vfs_create", 2 * 153_770),
        ("vfs_mkdir", 2 * 1_772),
        ("vfs_readdir", 4),
        ("vfs_rmdir", 2 * 1_919),
        ("vfs_statfs", 3),
        ("vfs_unlink", 2 * 153_761),
    ],
};

/// 2.4.17, the rollup applied.
pub const AFTER: Published = Published {
    utilisation: 17.2,
    contention: 8.2,
    acquisitions: 4_557_319,
    wait_cpu: 1.0,
    longest_ms: 10.0,
    sites: &[
        ("do_fcntl", 2),
        ("ext2_delete_inode", 155_532),
        ("ext2_free_blocks", 357_232),
        ("ext2_new_block", 324_391 + 2_063_114 + 62_865),
        ("inode_change_ok", 20_480),
        ("inode_setattr", 20_480),
        ("lookup_hash", 77_515),
        ("open_namei", 20_480 + 559_693),
        ("real_lookup", 8_833),
        ("schedule", 77_152),
        ("sem_exit", 193),
        ("sync_old_buffers", 37),
        ("sys_rename", 31_201),
        ("vfs_create", 2 * 153_762),
        ("vfs_mkdir", 2 * 1_770),
        ("vfs_rmdir", 2 * 1_920),
        ("vfs_unlink", 2 * 153_761),
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
    let of: u64 = table.sites.iter().filter(|(site, _)| *site == name).map(|(_, n)| n).sum();
    100.0 * of as f64 / table.acquisitions as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_table_has_more_at_its_sites_than_at_its_lock() {
        for (table, trimmed) in [(&BEFORE, 154_203), (&AFTER, 155_693)] {
            let sites: u64 = table.sites.iter().map(|(_, n)| n).sum();
            assert_eq!(table.acquisitions - sites, trimmed, "what the document left out");
        }
    }
}
