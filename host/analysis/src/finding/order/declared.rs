//! Completions, contexts and orders that the program declares.

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The other lock is held while waiting for a completion, and by the thread that completes it.
    CompletedWithLockHeld {
        /// The completion among the two locks.
        completion: usize,
    },
    /// The other lock is taken inside a context, and held where that is entered.
    TakenInsideContext {
        /// The context among the two locks.
        context: usize,
    },
    /// The second lock is taken inside the first, and is declared to come before it.
    AgainstDeclaration,
}

/// What the grade rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The thread that completes a completion counts as holding it.
    CompleterHolds {
        /// The completion.
        completion: usize,
    },
    /// Something else may complete it.
    CompletedOtherwise {
        /// The completion.
        completion: usize,
    },
    /// A thread that enters a context with the other lock held and takes it there waits for itself.
    ContextEntered {
        /// The context among the two locks.
        context: usize,
    },
    /// The program declares an order.
    Declared {
        /// The class that comes before.
        before: String,
        /// The class that comes after.
        after: String,
        /// Where it declares that.
        place: Option<String>,
    },
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Release the other lock before waiting for the completion, or complete it without that.
    WaitWithoutLock {
        /// The completion among the two locks.
        completion: usize,
    },
    /// Release the other lock before entering the context, or do not take it there.
    EnterWithoutLock {
        /// The context among the two locks.
        context: usize,
    },
    /// Correct the declaration.
    CorrectDeclaration,
}
