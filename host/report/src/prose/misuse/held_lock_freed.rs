//! The memory of a held lock goes, in words.

use lockwright_analysis::finding::Finding;
use lockwright_analysis::finding::misuse::HeldLockFreed;

use super::{Names, held_by};
use crate::prose::Sentences;

impl Sentences for HeldLockFreed {
    fn title(&self, finding: &Finding) -> String {
        let Names { lock, .. } = Names::of(finding);
        match self {
            Self::FrameLeft => {
                format!("{lock} is still held when the function returns whose local variable it is")
            }
            Self::Freed { .. } => format!("the memory of {lock} is freed while it is held"),
        }
    }

    fn evidence(&self, finding: &Finding) -> Vec<String> {
        let Names { who, .. } = Names::of(finding);
        match self {
            Self::FrameLeft => vec![
                format!("{who} took it and did not unlock it before the function returned"),
                "its memory is used for other things now, so nobody can unlock it any more".into(),
            ],
            Self::Freed { holder } => vec![
                held_by(holder.as_ref(), &who),
                "its unlock will write to memory that may be another's".into(),
            ],
        }
    }

    fn help(&self, _: &Finding) -> Vec<String> {
        vec![match self {
            Self::FrameLeft => "unlock it on every way out of the function".into(),
            Self::Freed { .. } => {
                "unlock before the memory goes, and let its last user free it".into()
            }
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prose::misuse::testing::{assert_told, thread};

    #[test]
    fn a_freed_lock_has_a_holder() {
        assert_told(
            &HeldLockFreed::Freed { holder: Some(thread(2)) }.into(),
            "the memory of `a` is freed while it is held",
            &[
                "thread 2 held it at that moment",
                "its unlock will write to memory that may be another's",
            ],
            &["unlock before the memory goes, and let its last user free it"],
        );
    }

    #[test]
    fn a_local_variable_goes_with_its_function() {
        assert_told(
            &HeldLockFreed::FrameLeft.into(),
            "`a` is still held when the function returns whose local variable it is",
            &[
                "thread 1 took it and did not unlock it before the function returned",
                "its memory is used for other things now, so nobody can unlock it any more",
            ],
            &["unlock it on every way out of the function"],
        );
    }
}
