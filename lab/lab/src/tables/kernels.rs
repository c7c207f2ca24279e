//! The kernels of Long's 2018 lockdep patches: preload libraries with the patches, and without.

/// What a kernel is here: a program alone, or with a preload library.
pub struct Kernel {
    /// In the page.
    pub name: &'static str,
    /// The library, a part; none: no library.
    pub library: Option<&'static str>,
    /// What it watches by.
    pub engines: &'static str,
}

const fn kernel(name: &'static str, library: &'static str) -> Kernel {
    Kernel { name, library: Some(library), engines: "lockdep" }
}

pub const NATIVE: Kernel = Kernel { name: "native", library: None, engines: "" };
pub const UNDONE: Kernel = kernel("all patches undone", "preload/unpatched.so");
pub const SHIPPED: Kernel = kernel("shipped", "preload/shipped.so");
pub const DEBUG: Kernel = kernel("shipped, with debug counters", "preload/debug-lockdep.so");
pub const CHECKED: Kernel = Kernel {
    name: "shipped, as `lockwright check` has it",
    library: SHIPPED.library,
    engines: "lockdep,debugobjects",
};
/// One patch undone each. The first removed a function that nobody called: the control.
pub const EACH: [Kernel; 5] = [
    kernel("patch 1 undone: the control", "preload/shipped.so"),
    kernel("patch 2 undone", "preload/unpatched-2.so"),
    kernel("patch 3 undone", "preload/unpatched-3.so"),
    kernel("patch 4 undone", "preload/unpatched-4.so"),
    kernel("patch 5 undone", "preload/unpatched-5.so"),
];
