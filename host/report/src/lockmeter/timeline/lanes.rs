//! Slices on tracks. On one track slices follow each other or lie within each other: what overlaps in another way is on a track of
//! its own, because readers drop it otherwise.

/// The beginning or the end of a slice, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Begin(usize),
    End(usize),
}

/// A track: times and steps, in order.
pub type Lane = Vec<(u64, Step)>;

/// A track that is being filled.
#[derive(Default)]
struct Filling {
    steps: Lane,
    /// Slices that are open, the innermost last: their ends and numbers.
    open: Vec<(u64, usize)>,
}

impl Filling {
    /// Ends what is over at `now`.
    fn end_until(&mut self, now: u64) {
        while let Some((end, number)) = self.open.pop_if(|(end, _)| *end <= now) {
            self.steps.push((end, Step::End(number)));
        }
    }

    fn has_room(&self, end: u64) -> bool {
        self.open.last().is_none_or(|&(open_until, _)| end <= open_until)
    }
}

/// Puts slices on as few tracks as they need. They come in the order of their beginnings, and of those that begin at once the longest
/// comes first.
pub fn lanes(slices: impl IntoIterator<Item = (u64, u64)>) -> Vec<Lane> {
    let mut lanes: Vec<Filling> = Vec::new();
    for (number, (begin, end)) in slices.into_iter().enumerate() {
        lanes.iter_mut().for_each(|lane| lane.end_until(begin));
        let at = lanes.iter().position(|lane| lane.has_room(end)).unwrap_or_else(|| {
            lanes.push(Filling::default());
            lanes.len() - 1
        });
        let lane = &mut lanes[at];
        lane.steps.push((begin, Step::Begin(number)));
        lane.open.push((end, number));
    }
    let ended = |mut lane: Filling| {
        lane.end_until(u64::MAX);
        lane.steps
    };
    lanes.into_iter().map(ended).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Step::{Begin, End};

    #[test]
    fn what_nests_or_follows_shares_a_track() {
        assert_eq!(
            lanes([(0, 10), (2, 5), (5, 10), (10, 10), (10, 12)]),
            [vec![
                (0, Begin(0)),
                (2, Begin(1)),
                (5, End(1)),
                (5, Begin(2)),
                (10, End(2)),
                (10, End(0)),
                (10, Begin(3)),
                (10, End(3)),
                (10, Begin(4)),
                (12, End(4)),
            ]]
        );
    }

    #[test]
    fn what_overlaps_otherwise_does_not() {
        let lanes = lanes([(0, 10), (5, 15), (8, 9), (12, 20)]);
        assert_eq!(lanes.len(), 2);
        assert_eq!(lanes[1], [(5, Begin(1)), (15, End(1))]);
        assert_eq!(lanes[0][4..], [(12, Begin(3)), (20, End(3))]);
    }

    /// However they lie, steps nest and each slice has both of its own.
    #[test]
    fn steps_nest() {
        let mut random = 1u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % below
        };
        let mut slices: Vec<(u64, u64)> = (0..500)
            .map(|_| {
                let begin = next(1000);
                (begin, begin + next(100))
            })
            .collect();
        slices.sort_by_key(|&(begin, end)| (begin, std::cmp::Reverse(end)));
        let mut seen = 0;
        for lane in lanes(slices.iter().copied()) {
            let (mut open, mut last) = (Vec::new(), 0);
            for (time, step) in lane {
                assert!(time >= last);
                last = time;
                match step {
                    Begin(number) => open.push(number),
                    End(number) => assert_eq!(open.pop(), Some(number)),
                }
                seen += 1;
            }
            assert!(open.is_empty());
        }
        assert_eq!(seen, 2 * slices.len());
    }
}
