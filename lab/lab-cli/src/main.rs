//! `lockwright-lab`: see `lockwright-lab --help`.

fn main() {
    lockwright_lab_cli::run::main()
}
