//! Numbers as lockmeter wrote them: four characters and the unit, whatever the size.

/// Something counted as a number of percent of `of`, which lockmeter calls 0 of nothing.
pub fn percent(part: f64, of: f64) -> String {
    let percent = if of > 0.0 { 100.0 * part / of } else { 0.0 };
    if percent > 99.9 || percent == 0.0 {
        format!("{percent:4.0}%")
    } else if percent > 1.0 {
        format!("{percent:4.1}%")
    } else {
        format!("{percent:4.2}%")
    }
}

/// A time.
pub fn time(ns: f64) -> String {
    let us = ns / 1e3;
    if us < 10.0 {
        format!("{us:4.1}us")
    } else if us < 10_000.0 {
        format!("{us:4.0}us")
    } else {
        format!("{:4.0}ms", us / 1e3)
    }
}

/// A mean hold of readers, which has a tenth where there is room for it.
pub fn tenths(ns: f64) -> String {
    let us = ns / 1e3;
    match us {
        us if us < 1_000.0 => format!("{us:6.1}us"),
        us if us < 10_000.0 => format!("{us:6.0}us"),
        us => format!("{:6.0}ms", us / 1e3),
    }
}

/// As much space as `columns` take.
pub fn blank(columns: usize) -> String {
    " ".repeat(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_have_four_characters() {
        let percents = [0.0, 0.000_01, 0.76, 1.0, 1.01, 7.1, 67.4, 99.9, 99.91, 422.0];
        let texts = [
            "   0%", "0.00%", "0.76%", "1.00%", " 1.0%", " 7.1%", "67.4%", "99.9%", " 100%",
            " 422%",
        ];
        assert_eq!(percents.map(|value| percent(value, 100.0)), texts);
        assert_eq!(percent(0.0, 0.0), "   0%");
    }

    #[test]
    fn times_have_four_digits() {
        let times = [0.0, 600.0, 9_960.0, 10_000.0, 2_363e3, 9_988e3, 55e6, 1_015e6];
        let texts =
            [" 0.0us", " 0.6us", "10.0us", "  10us", "2363us", "9988us", "  55ms", "1015ms"];
        assert_eq!(times.map(time), texts);
        assert_eq!(
            [19_400.0, 300.0, 1_500e3, 20e6].map(tenths),
            ["  19.4us", "   0.3us", "  1500us", "    20ms"]
        );
    }
}
