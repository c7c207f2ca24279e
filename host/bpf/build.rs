//! Links with the C library of the directory that `LOCKWRIGHT_SYSROOT` names, if it names one:
//! host/cli/build.rs says why.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=LOCKWRIGHT_SYSROOT");
    if let Some(dir) = std::env::var("LOCKWRIGHT_SYSROOT").ok().filter(|dir| !dir.is_empty()) {
        println!("cargo::rustc-link-arg=--sysroot={dir}");
        println!("cargo::rustc-link-arg=-B{dir}/usr/lib/x86_64-linux-gnu");
    }
}
