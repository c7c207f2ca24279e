//! The published figures of one set of patches, and this machine's.

use serde_json::{Value, json};

use crate::bench::Section;
use lockwright_measure::stats::Estimate;

/// One document.
pub struct Publication {
    /// Its number.
    pub number: u8,
    /// What it is about.
    pub title: &'static str,
    /// Who published it, when and where.
    pub source: &'static str,
    /// How it was measured here, and what is different from there.
    pub method: Vec<String>,
    /// Published and measured, side by side.
    pub comparisons: Vec<Comparison>,
    /// What was measured, in full.
    pub sections: Vec<Section>,
    /// Output of programs, as it is.
    pub blocks: Vec<Block>,
    /// What the document claims, and whether it is so here.
    pub verdicts: Vec<Verdict>,
}

/// Figures of one table.
pub struct Comparison {
    /// What they are of.
    pub title: String,
    /// One for each figure.
    pub rows: Vec<Row>,
}

/// One figure.
pub struct Row {
    /// What of.
    pub what: String,
    /// The unit of both figures.
    pub unit: Unit,
    /// The published one.
    pub published: Option<f64>,
    /// This machine's.
    pub here: Here,
}

/// What a figure is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things counted.
    Count,
    /// Hundredths.
    Percent,
    /// Hundredths more or less than something.
    MorePercent,
    /// Times something.
    Times,
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
}

/// What this machine shows.
pub enum Here {
    /// The median of all rounds, and its confidence interval.
    Measured(Estimate),
    /// What is the same in each round, or of which there is but one.
    Counted(f64),
    /// Nothing, and why.
    Missing(String),
    /// Nothing, and why that is no fault: [`TOO_SMALL`], whose place is for the simulator, or
    /// [`NONE_BEFORE`].
    Nothing(&'static str),
}

/// A program's output.
pub struct Block {
    /// What it shows.
    pub title: String,
    /// The output.
    pub text: String,
}

/// Whether a claim holds here.
pub struct Verdict {
    /// What the document says.
    pub claim: String,
    /// `None`: the figures are too close, or missing, to tell.
    pub holds: Option<bool>,
    /// The figures that it was decided by.
    pub because: String,
}

impl Row {
    /// A figure of both.
    pub fn new(what: impl Into<String>, unit: Unit, published: Option<f64>, here: Here) -> Self {
        Self { what: what.into(), unit, published, here }
    }

    /// Measured over published, where both are there and this says something.
    pub fn ratio(&self) -> Option<f64> {
        let here = self.here.figure()?;
        self.published.filter(|published| *published != 0.0).map(|published| here / published)
    }
}

impl Here {
    /// The figure, if there is one.
    pub fn figure(&self) -> Option<f64> {
        match self {
            Self::Measured(estimate) => Some(estimate.median),
            Self::Counted(figure) => Some(*figure),
            Self::Missing(_) | Self::Nothing(_) => None,
        }
    }

    /// An estimate, or why there is none.
    pub fn of(measured: Result<Estimate, String>) -> Self {
        measured.map_or_else(Self::Missing, Self::Measured)
    }

    fn json(&self) -> Value {
        match self {
            Self::Measured(e) => json!({
                "median": e.median, "low": e.low, "high": e.high, "confidence": e.confidence,
            }),
            Self::Counted(figure) => json!({ "counted": figure }),
            Self::Missing(why) => json!({ "missing": why }),
            Self::Nothing(why) => json!({ "missing": why }),
        }
    }
}

/// What stands where a bigger machine is needed.
pub(super) const TOO_SMALL: &str = "a bigger machine than this";
/// What stands where a ratio would be to nothing: a short run may have had no contention.
pub(super) const NONE_BEFORE: &str = "none before to be compared with";

impl Unit {
    /// A figure of it.
    pub fn show(self, figure: f64) -> String {
        let short = |figure: f64| match figure.abs() {
            size if size >= 1000.0 => crate::bench::grouped_signed(figure.round() as i64),
            size if size >= 100.0 => format!("{figure:.0}"),
            size if size >= 10.0 => format!("{figure:.1}"),
            _ => format!("{figure:.2}"),
        };
        match self {
            Self::Count => crate::bench::grouped_signed(figure.round() as i64),
            Self::Percent => format!("{} %", short(figure)),
            Self::MorePercent => format!("{figure:+.1} %"),
            Self::Times => format!("{figure:.3}"),
            Self::Seconds => format!("{} s", short(figure)),
            Self::Milliseconds => format!("{} ms", short(figure)),
            Self::Microseconds => format!("{} us", short(figure)),
        }
    }

    /// What it is called.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Percent => "percent",
            Self::MorePercent => "percent more",
            Self::Times => "times",
            Self::Seconds => "s",
            Self::Milliseconds => "ms",
            Self::Microseconds => "us",
        }
    }
}

/// Whether a ratio is below `bound`: `None` if its interval includes that, or is of too few rounds.
pub fn is_below(ratio: &Estimate, bound: f64) -> Option<bool> {
    if ratio.confidence < 0.9 || (ratio.low..=ratio.high).contains(&bound) {
        return None;
    }
    Some(ratio.high < bound)
}

impl Verdict {
    /// One word for whether it holds.
    pub fn word(&self) -> &'static str {
        match self.holds {
            Some(true) => "agrees",
            Some(false) => "differs",
            None => "open",
        }
    }
}

impl Publication {
    /// For machines.
    pub(super) fn json(&self) -> Value {
        let row = |row: &Row| {
            json!({
                "what": row.what, "unit": row.unit.name(), "published": row.published,
                "here": row.here.json(), "ratio": row.ratio(),
            })
        };
        let comparison = |of: &Comparison| json!({ "title": of.title, "rows": of.rows.iter().map(row).collect::<Vec<_>>() });
        let section = |of: &Section| json!({ "title": of.title, "results": of.json });
        let verdict =
            |of: &Verdict| json!({ "claim": of.claim, "holds": of.holds, "because": of.because });
        json!({
            "number": self.number,
            "title": self.title,
            "source": self.source,
            "comparisons": self.comparisons.iter().map(comparison).collect::<Vec<_>>(),
            "sections": self.sections.iter().map(section).collect::<Vec<_>>(),
            "blocks": self.blocks.iter().map(|b| json!({ "title": b.title, "text": b.text })).collect::<Vec<_>>(),
            "verdicts": self.verdicts.iter().map(verdict).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_as_many_digits_as_they_are_worth() {
        assert_eq!(Unit::Count.show(8_823_974.0), "8,823,974");
        assert_eq!(Unit::Microseconds.show(7711.0), "7,711 us");
        assert_eq!(Unit::Percent.show(27.2), "27.2 %");
        assert_eq!(Unit::MorePercent.show(-3.74), "-3.7 %");
        assert_eq!(Unit::Times.show(1.0), "1.000");
    }

    #[test]
    fn a_verdict_needs_an_interval_that_is_on_one_side() {
        let of = |low, high, confidence| Estimate { median: 1.0, low, high, confidence };
        assert_eq!(is_below(&of(0.8, 0.9, 0.95), 1.0), Some(true));
        assert_eq!(is_below(&of(1.1, 1.2, 0.95), 1.0), Some(false));
        assert_eq!(is_below(&of(0.9, 1.1, 0.95), 1.0), None);
        assert_eq!(is_below(&of(0.8, 0.9, 0.5), 1.0), None);
    }

    #[test]
    fn a_ratio_needs_both_figures() {
        let row = |published, here| Row::new("x", Unit::Count, published, here).ratio();
        assert_eq!(row(Some(2.0), Here::Counted(3.0)), Some(1.5));
        assert_eq!(row(None, Here::Counted(3.0)), None);
        assert_eq!(row(Some(0.0), Here::Counted(3.0)), None);
        assert_eq!(row(Some(2.0), Here::Nothing(TOO_SMALL)), None);
    }
}
