//! A thread that reads a lock again while it reads it, and a writer that may wait in between.

use lockwright_ledger::rows::Node;

use crate::finding::Grade;
use crate::finding::order::again::Again;
use crate::lockdep::judge::Judge;
use crate::model::Model;
use crate::view::occurrence::Acquisition;

/// What comes of reading the lock of `read` again that `acquisition` reads: sure only where a
/// thread is sure to be able to wait to write it meanwhile.
pub fn behind_writer(
    model: &Model<'_>,
    judge: &Judge<'_, '_>,
    read: &Node,
    acquisition: &Acquisition,
) -> (Grade, Again) {
    let writer = judge.writer(read, &[*acquisition]).filter(|writer| writer.is_sure);
    let writer = writer.map(|writer| model.thread(writer.acquisition.thread));
    let grade = if writer.is_some() { Grade::Likely } else { Grade::Possible };
    (grade, Again::WriterBetween { writer })
}
