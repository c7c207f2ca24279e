//! Long's 2021 rwsem patch: the reader-writer semaphore's trylock that loads first.

use super::publication::{Comparison, Here, Publication, Row};
use super::unit::Unit;
use super::verdict::{Asked, Machines, Point, Verdict};
use super::{Options, Progress};
use crate::bench::published::{TRYLOCK, Trylock};
use crate::bench::trylock::{self, Measured};
use lockwright_measure::stats::Estimate;

/// Where every CPU asks at once, the document's number of threads.
const MANY: usize = 40;

/// At most this of what there was is half of it.
const HALVED: f64 = 0.6;

/// Measures it.
///
/// # Errors
/// If figures are not to be believed.
pub fn measure(options: &Options, progress: Progress<'_>) -> Result<Publication, String> {
    let measured = trylock::measure(&options.of_locks(), progress).map_err(|f| f.to_string())?;
    let verdicts = measured.iter().flat_map(verdicts).collect();
    Ok(Publication {
        number: 3,
        title: "locking/rwsem: Optimize down_read_trylock() under highly contended case",
        source: "Muchun Song, November 2021, linux-kernel; Xeon E5-2650.",
        method: vec![
            "The published threads share one anonymous mapping, and the kernel takes the address space's rwsem in \
             each page fault. Here the same happens under an rwsem of ours: once with only a page cleared under it, \
             once with the page faults themselves, in which the kernel takes its own lock as well."
                .to_owned(),
        ],
        comparisons: measured.iter().map(comparison).collect(),
        verdicts,
        sections: measured.into_iter().map(|kind| kind.section).collect(),
        blocks: Vec::new(),
    })
}

fn comparison(kind: &Measured) -> Comparison {
    let mut rows = Vec::new();
    for of in &TRYLOCK {
        let Trylock { threads, assume_free, load_first } = of;
        let (before, after) =
            (row(kind, *threads, "assume free"), row(kind, *threads, "load first"));
        rows.push(Row::new(
            format!("time of load first over assume free, threads: {threads}"),
            Unit::Times,
            Some(load_first.ms as f64 / assume_free.ms as f64),
            here(after.map(|row| row.ratio)),
        ));
        for (name, published, row) in
            [("assume free", assume_free, before), ("load first", load_first, after)]
        {
            let mean = (!published.exchanges.is_empty()).then(|| published.mean_exchanges());
            rows.push(Row::new(
                format!("exchanges a success, {name}, threads: {threads}"),
                Unit::Times,
                mean,
                here(row.map(trylock::Row::exchanges)),
            ));
            if let Some(without) = published.without_exchange() {
                rows.push(Row::new(
                    format!("successes without an exchange (@cnt[0]), {name}, threads: {threads}"),
                    Unit::Count,
                    Some(without as f64),
                    row.map_or_else(
                        || Here::Missing("not measured with so many".to_owned()),
                        |row| Here::Counted(row.without_exchange() as f64),
                    ),
                ));
            }
        }
    }
    Comparison { title: format!("{} under one rwsem", capital(kind.what)), rows }
}

fn verdicts(kind: &Measured) -> Vec<Verdict> {
    let machines = Machines::published(MANY);
    let many = TRYLOCK.iter().find(|of| of.threads == MANY);
    let both = (row(kind, MANY, "assume free"), row(kind, MANY, "load first"));
    let (Some(published), (Some(before), Some(after))) = (many, both) else { return Vec::new() };
    let time = published.load_first.ms as f64 / published.assume_free.ms as f64;
    let exchanges = published.load_first.mean_exchanges() / published.assume_free.mean_exchanges();
    let point = |asked, published, here| Point {
        at: String::new(),
        asked,
        unit: Unit::Times,
        published: Some(published),
        here,
    };
    let faster = Asked::side_of_one(time).map(|asked| point(asked, time, after.ratio));
    let halved =
        point(Asked::side_of(HALVED, exchanges), exchanges, after.exchanges_against(before));
    vec![
        machines.decide(
            format!("Load first is faster with {MANY} threads ({})", kind.what),
            &faster.into_iter().collect::<Vec<_>>(),
            " (of the time)",
        ),
        machines.decide(
            format!("Load first halves the exchanges ({})", kind.what),
            &[halved],
            " (of the exchanges a success)",
        ),
    ]
}

fn row<'m>(kind: &'m Measured, threads: usize, shape: &str) -> Option<&'m trylock::Row> {
    kind.rows.iter().find(|row| row.threads == threads && row.shape == shape)
}

fn here(estimate: Option<Estimate>) -> Here {
    estimate.map_or_else(|| Here::Missing("not measured with so many".to_owned()), Here::Measured)
}

fn capital(text: &str) -> String {
    let mut chars = text.trim_end_matches(", each").chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
