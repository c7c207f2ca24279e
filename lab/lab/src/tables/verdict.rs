//! Whether a claim holds here: one rule for every claim of every document.
//!
//! A claim has one point or several, such as degrees of over-commit. What is asked at a point comes
//! from the published figure: on which side of a bound it lies. The point's interval decides; a
//! median without one decides nothing.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use super::unit::Unit;
use lockwright_measure::stats::Estimate;

/// A ratio that lies in these is no effect that one could see.
const NO_RATIO: RangeInclusive<f64> = 0.99..=1.01;

/// The same of a difference, in hundredths.
const NO_DIFFERENCE: RangeInclusive<f64> = -1.0..=1.0;

/// An interval of less confidence decides nothing.
const CONFIDENCE: f64 = 0.9;

/// Which side of a bound.
#[derive(Clone, Debug)]
pub struct Asked {
    bound: f64,
    is_below: bool,
    /// What counts as no effect, if the bound stands for none.
    none: Option<RangeInclusive<f64>>,
}

impl Asked {
    /// Below `bound`.
    pub fn below(bound: f64) -> Self {
        Self { bound, is_below: true, none: None }
    }

    /// Above `bound`.
    pub fn above(bound: f64) -> Self {
        Self { bound, is_below: false, none: None }
    }

    /// Above zero, as a difference in hundredths.
    pub fn more_by_hundredths() -> Self {
        Self { bound: 0.0, is_below: false, none: Some(NO_DIFFERENCE) }
    }

    /// The side of `bound` on which the published figure lies.
    pub fn side_of(bound: f64, published: f64) -> Self {
        Self { bound, is_below: published < bound, none: None }
    }

    /// The side of one on which the published ratio lies; `None` if that has no effect to be seen.
    pub fn side_of_one(published: f64) -> Option<Self> {
        let none = Some(NO_RATIO);
        (!NO_RATIO.contains(&published)).then(|| Self { none, ..Self::side_of(1.0, published) })
    }
}

/// A point of a claim: what is asked, and what was measured.
#[derive(Clone, Debug)]
pub struct Point {
    /// Where, if the claim has several.
    pub at: String,
    /// What is asked of it.
    pub asked: Asked,
    /// What both figures are in.
    pub unit: Unit,
    /// Published, if there is a figure.
    pub published: Option<f64>,
    /// This machine's.
    pub here: Estimate,
}

/// What one point says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Agrees,
    Differs,
    TooSmall,
    Open,
}

impl Point {
    fn says(&self) -> At {
        let Self { asked, here, .. } = self;
        if here.confidence < CONFIDENCE {
            return At::Open;
        }
        if asked
            .none
            .as_ref()
            .is_some_and(|none| none.contains(&here.low) && none.contains(&here.high))
        {
            return At::TooSmall;
        }
        match (here.high < asked.bound, here.low > asked.bound) {
            (true, _) if asked.is_below => At::Agrees,
            (_, true) if !asked.is_below => At::Agrees,
            (false, false) => At::Open,
            _ => At::Differs,
        }
    }

    fn text(&self) -> String {
        let show = |figure: f64| self.unit.show(figure);
        let Estimate { median, low, high, .. } = self.here;
        let mut text = format!("{} ({} to {})", show(median), show(low), show(high));
        if !self.at.is_empty() {
            text = format!("{}: {text}", self.at);
        }
        match self.published {
            Some(published) => text + &format!(", published {}", show(published)),
            None => text,
        }
    }
}

/// What the points of a claim say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All points agree.
    Agrees,
    /// So many points of so many differ, and none agrees.
    Differs(usize, usize),
    /// So many points of so many agree; the effect is the other way, or too small, at others.
    InPart(usize, usize),
    /// At no point is there an effect of a hundredth.
    TooSmall,
    /// The intervals decide too few points: so many of so many agree.
    Undecided(usize, usize),
    /// The same, and the published machine had so many CPUs, which are more than this one's.
    NeedsCpus(usize),
    /// The program was set by the published figure: that it agrees says nothing.
    Input,
}

impl Outcome {
    /// By `points`; the published machine had `published_cpus`, this one has `cpus`.
    fn of(points: &[Point], published_cpus: usize, cpus: usize) -> Self {
        let count = |wanted: At| points.iter().filter(|point| point.says() == wanted).count();
        let (agree, differ, small) = (count(At::Agrees), count(At::Differs), count(At::TooSmall));
        let all = points.len();
        match (agree, differ, small) {
            (agree, ..) if agree == all && all > 0 => Self::Agrees,
            (0, differ, _) if differ > 0 => Self::Differs(differ, all),
            (_, differ, _) if differ > 0 => Self::InPart(agree, all),
            (0, _, small) if small == all && all > 0 => Self::TooSmall,
            (agree, _, small) if agree + small == all && all > 0 => Self::InPart(agree, all),
            _ if published_cpus > cpus => Self::NeedsCpus(published_cpus),
            _ => Self::Undecided(agree, all),
        }
    }

    /// Its place in a list that begins with what differs.
    pub fn rank(self) -> u8 {
        match self {
            Self::Differs(..) => 0,
            Self::InPart(..) => 1,
            Self::Undecided(..) => 2,
            Self::NeedsCpus(_) => 3,
            Self::TooSmall => 4,
            Self::Agrees => 5,
            Self::Input => 6,
        }
    }

    /// In a few words.
    pub fn words(self) -> String {
        match self {
            Self::Agrees => "agrees".to_owned(),
            Self::Differs(1, 1) => "differs".to_owned(),
            Self::Differs(some, all) if some == all => format!("differs at all {all} points"),
            Self::Differs(some, all) => {
                format!("differs at {some} of {all} points, the others not decided")
            }
            Self::InPart(agree, all) => {
                format!("differs in part: agrees at {agree} of {all} points")
            }
            Self::TooSmall => "too small to see".to_owned(),
            Self::Undecided(0, _) => "not decided".to_owned(),
            Self::Undecided(agree, all) => {
                format!("not decided: agrees at {agree} of {all} points")
            }
            Self::NeedsCpus(cpus) => format!("needs {cpus} CPUs"),
            Self::Input => "an input".to_owned(),
        }
    }
}

/// Whether a claim holds here.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// What the document says.
    pub claim: String,
    /// What the figures say.
    pub outcome: Outcome,
    /// The figures.
    pub because: String,
}

/// The machines that a verdict is about.
#[derive(Clone, Copy)]
pub struct Machines {
    /// CPUs of the published one.
    pub published_cpus: usize,
    /// CPUs of this one.
    pub cpus: usize,
}

impl Machines {
    /// A published machine of so many CPUs, and this one.
    pub fn published(published_cpus: usize) -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        Self { published_cpus, cpus }
    }

    /// For a claim that is about no machine but this one.
    pub fn own() -> Self {
        Self::published(0)
    }

    /// The verdict of `points`; `more` is said after their figures.
    pub fn decide(self, claim: impl Into<String>, points: &[Point], more: &str) -> Verdict {
        let figures: Vec<_> = points.iter().map(Point::text).collect();
        Verdict {
            claim: claim.into(),
            outcome: Outcome::of(points, self.published_cpus, self.cpus),
            because: format!("{}{more}", figures.join("; ")),
        }
    }
}

impl Verdict {
    /// The verdict on a figure by which the program was set.
    pub fn input(claim: impl Into<String>, point: &Point, set: &str) -> Self {
        let because = format!("{}; {set}", point.text());
        Self { claim: claim.into(), outcome: Outcome::Input, because }
    }

    /// For machines.
    pub(super) fn json(&self) -> Value {
        json!({ "claim": self.claim, "outcome": self.outcome.words(), "because": self.because })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(published: f64, low: f64, high: f64) -> Point {
        Point {
            at: String::new(),
            asked: Asked::side_of_one(published).unwrap(),
            unit: Unit::Times,
            published: Some(published),
            here: Estimate { median: f64::midpoint(low, high), low, high, confidence: 0.95 },
        }
    }

    fn of(points: &[Point]) -> Outcome {
        Outcome::of(points, 2, 2)
    }

    #[test]
    fn an_interval_decides_and_no_median_does() {
        assert_eq!(of(&[point(0.8, 0.7, 0.9)]), Outcome::Agrees);
        assert_eq!(of(&[point(0.8, 1.1, 1.2)]), Outcome::Differs(1, 1));
        assert_eq!(of(&[point(0.8, 0.5, 1.1)]), Outcome::Undecided(0, 1));
        assert_eq!(of(&[point(0.8, 0.992, 1.004)]), Outcome::TooSmall);
        let mut two_rounds = point(0.8, 0.7, 0.9);
        two_rounds.here.confidence = 0.5;
        assert_eq!(of(&[two_rounds]), Outcome::Undecided(0, 1));
        assert_eq!(of(&[]), Outcome::Undecided(0, 0));
        let once = Estimate { median: 0.9, low: 0.9, high: 0.9, confidence: 0.0 };
        assert_eq!(of(&[Point { here: once, ..point(0.8, 0.7, 0.9) }]), Outcome::Undecided(0, 1));
    }

    #[test]
    fn one_point_that_is_not_decided_does_not_hide_the_others() {
        // The first run of these tables had such intervals, and called the claim open.
        let [a, b, c] = [(0.35, 0.67), (0.26, 0.56), (0.46, 0.72)].map(|(l, h)| point(2.8, l, h));
        let open = point(1.59, 0.4, 1.2);
        let points = [a, b, c, open.clone()];
        assert_eq!(of(&points), Outcome::Differs(3, 4));
        assert_eq!(of(&[point(2.8, 1.2, 1.3), open.clone()]), Outcome::Undecided(1, 2));
        assert_eq!(of(&[point(2.8, 1.2, 1.3), point(2.8, 0.2, 0.3)]), Outcome::InPart(1, 2));
        assert_eq!(of(&[point(2.8, 1.2, 1.3), point(2.8, 0.995, 1.005)]), Outcome::InPart(1, 2));
        assert_eq!(Outcome::of(std::slice::from_ref(&open), 36, 2), Outcome::NeedsCpus(36));
        assert_eq!(Outcome::of(&points, 36, 2), Outcome::Differs(3, 4));
        assert_eq!(Outcome::of(&[open], 2, 36), Outcome::Undecided(0, 1));
    }

    #[test]
    fn another_published_figure_is_another_verdict() {
        // Each figure in turn lies on the other side of one.
        let published = [0.8, 1.5, 0.3, 6.0];
        let points: Vec<_> = published.iter().map(|p| point(*p, p * 0.95, p * 1.05)).collect();
        assert_eq!(of(&points), Outcome::Agrees);
        for flipped in 0..published.len() {
            let mut others = points.clone();
            others[flipped].asked = Asked::side_of_one(1.0 / published[flipped]).unwrap();
            assert_eq!(of(&others), Outcome::InPart(3, 4), "{flipped}");
        }
        assert!(Asked::side_of_one(1.005).is_none(), "no effect that one could see");
        assert!(!Asked::side_of(100.0, 4819.0).is_below && Asked::side_of(0.6, 0.495).is_below);
    }

    #[test]
    fn the_words_have_the_counts() {
        let points = [point(2.8, 0.35, 0.67), point(1.59, 0.4, 1.2)];
        let verdict = Machines { published_cpus: 36, cpus: 2 }.decide("It does more", &points, "");
        assert_eq!(verdict.outcome.words(), "differs at 1 of 2 points, the others not decided");
        assert_eq!(
            verdict.because,
            "0.510 (0.350 to 0.670), published 2.800; 0.800 (0.400 to 1.200), published 1.590"
        );
        let input = Verdict::input("Half", &points[0], "set by it");
        assert_eq!((input.outcome.words().as_str(), input.outcome), ("an input", Outcome::Input));
    }
}
