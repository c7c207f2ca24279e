//! Which bucket of a log-linear histogram a value falls into: 64 buckets an octave, so that a
//! bucket's middle is within 0.8 % of every value in it; below 64 each value has a bucket of its
//! own.
//!
//! Buckets are stored in runs of [`RUN`] neighbours: half an octave.

/// Buckets an octave, as a power of two.
const BITS: u32 = 6;

/// Buckets of one run.
pub const RUN: usize = 32;

/// Runs that 64-bit values can fall into.
pub const RUNS: usize = (64 - BITS as usize + 1) * (1 << BITS) / RUN;

/// Number of the bucket of `value`.
#[inline(always)]
pub const fn bucket(value: u64) -> usize {
    // Values below 64 count as if they were of the octave that begins with 64, whose buckets are 1
    // wide.
    let octave = (value | 1 << BITS).ilog2() - BITS;
    ((octave as usize) << BITS) + (value >> octave) as usize
}

/// The least and the greatest value of bucket `bucket`.
pub const fn bounds(bucket: usize) -> (u64, u64) {
    if bucket < 1 << BITS {
        return (bucket as u64, bucket as u64);
    }
    let octave = (bucket >> BITS) - 1;
    let first = ((bucket & ((1 << BITS) - 1)) as u64 + (1 << BITS)) << octave;
    (first, first + ((1 << octave) - 1))
}

/// The value that stands for all in `bucket`: within 0.8 % of each.
pub const fn middle(bucket: usize) -> u64 {
    let (first, last) = bounds(bucket);
    first + (last - first) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_one_another_without_a_gap() {
        let mut expected = 0;
        for index in 0..RUNS * RUN {
            let (first, last) = bounds(index);
            assert_eq!(first, expected, "bucket {index}");
            assert_eq!((bucket(first), bucket(last)), (index, index));
            expected = last.wrapping_add(1);
        }
        assert_eq!(expected, 0, "the last bucket ends with the last value");
    }

    #[test]
    fn the_middle_is_near_every_value() {
        for value in (0..50_000).chain((16..64).flat_map(|bit| [1 << bit, (1 << bit) + 12_345])) {
            let error = middle(bucket(value)).abs_diff(value) as f64;
            assert!(error <= value as f64 * 0.008, "{value}: off by {error}");
        }
    }
}
