//! All that was compared, for people and machines.

use std::fmt::Write;

use serde_json::{Value, json};

use super::judgement::{Claim, Judgement, Of, Row, Source};

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
    /// Something with a unit, or a share.
    pub fn amount(
        &mut self,
        source: Source,
        what: String,
        published: f64,
        simulated: f64,
        is_fitted: bool,
    ) {
        self.rows.push(Row { source, what, of: Of::Amount, published, simulated, is_fitted });
    }

    /// One thing over another.
    pub fn ratio(
        &mut self,
        source: Source,
        what: String,
        published: f64,
        simulated: f64,
        is_fitted: bool,
    ) {
        self.rows.push(Row { source, what, of: Of::Ratio, published, simulated, is_fitted });
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
            let verdict = row.judgement().words(row.is_fitted).replace("**missed**", "MISSED");
            let effect = row
                .error_of_effect()
                .map_or(String::new(), |error| format!("{:+.0} %", error * 100.0));
            let _ = writeln!(
                out,
                "  {:<11}  {:<78} {:>8.3} {:>8.3} {:>+6.0} % {effect:>8}  {verdict}",
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
        let right = predicted().filter(|row| row.judgement() != Judgement::Missed).count();
        let holding = self.claims.iter().filter(|claim| claim.holds).count();
        let _ = writeln!(
            out,
            "\n{right} of {} figures that no constant was fitted to are as published (within 25 %, of ratios the effect as \
             well), {holding} of {} claims hold.",
            predicted().count(),
            self.claims.len()
        );
        for failed in &self.failed {
            let _ = writeln!(out, "!!! {failed}: time was lost, or the lock failed");
        }
        out
    }
}
