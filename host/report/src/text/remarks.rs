//! What a report says about findings that are not in it.

/// The remarks at the end of a report, about findings that are not in it.
#[derive(Clone, Debug, Default)]
pub struct Remarks {
    /// Parts of the last line.
    pub parts: Vec<String>,
    /// Notes before it.
    pub notes: Vec<String>,
    /// Findings have been shown before this report.
    pub goes_on: bool,
}
