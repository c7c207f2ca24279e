//! MariaDB: clients that transfer between accounts at once and keep books of it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;
use std::path::Path;

use super::Arm;
use crate::harness::Scratch;
use crate::programs::mariadb::{
    ACCOUNTS, BALANCE, CLIENTS, Served, Tools, at_once, create, script, serve, transfer,
};

/// Transfers of a client in one round.
const TRANSFERS: usize = 100;

pub fn work(arm: &Arm) {
    let tools = Tools::find().expect("asked for before");
    let scratch = Scratch::new();
    let fresh = scratch.join("fresh");
    tools.install(&fresh);
    let load = |socket: &Path, _: &_, _| load(&tools, socket, arm);
    let Served { answers, run } = serve(&tools, arm.job(), &fresh, &scratch.join("data"), load);
    eprintln!("mariadb on {:?}: {answers}", arm.lock);
    arm.ended(&run);
    assert!(!run.stderr.contains("mysqld got signal"), "{}", run.stderr);
}

fn load(tools: &Tools, socket: &Path, arm: &Arm) -> String {
    create(tools, socket);
    tools.sysbench(socket, "oltp_read_write", &["prepare"]);
    let rounds = arm.rounds(|round| {
        let of_this = round * TRANSFERS..(round + 1) * TRANSFERS;
        let scripts: Vec<String> = (0..CLIENTS)
            .map(|client| match client {
                0 if arm.loses && round == 0 => script(client, 1..TRANSFERS),
                _ => script(client, of_this.clone()),
            })
            .collect();
        let options = ["--threads=4", "--events=200", "--time=0", "--mysql-ignore-errors=all"];
        std::thread::scope(|scope| {
            scope.spawn(|| at_once(tools, socket, &scripts));
            tools.sysbench(socket, "oltp_read_write", &[&options[..], &["run"]].concat());
        });
    });

    let done = 0..rounds * TRANSFERS;
    let made = tools.sql(socket, &format!("USE bank; {}", books(done.clone())));
    let checksums: Vec<&str> = made
        .lines()
        .filter_map(|line| line.strip_prefix("bank.")?.split_once('\t'))
        .map(|(_, sum)| sum)
        .collect();
    let [held, expected] = checksums[..] else { panic!("two checksums: {made}") };
    assert_eq!(held, expected, "the balances are not what the clients have transferred");
    let counted = tools.sql(
        socket,
        "USE bank; SELECT COUNT(*), COUNT(DISTINCT client, round) FROM journal;
         SELECT COUNT(*) FROM sbtest1; SELECT COUNT(*) FROM sbtest2;",
    );
    let notes = CLIENTS * done.end;
    let numbers: Vec<&str> =
        counted.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).collect();
    assert_eq!(numbers, [format!("{notes}\t{notes}").as_str(), "2000", "2000"], "{counted}");
    let checked = tools.sql(socket, "USE bank; CHECK TABLE account, journal, sbtest1, sbtest2;");
    assert_eq!(checked.matches("\tstatus\tOK").count(), 4, "{checked}");
    format!("{rounds} rounds, {notes} transfers")
}

/// SQL that makes the accounts as they are after these transfers of all clients, and asks for the
/// checksums of those that are and those that should be.
fn books(rounds: Range<usize>) -> String {
    let mut balances: BTreeMap<usize, i64> = (1..=ACCOUNTS).map(|id| (id, BALANCE)).collect();
    for (from, to, amount) in
        (0..CLIENTS).flat_map(|client| rounds.clone().map(move |round| transfer(client, round)))
    {
        *balances.entry(from).or_default() -= amount as i64;
        *balances.entry(to).or_default() += amount as i64;
    }
    let mut rows = String::new();
    for (id, balance) in balances {
        let _ = write!(rows, "{}({id}, {balance})", if rows.is_empty() { "" } else { ", " });
    }
    format!(
        "CREATE TABLE expected LIKE account; INSERT INTO expected VALUES {rows};
         CHECKSUM TABLE account, expected;"
    )
}
