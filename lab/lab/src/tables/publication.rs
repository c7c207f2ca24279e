//! The published figures of one set of patches, and this machine's.

use serde_json::{Value, json};

use super::unit::Unit;
use super::verdict::Verdict;
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
        json!({
            "number": self.number,
            "title": self.title,
            "source": self.source,
            "comparisons": self.comparisons.iter().map(comparison).collect::<Vec<_>>(),
            "sections": self.sections.iter().map(section).collect::<Vec<_>>(),
            "blocks": self.blocks.iter().map(|b| json!({ "title": b.title, "text": b.text })).collect::<Vec<_>>(),
            "verdicts": self.verdicts.iter().map(Verdict::json).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_needs_both_figures() {
        let row = |published, here| Row::new("x", Unit::Count, published, here).ratio();
        assert_eq!(row(Some(2.0), Here::Counted(3.0)), Some(1.5));
        assert_eq!(row(None, Here::Counted(3.0)), None);
        assert_eq!(row(Some(0.0), Here::Counted(3.0)), None);
        assert_eq!(row(Some(2.0), Here::Nothing(TOO_SMALL)), None);
    }
}
