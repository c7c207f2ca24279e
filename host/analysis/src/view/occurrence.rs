//! An occurrence of a dependency: who took which lock while which other was held.

use lockwright_ledger::rows::Node;

use crate::model::Model;

/// What counts as one lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// An instance.
    Instance,
    /// All instances of a class.
    Class,
}

impl Level {
    /// The lock of a node at this level, if it is known so exactly.
    pub fn id(self, model: &Model<'_>, node: &Node) -> Option<u32> {
        match self {
            Self::Instance => Some(node.inst).filter(|&inst| inst != 0),
            Self::Class => Some(model.classes.group_of(node.class))
                .filter(|&group| group != 0 && !model.classes.is_mixed(node.class)),
        }
    }

    /// What was held when `id` was acquired, innermost first, as far as it can be another lock.
    pub fn held<'m>(
        self,
        model: &'m Model<'_>,
        id: u32,
    ) -> impl Iterator<Item = (u32, &'m Node)> + use<'m> {
        // The other locks held there have a context without the thread's end, too.
        let end = model.trie.thread_end(id).and_then(|end| Some((end, model.trie.node(end)?)));
        let (all, others) = match self {
            _ if end.is_some() => (None, None),
            Self::Instance => (Some(model.trie.held(id)), None),
            Self::Class => (None, Some(model.trie.held_behind_own(id))),
        };
        end.into_iter().chain(all.into_iter().flatten()).chain(others.into_iter().flatten())
    }
}

/// A dependency's occurrence: node `acquired` while `held`, an ancestor of it, was held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Context {
    /// Node of the acquisition.
    pub acquired: u32,
    /// Node of the held lock.
    pub held: u32,
}

/// One thread's part in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acquisition {
    /// Where and what.
    pub context: Context,
    /// When, 0 if not recorded.
    pub segment: u32,
    /// Who, 0 if not recorded.
    pub thread: u32,
}
