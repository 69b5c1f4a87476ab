//! The header as compilers of C and C++ see it, pedantically, with its own asserts; where there is such a compiler.

use std::fs;
use std::process::{Command, Stdio};

/// Uses every struct; good C11 and good C++17.
const PROGRAM: &str = r#"
#include "roster_plugin.h"

static int32_t create(const arp_host *host, arp_slice config, const arp_out *out, void **instance) {
  (void)config; (void)out;
  *instance = (void *)(uintptr_t)host;
  return ARP_OK;
}
static int32_t describe(void *instance, const arp_out *out) {
  arp_slice text = { (const uint8_t *)"{}", 2 };
  (void)instance;
  out->write(out->ctx, ARP_OUT_VALUE, text);
  return ARP_OK;
}
static int32_t call(void *instance, const arp_call *call) {
  const arp_host *host = (const arp_host *)instance;
  return host->complete(host->ctx, call->id, ARP_E_UNSUPPORTED, &call->input);
}
static void destroy(void *instance) { (void)instance; }

static const arp_plugin_api api = {
  sizeof(arp_plugin_api), 0, create, describe, call, destroy, NULL, NULL, NULL, NULL, NULL
};
const arp_manifest arp_plugin_manifest = {
  ARP_MAGIC, sizeof(arp_manifest), ARP_MF_CONCURRENT, ARP_ABI_MAJOR, ARP_ABI_MINOR, 0, 64, sizeof(arp_plugin_api),
  sizeof(arp_host), "com.example.c", "1.0.0", "c"
};
const arp_plugin_api *arp_plugin_entry_v1(const arp_host *host) { (void)host; return &api; }
"#;

fn compiles(compiler: &str, standard: &str, file: &str) {
    let present = Command::new(compiler).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !present.is_ok_and(|status| status.success()) {
        eprintln!("no `{compiler}` here: the header was not compiled as {standard}");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("roster_plugin.h"), roster_abi::HEADER).expect("written");
    fs::write(folder.path().join(file), PROGRAM).expect("written");
    let output = Command::new(compiler)
        .args([standard, "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", file])
        .current_dir(folder.path())
        .output()
        .expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn it_is_c11() {
    compiles("cc", "-std=c11", "plugin.c");
}

#[test]
fn it_is_cpp17() {
    compiles("c++", "-std=c++17", "plugin.cpp");
}
