//! Locks of one class that are nested, in words.

use lockwright_analysis::finding::Name;
use lockwright_analysis::finding::order::nesting::Evidence;

use super::super::words::{locks, quote};
use super::involved::{Involved, Lines};

/// The title of a nesting of `classes`.
pub fn title(classes: &[Name]) -> String {
    match classes {
        [one] => {
            format!("two locks of one class are nested in no fixed order: {}", quote(one))
        }
        several => {
            format!("locks that one place takes are nested in no fixed order: {}", locks(several))
        }
    }
}

impl Lines for Evidence {
    fn lines(&self, _: &Involved<'_>) -> Vec<String> {
        let line = match self {
            Self::Pairs { ascending, descending } => format!(
                "of {} nested pairs, {ascending} ascend in address and {descending} descend",
                ascending + descending
            ),
            Self::NoPairBothWays => {
                "no pair was taken both ways in this run, but nothing keeps it from that".to_owned()
            }
            Self::PairsBothWaysRead => {
                "the pairs taken both ways do not deadlock: one of the two is only read, for which these readers \
                 do not wait"
                    .to_owned()
            }
        };
        vec![line]
    }
}

/// The remedy for locks of one class that are nested.
pub fn fixed_order() -> String {
    "take the one with the lower address first, or whichever order suits, but always it".to_owned()
}

#[cfg(test)]
mod tests {
    use lockwright_analysis::finding::order;

    use super::*;
    use crate::prose::order::testing::told_of;

    #[test]
    fn pairs_are_counted() {
        let told = told_of(
            order::Fault::NoFixedOrder { classes: vec![Name::symbol("account")] },
            vec![order::Evidence::Nesting(Evidence::Pairs { ascending: 3, descending: 2 })],
            vec![order::Remedy::FixedOrder],
        );
        assert_eq!(told.title, "two locks of one class are nested in no fixed order: `account`");
        assert_eq!(told.evidence, ["of 5 nested pairs, 3 ascend in address and 2 descend"]);
        assert_eq!(
            told.help,
            ["take the one with the lower address first, or whichever order suits, but always it"]
        );
    }
}
