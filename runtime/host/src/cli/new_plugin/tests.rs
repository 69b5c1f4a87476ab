use std::path::Path;
use std::process::{Command, Stdio};

use super::{C, c_files, check_name, named, relative, rust_files};

#[test]
fn names_are_checked() {
    for good in ["tides", "tide-table", "a1"] {
        assert!(check_name(good).is_ok(), "{good}");
    }
    for bad in ["", "Tides", "1a", "a_b", "a-", "../x", "a b", "watch", "fn", "std", &"a".repeat(41)] {
        assert!(check_name(bad).is_err(), "{bad}");
    }
}

#[test]
fn the_templates_names_are_replaced() {
    let text = named("my-plugin my_plugin MyPlugin", "tide-table");
    assert_eq!(text, "tide-table tide_table TideTable");
    for (file, text) in rust_files("tide-table", "../sdk").iter().chain(&c_files("tide-table")) {
        let rest = ["my-plugin", "my_plugin", "MyPlugin"].iter().any(|word| text.contains(word) || file.contains(word));
        assert!(!rest, "{file}");
    }
}

#[test]
fn the_manifest_is_toml_with_the_path_as_given() {
    let files = rust_files("x", "odd \"path\"");
    let manifest: toml_edit::DocumentMut = files[0].1.parse().expect("TOML");
    assert_eq!(manifest["dependencies"]["roster-sdk"]["path"].as_str(), Some("odd \"path\""));
    assert_eq!(manifest["lib"]["name"].as_str(), Some("x"));
}

#[test]
fn paths_are_relative_where_they_can_be() {
    let folder = tempfile::tempdir().expect("a folder");
    let base = folder.path().canonicalize().expect("real");
    let (from, to) = (base.join("project/plugins/x"), base.join("roster/runtime/sdk"));
    std::fs::create_dir_all(base.join("project")).expect("made");
    assert_eq!(relative(&from, &to), "../../../roster/runtime/sdk");
    assert_eq!(relative(&from, Path::new("/elsewhere/sdk")), "/elsewhere/sdk");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test writes what the command would")]
fn the_template_in_c_compiles_without_a_warning() {
    let present = Command::new("cc").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !present.is_ok_and(|status| status.success()) {
        // Nothing to compile it with.
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (file, text) in c_files("tide-table") {
        std::fs::write(folder.path().join(file), text).expect("written");
    }
    let arguments = ["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "tide_table.c"];
    let output = Command::new("cc").args(arguments).current_dir(folder.path()).output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(C.contains("arp_plugin_entry_v1"));
}
