//! What figures are in.

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
}
