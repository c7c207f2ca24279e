//! All that was compared, for people and machines.

use std::fmt::Write;

use serde_json::{Value, json};

use super::judgement::{Claim, Row, Source};

/// All that was compared.
#[derive(Debug, Default)]
pub struct Truth {
    pub rows: Vec<Row>,
    pub claims: Vec<Claim>,
    /// Runs that did what none may.
    pub failed: Vec<String>,
    pub seconds: f64,
    pub seed: u64,
}

impl Truth {
    pub fn row(
        &mut self,
        source: Source,
        what: String,
        published: f64,
        simulated: f64,
        fitted: bool,
    ) {
        self.rows.push(Row { source, what, published, simulated, is_fitted: fitted });
    }

    /// Whether a simulation did what none may: lost time, hung, or let two threads into a section.
    pub fn has_failed(&self) -> bool {
        !self.failed.is_empty()
    }

    /// For machines.
    pub fn json(&self) -> Value {
        json!({
            "seconds": self.seconds,
            "seed": self.seed,
            "figures": self.rows.iter().map(Row::json).collect::<Vec<_>>(),
            "claims": self.claims.iter().map(Claim::json).collect::<Vec<_>>(),
            "failed": self.failed,
        })
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(
            out,
            "Published and simulated: {} s of virtual time, seed {}\n",
            self.seconds, self.seed
        );
        for row in &self.rows {
            let verdict = match (row.is_as_published(), row.is_fitted) {
                (true, true) => "fitted",
                (false, true) => "fitted, MISSED",
                (true, false) => "within 25 %",
                (false, false) => "MISSED",
            };
            let _ = writeln!(
                out,
                "  {:<11}  {:<78} {:>8.3} {:>8.3} {:>+6.0} %  {verdict}",
                row.source,
                row.what,
                row.published,
                row.simulated,
                row.error() * 100.0
            );
        }
        out.push('\n');
        for claim in &self.claims {
            let verdict = if claim.holds { "holds" } else { "DOES NOT HOLD" };
            let Claim { source, claim, published, simulated, .. } = claim;
            let _ = writeln!(
                out,
                "  {source:<11}  {claim}: published {published}; simulated {simulated}: {verdict}"
            );
        }
        let predicted = || self.rows.iter().filter(|row| !row.is_fitted);
        let right = predicted().filter(|row| row.is_as_published()).count();
        let holding = self.claims.iter().filter(|claim| claim.holds).count();
        let _ = writeln!(
            out,
            "\n{right} of {} figures that no constant was fitted to are within 25 %, {holding} of {} claims hold.",
            predicted().count(),
            self.claims.len()
        );
        for failed in &self.failed {
            let _ = writeln!(out, "!!! {failed}: time was lost, or the lock failed");
        }
        out
    }
}
