//! One counter, and how those of several processes become one.

use std::fmt;

/// The value of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A sum over the processes.
    Sum(u64),
    /// The greatest of all processes.
    Most(u64),
    /// The least of all processes.
    Least(u64),
    /// A sum that is a lower bound.
    AtLeast(u64),
    /// Nothing here is what the kernel counts under this name.
    NotApplicable,
}

/// The counters of one process, or of all, with their names.
pub type Counters = Vec<(&'static str, Value)>;

impl Value {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Sum(a), Self::Sum(b)) => Self::Sum(a.saturating_add(b)),
            (Self::Most(a), Self::Most(b)) => Self::Most(a.max(b)),
            (Self::Least(a), Self::Least(b)) => Self::Least(a.min(b)),
            (Self::AtLeast(a) | Self::Sum(a), Self::AtLeast(b) | Self::Sum(b)) => {
                Self::AtLeast(a.saturating_add(b))
            }
            _ => Self::NotApplicable,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sum(n) | Self::Most(n) | Self::Least(n) => write!(f, "{n}"),
            Self::AtLeast(n) => write!(f, ">={n}"),
            Self::NotApplicable => f.write_str("n/a"),
        }
    }
}

/// The counters of several processes, which all have the same, in one.
pub fn total(processes: impl Iterator<Item = Counters>) -> Counters {
    processes
        .reduce(|mut total, own| {
            for (sum, (_, value)) in total.iter_mut().zip(own) {
                sum.1 = sum.1.and(value);
            }
            total
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_adds_in_its_way() {
        use Value::*;
        let of = |a, b| total([vec![("x", a)], vec![("x", b)]].into_iter())[0].1.to_string();
        assert_eq!(of(Sum(2), Sum(3)), "5");
        assert_eq!(of(Sum(u64::MAX), Sum(3)), u64::MAX.to_string());
        assert_eq!(of(Most(2), Most(3)), "3");
        assert_eq!(of(Least(2), Least(3)), "2");
        assert_eq!(of(AtLeast(2), Sum(3)), ">=5");
        assert_eq!(of(Sum(2), AtLeast(3)), ">=5");
        assert_eq!(of(NotApplicable, NotApplicable), "n/a");
        assert!(total(std::iter::empty()).is_empty());
    }
}
