//! Gives the shared library its soname: programs are linked with the version whose ABI they know.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,liblockwright.so.0");
}
