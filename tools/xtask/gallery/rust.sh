# A warehouse of three clerks and a stocktaking: locks/lockwright/examples/warehouse.rs.
# packages: rustc
cd "$REPOSITORY"
cargo build --quiet --package lockwright --example warehouse
watch check -- target/debug/examples/warehouse
