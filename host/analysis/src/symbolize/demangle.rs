//! Names as people write them: C++ and Rust demangled, compiler suffixes dropped.

/// The name to show for a symbol or for a function's linkage name.
///
/// C++ names lose parameter lists and return types: the source line next to them tells overloads
/// apart, and a report line stays short.
pub fn demangle(name: &str) -> String {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return without_lazy(format!("{rust:#}"));
    }
    let plain = without_suffix(name);
    // ELF symbol versions (`memcpy@@GLIBC_2.14`) are part of the name in a full symbol table.
    let plain = plain.split_once('@').map_or(plain, |(base, _)| base);
    if plain.starts_with("_Z") {
        let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
        if let Some(text) = cpp_demangle::Symbol::new(plain)
            .ok()
            .and_then(|symbol| symbol.demangle_with_options(&options).ok())
        {
            return text;
        }
    }
    plain.to_owned()
}

/// What `lazy_static!` keeps a variable in has the variable's name in that of a trait's implementation.
fn without_lazy(name: String) -> String {
    let variable = name.strip_prefix('<').and_then(|rest| rest.strip_suffix(LAZY));
    variable.map(str::to_owned).unwrap_or(name)
}

/// What the name ends in.
const LAZY: &str = " as core::ops::deref::Deref>::deref::__stability::LAZY";

/// Whether the name alone tells scope and all: a mangled one, in other words.
pub fn is_mangled(name: &str) -> bool {
    name.starts_with("_Z") || name.starts_with("_R")
}

/// Cuts what compilers append: `.constprop.0`, `.isra.1`, `.part.2`, `.cold`, `.llvm.123`, and the
/// number of a function's static variable. No C or C++ identifier contains a dot.
fn without_suffix(name: &str) -> &str {
    match name.find('.') {
        Some(dot) if dot > 0 => &name[..dot],
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn names() {
        for (raw, shown) in [
            ("main", "main"),
            ("work.part.0", "work"),
            ("lock.2345", "lock"),
            (".hidden", ".hidden"),
            ("memcpy@@GLIBC_2.14", "memcpy"),
            ("_ZNSt5mutex4lockEv", "std::mutex::lock"),
            ("_ZN4bank8transferERNS_7AccountES1_.isra.0", "bank::transfer"),
            ("_ZN7rocksdb6DBImpl9WriteImplEv", "rocksdb::DBImpl::WriteImpl"),
            ("_ZNSt10lock_guardISt5mutexEC1ERS0_", "std::lock_guard<std::mutex>::lock_guard"),
            ("_ZN4demo4LOCK17h0123456789abcdefE", "demo::LOCK"),
            (
                "_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h0123456789abcdefE",
                "core::ptr::drop_in_place<alloc::string::String>",
            ),
            (
                "_ZN76_$LT$tracing_core..callsite..REGISTRY$u20$as$u20$core..ops..deref..Deref$GT$5deref11__stability4LAZY17h0123456789abcdefE",
                "tracing_core::callsite::REGISTRY",
            ),
            ("_RNvCs4fqI2P2rA04_7mycrate3foo", "mycrate::foo"),
            ("_Znot_really_mangled", "_Znot_really_mangled"),
            ("", ""),
        ] {
            assert_eq!(demangle(raw), shown, "{raw}");
        }
    }
}
