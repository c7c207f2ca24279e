//! `cargo xtask`: what is done around the code.

mod aarch64;
mod bench;
mod bpf;
mod builds;
mod burners;
mod completions;
mod debug_lockdep;
mod floors;
mod folders;
mod gallery;
mod install;
mod man;
mod package;
mod packages;
mod programs;
mod promela;
mod prose;
mod roots;
mod skips;
mod swap;
mod test;
mod tsan;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What is done around the code.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Xtask {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Test(test::TestArgs),
    Bench(bench::BenchArgs),
    Bpf(bpf::BpfArgs),
    Install(install::InstallArgs),
    Deb(install::deb::DebArgs),
    Dist(install::dist::DistArgs),
    Roots(roots::RootsArgs),
    Man(man::ManArgs),
    Completions(completions::CompletionsArgs),
    Swap(swap::SwapArgs),
    Gallery(gallery::GalleryArgs),
}

fn main() -> ExitCode {
    let done = match Xtask::parse().task {
        Task::Test(args) => test::run(&args),
        Task::Bench(args) => bench::run(&args),
        Task::Bpf(args) => bpf::run(&args),
        Task::Install(args) => install::run(&args),
        Task::Deb(args) => install::deb::run(&args),
        Task::Dist(args) => install::dist::run(&args),
        Task::Roots(args) => roots::run(&args),
        Task::Man(args) => man::run(&args),
        Task::Completions(args) => completions::run(&args),
        Task::Swap(args) => swap::run(&args),
        Task::Gallery(args) => gallery::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
