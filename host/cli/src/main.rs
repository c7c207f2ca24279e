//! `lockwright`: see `lockwright --help`.

fn main() {
    lockwright_cli::run::main()
}
