//! Expected texts.

use std::path::Path;

/// Compares with `tests/golden/<name>.txt`, or with LOCKWRIGHT_BLESS writes it.
pub fn golden(name: &str, text: &str) {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let path = home.join(format!("tests/golden/{name}.txt"));
    if std::env::var_os("LOCKWRIGHT_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let path = path.display();
    assert_eq!(text, expected, "\n{path} differs; LOCKWRIGHT_BLESS=1 writes it anew. Now:\n{text}");
}
