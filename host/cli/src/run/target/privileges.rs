//! Programs that gain privileges when they are executed ignore LD_PRELOAD.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::ledger_dir::ignores_setuid;

/// The user that runs the program, and what the file would change about that.
#[derive(Clone, Copy, Debug)]
struct Privileges {
    mode: u32,
    owner: u32,
    group: u32,
    capabilities: bool,
    uid: u32,
    gid: u32,
    /// PR_SET_NO_NEW_PRIVS: the bits of the mode do nothing.
    no_new: bool,
}

/// Why the loader would ignore LD_PRELOAD (AT_SECURE), as the kernel decides it.
fn secure_execution(p: Privileges) -> Option<&'static str> {
    if !p.no_new && p.mode & libc::S_ISUID != 0 && p.owner != p.uid {
        return Some("set-user-id");
    }
    // Without group execute permission the bit means something else.
    let setgid = libc::S_ISGID | libc::S_IXGRP;
    if !p.no_new && p.mode & setgid == setgid && p.group != p.gid {
        return Some("set-group-id");
    }
    // Root gains nothing by capabilities.
    (p.capabilities && p.uid != 0).then_some("file capabilities")
}

/// By what this user would gain privileges by executing the file.
pub fn gained(file: &Path) -> Option<&'static str> {
    let meta = file.metadata().ok()?;
    let privileges = Privileges {
        mode: meta.mode(),
        owner: meta.uid(),
        group: meta.gid(),
        capabilities: has_capabilities(file),
        // SAFETY: these have no preconditions and cannot fail.
        uid: unsafe { libc::getuid() },
        // SAFETY: as above.
        gid: unsafe { libc::getgid() },
        // SAFETY: asks only.
        no_new: unsafe { libc::prctl(libc::PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) } == 1,
    };
    secure_execution(privileges).filter(|_| !ignores_setuid(file))
}

fn has_capabilities(file: &Path) -> bool {
    let Ok(path) = std::ffi::CString::new(file.as_os_str().as_bytes()) else { return false };
    let name = c"security.capability".as_ptr();
    // SAFETY: terminated strings; with size 0 nothing is written.
    unsafe { libc::getxattr(path.as_ptr(), name, std::ptr::null_mut(), 0) > 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secure_execution_is_as_the_kernel_has_it() {
        let plain = Privileges {
            mode: 0o755,
            owner: 0,
            group: 0,
            capabilities: false,
            uid: 1000,
            gid: 1000,
            no_new: false,
        };
        assert_eq!(secure_execution(plain), None);
        assert_eq!(secure_execution(Privileges { mode: 0o4755, ..plain }), Some("set-user-id"));
        assert_eq!(secure_execution(Privileges { mode: 0o4755, owner: 1000, ..plain }), None);
        assert_eq!(secure_execution(Privileges { mode: 0o2755, ..plain }), Some("set-group-id"));
        assert_eq!(secure_execution(Privileges { mode: 0o2745, ..plain }), None);
        assert_eq!(secure_execution(Privileges { mode: 0o6755, no_new: true, ..plain }), None);
        let capable = Privileges { capabilities: true, ..plain };
        assert_eq!(secure_execution(capable), Some("file capabilities"));
        assert_eq!(secure_execution(Privileges { uid: 0, ..capable }), None);
    }
}
