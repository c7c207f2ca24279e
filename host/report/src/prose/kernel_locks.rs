//! The words for the kernel's own locks.

use super::words::plain;
use lockwright_analysis::traced::kernel::{KernelKind, KernelLock};

/// The name of a kind.
pub fn kind(kind: KernelKind) -> &'static str {
    match kind {
        KernelKind::Spinlock => "spinlock",
        KernelKind::RwlockRead => "rwlock, read",
        KernelKind::RwlockWrite => "rwlock, write",
        KernelKind::Mutex => "mutex",
        KernelKind::RwsemRead => "rwsem, read",
        KernelKind::RwsemWrite => "rwsem, write",
        KernelKind::RtMutex => "rtmutex",
        KernelKind::PercpuRwsemRead => "percpu rwsem, read",
        KernelKind::PercpuRwsemWrite => "percpu rwsem, write",
        KernelKind::Semaphore => "semaphore",
    }
}

/// A class by its name, quoted if the kernel's source calls it so.
pub fn name(lock: &KernelLock) -> String {
    let name = plain(&lock.name);
    if lock.is_named { format!("`{name}`") } else { name }
}

/// How the locks of a class are waited for, each kind once.
pub fn kinds(lock: &KernelLock) -> String {
    let mut kinds: Vec<KernelKind> = lock.sites.iter().map(|site| site.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.into_iter().map(kind).collect::<Vec<&str>>().join("; ")
}

/// Functions, innermost first, in one line.
pub fn stack(functions: &[String]) -> String {
    functions.iter().map(|function| plain(function)).collect::<Vec<String>>().join(" < ")
}
