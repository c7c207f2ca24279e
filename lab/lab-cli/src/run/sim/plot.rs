//! Simulated runs as a drawing.

use std::path::Path;

use lockwright_console::error::{Error, Result, exit};
use lockwright_lab::chart::{Chart, Curve};

use super::figures::Page;
use super::shape::Shape;
use lockwright_console::whole_file::WholeFile;

/// A file that runs are to be drawn into.
pub struct Plot<'p> {
    path: &'p Path,
    file: WholeFile,
}

impl<'p> Plot<'p> {
    /// Opened before anything is simulated, so that a wrong path is reported at once.
    ///
    /// # Errors
    /// If it cannot be written, or there is only one number of threads to be drawn.
    pub fn open(path: &'p Path, shapes: &[Shape]) -> Result<Self> {
        let usage = |what: &str| Error::with_code(exit::USAGE, what);
        if !path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("svg")) {
            return Err(usage("--plot draws SVG").help("name a file that ends in .svg"));
        }
        if shapes.len() < 2 {
            let why = "--plot draws curves, which need several numbers of CPUs or threads";
            return Err(usage(why).help("add --sweep cpus=1..36, or --threads 1,2,4"));
        }
        let file = WholeFile::open(path).map_err(|error| not_written(path, &error))?;
        Ok(Self { path, file })
    }

    /// Draws the runs.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(mut self, page: &Page<'_>) -> Result<()> {
        let written = self.file.put(chart(page).svg().as_bytes());
        written.map_err(|error| not_written(self.path, &error))
    }
}

fn not_written(path: &Path, error: &std::io::Error) -> Error {
    Error::new(format!("cannot write {}: {error}", path.display()))
        .help("name a file that can be written: --plot FILE.svg")
}

fn chart(page: &Page<'_>) -> Chart {
    let Page { args, machine, rows } = page;
    let mut shapes: Vec<Shape> = Vec::new();
    let mut curves: Vec<Curve> = Vec::new();
    for row in *rows {
        let at = shapes.iter().position(|shape| *shape == row.shape).unwrap_or_else(|| {
            shapes.push(row.shape);
            shapes.len() - 1
        });
        let point = (at, row.figures.rate() / 1e6);
        match curves.iter_mut().find(|curve| curve.name == row.lock) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve {
                name: row.lock.clone(),
                // The user's.
                is_thick: row.is_own,
                points: vec![point],
            }),
        }
    }
    let number = |shape: &Shape| if args.sweep.is_some() { shape.cpus } else { shape.threads };
    Chart {
        title: format!("Millions of operations a second: {} on {}", args.workload, machine.name),
        under: match (&args.sweep, &args.vcpus) {
            (Some(_), _) => "CPUs",
            (None, Some(_)) => "virtual CPUs",
            (None, None) => "threads",
        },
        labels: shapes.iter().map(|shape| number(shape).to_string()).collect(),
        curves,
    }
}
