//! Figures and names that have to fit a column.

/// What is shown where nothing is known.
pub const NONE: &str = "-";

/// A rate or count in at most 5 characters: `0`, `0.42`, `17.3`, `942`, `12.3k`, `4.2M`.
pub fn short(value: f64) -> String {
    match value {
        v if !v.is_finite() || v < 0.0 => NONE.to_owned(),
        0.0 => "0".to_owned(),
        v if v < 0.005 => "~0".to_owned(),
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v if v < 999.5 => format!("{v:.0}"),
        v if v < 99_950.0 => format!("{:.1}k", v / 1e3),
        v if v < 999_500.0 => format!("{:.0}k", v / 1e3),
        v if v < 99_950_000.0 => format!("{:.1}M", v / 1e6),
        v if v < 999_500_000.0 => format!("{:.0}M", v / 1e6),
        v => format!("{:.1}G", v / 1e9),
    }
}

/// A number of things, as [`short`].
pub fn count(n: usize) -> String {
    if n < 10_000 { n.to_string() } else { short(n as f64) }
}

/// A part of a whole as a percentage, in at most 5 characters.
pub fn percent(part: f64) -> String {
    match part * 100.0 {
        p if !p.is_finite() => NONE.to_owned(),
        0.0 => "0".to_owned(),
        p if p < 0.05 => "~0".to_owned(),
        p if p < 99.95 => format!("{p:.1}"),
        p => format!("{p:.0}"),
    }
}

/// A time in at most 6 characters: `940ns`, `1.2us`, `18.3ms`, `4.0s`, `3m12s`, `5h02m`.
pub fn time(ns: f64) -> String {
    let with = |value: f64, unit: &str| match value {
        v if v < 9.95 => format!("{v:.1}{unit}"),
        v => format!("{v:.0}{unit}"),
    };
    match ns {
        ns if !ns.is_finite() || ns < 0.0 => NONE.to_owned(),
        0.0 => "0".to_owned(),
        ns if ns < 999.5 => format!("{ns:.0}ns"),
        ns if ns < 999.5e3 => with(ns / 1e3, "us"),
        ns if ns < 999.5e6 => with(ns / 1e6, "ms"),
        ns if ns < 99.5e9 => with(ns / 1e9, "s"),
        ns => {
            let seconds = (ns / 1e9) as u64;
            match seconds {
                s if s < 3600 => format!("{}m{:02}s", s / 60, s % 60),
                s if s < 360_000 => format!("{}h{:02}m", s / 3600, s / 60 % 60),
                s => format!("{}d", s / 86_400),
            }
        }
    }
}

/// A time that may not be known.
pub fn maybe_time(ns: Option<f64>) -> String {
    ns.map_or_else(|| NONE.to_owned(), time)
}

/// Eight heights of a bar.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The last values as bars, `width` of them, of which the greatest is the highest.
pub fn bars(values: impl DoubleEndedIterator<Item = f64>, width: usize) -> String {
    let mut last: Vec<f64> = values.rev().take(width).collect();
    last.reverse();
    let most = last.iter().copied().fold(0.0, f64::max);
    let height = |value: f64| match value {
        v if v <= 0.0 || most <= 0.0 => ' ',
        v => BARS[((v / most * 7.0).round() as usize).min(7)],
    };
    let bars: String = last.into_iter().map(height).collect();
    format!("{bars:>width$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_fit_their_column() {
        for (value, text) in [
            (0.0, "0"),
            (0.001, "~0"),
            (0.42, "0.42"),
            (9.996, "10.0"),
            (999.4, "999"),
            (999.6, "1.0k"),
            (123_456.0, "123k"),
            (99_960_000.0, "100M"),
            (2.5e9, "2.5G"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(short(value), text);
        }
        let mut value = 1e-3;
        while value < 9e11 {
            assert!(short(value).len() <= 6 && time(value).len() <= 6, "{value}");
            value *= 1.07;
        }
        assert_eq!(time(192e9), "3m12s");
        assert_eq!(time(18_120e9), "5h02m");
        assert_eq!(percent(0.0004), "~0");
        assert_eq!(percent(1.5), "150");
    }

    #[test]
    fn bars_show_the_last_values() {
        assert_eq!(bars([0.0, 1.0, 8.0].into_iter(), 4), "  ▂█");
        assert_eq!(bars([9.0, 1.0, 1.0].into_iter(), 2), "██");
        assert_eq!(bars([0.0; 3].into_iter(), 3), "   ");
    }
}
