//! An empty folder for the files of one program.

use std::path::PathBuf;

/// Makes the folder, without what an earlier run left in it.
pub fn fresh_folder(path: PathBuf) -> Result<PathBuf, String> {
    if path.exists() {
        std::fs::remove_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    std::fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}
