//! The program that loads BPF programs into the kernel, for `lockwright meter`.

fn main() -> std::process::ExitCode {
    lockwright_bpf::helper::main()
}
