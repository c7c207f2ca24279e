//! A thread that reads a lock again while it reads it, and a writer that may wait in between.

use lockwright_ledger::rows::Node;

use crate::finding::Grade;
use crate::finding::order::again::Again;
use crate::lockdep::judge::Judge;
use crate::model::Model;
use crate::view::occurrence::Acquisition;

/// What comes of reading the lock of `read` again that `acquisition` reads: sure only where a
/// thread is sure to be able to wait to write it meanwhile, and no signal kept it from that in this run.
pub fn behind_writer(
    model: &Model<'_>,
    judge: &Judge<'_, '_>,
    read: &Node,
    acquisition: &Acquisition,
) -> (Grade, Again) {
    let Some(writer) = judge.writer(read, &[*acquisition]).filter(|writer| writer.is_sure) else {
        return (Grade::Possible, Again::WriterBetween { writer: None });
    };
    let by = model.thread(writer.acquisition.thread);
    match judge.is_apart(&writer, &[*acquisition]) {
        true => (Grade::Likely, Again::WriterBetween { writer: Some(by) }),
        false => (Grade::Possible, Again::WriterKeptApart { writer: by }),
    }
}
