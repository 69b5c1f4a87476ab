//! Building the lying plugin in its variants.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

/// Everything built so far, by its macros.
static BUILT: OnceLock<(tempfile::TempDir, Mutex<HashMap<String, PathBuf>>)> = OnceLock::new();

/// The library with these macros (`ANSWER="v2"` …); built once a process.
pub(crate) fn liar(macros: &[&str]) -> PathBuf {
    let (folder, built) = BUILT.get_or_init(|| (tempfile::tempdir().expect("a folder"), Mutex::default()));
    let mut built = built.lock().expect("nobody panicked");
    let key = macros.join(" ");
    if let Some(path) = built.get(&key) {
        return path.clone();
    }
    let path = folder.path().join(format!("libliar{}.so", built.len()));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/liar.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-w", "-pthread", "-o"]).arg(&path).arg(source);
    compiler.args(macros.iter().map(|one| format!("-D{one}")));
    let output = compiler.output().expect("a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    built.insert(key, path.clone());
    path
}
