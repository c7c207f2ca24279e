//! The locks of the C library's loader, in words.

use lockwright_analysis::finding::order::loader::{Evidence, Remedy};

use super::involved::{Involved, Lines};

impl Lines for Evidence {
    fn lines(&self, _: &Involved<'_>) -> Vec<String> {
        let line = match self {
            Self::HeldWhileLoading => {
                "constructors and destructors of libraries run with the loader's lock held"
                    .to_owned()
            }
            Self::HeldInCallback => {
                "the callback of dl_iterate_phdr runs with the loader's list of objects locked"
                    .to_owned()
            }
        };
        vec![line]
    }
}

impl Lines for Remedy {
    fn lines(&self, involved: &Involved<'_>) -> Vec<String> {
        match self {
            Self::LoadWithoutLock { loader } => {
                let (held, taken) =
                    (involved.lock(loader + involved.steps() - 1), involved.lock(loader + 1));
                vec![
                    format!("release {held} before calling dlopen or dlclose"),
                    format!("or do not take {taken} in constructors and destructors of libraries"),
                ]
            }
            Self::ListWithoutLock { list } => {
                let (held, taken) =
                    (involved.lock(list + involved.steps() - 1), involved.lock(list + 1));
                vec![
                    format!("release {held} before calling dl_iterate_phdr"),
                    format!("or do not take {taken} in the callback of dl_iterate_phdr"),
                ]
            }
            Self::JoinOutsideLoader { end } => {
                let joined = involved.thread(*end);
                vec![
                    format!("do not join {joined} in a constructor or destructor of a library"),
                    format!("or let {joined} end without calling dlopen or dlclose"),
                ]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use lockwright_analysis::finding::order;

    use super::*;
    use crate::prose::order::testing::told_of;

    #[test]
    fn loading_is_named() {
        let told = told_of(
            order::Fault::Cycle,
            vec![order::Evidence::Loader(Evidence::HeldWhileLoading)],
            vec![order::Remedy::Loader(Remedy::LoadWithoutLock { loader: 0 })],
        );
        assert_eq!(
            told.evidence,
            ["constructors and destructors of libraries run with the loader's lock held"]
        );
        assert_eq!(
            told.help,
            [
                "release `b` before calling dlopen or dlclose",
                "or do not take `b` in constructors and destructors of libraries",
            ]
        );
    }
}
