//! Libraries that are shipped or kept: those of `plugins/`, which cargo built beside the tests, and the first ever made.

use std::path::{Path, PathBuf};

use roster_plugin::settings::{Grant, Isolation, Settings};
use serde_json::json;

use crate::world::{World, place};

fn beside_the_tests() -> PathBuf {
    std::env::current_exe().expect("us").parent().expect("a folder").to_path_buf()
}

/// A plugin that cargo built, by its library's name.
pub(crate) fn built(library: &str, isolation: Isolation) -> World {
    built_with(library, isolation, |_| {})
}

/// The same with other settings.
pub(crate) fn built_with(library: &str, isolation: Isolation, change: impl FnOnce(&mut Settings)) -> World {
    let file = format!("lib{library}.so");
    assert!(beside_the_tests().join(&file).exists(), "cargo builds {file} with these tests");
    with(&file, isolation, change)
}

pub(crate) fn with(file: &str, isolation: Isolation, change: impl FnOnce(&mut Settings)) -> World {
    World::new(&[], isolation, Vec::new(), |settings| {
        // Where nobody else may write, whatever the umask of the build.
        place(&beside_the_tests().join(file), &settings.folders[0].join(file));
        settings.file = file.to_owned();
        change(settings);
    })
}

/// Kept for ever: what was built against 1.0 is loaded by every later runtime.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[tokio::test(flavor = "multi_thread")]
async fn the_first_library_ever_made_is_loaded() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/fixtures/kept/libclock-1.0-x86_64-linux.so");
    for isolation in [Isolation::InProcess, Isolation::Process] {
        let world = World::new(&[], isolation, Vec::new(), |_| {});
        world.replace(&kept);
        world.until(|world| world.plugin().generation().is_some_and(|one| one.manifest.id == "dev.roster.clock")).await;
        let now = world.tool("now", json!({})).await.expect("the time");
        // In a process of its own the clock is the process's.
        assert!(now["unix_ms"].as_u64() >= Some(1_700_000_000_000), "{now}");
        assert!(isolation == Isolation::Process || now["utc"] == "2023-11-14T22:13:20Z", "{now}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_weather_wants_a_grant() {
    let world = built("weather", Isolation::InProcess);
    let error = world.tool("get_forecast", json!({ "city": "Rome" })).await.expect_err("no grant");
    assert!(error.message.contains("\"http:geocoding-api.open-meteo.com\""), "{error:?}");
    let granted = with("libweather.so", Isolation::InProcess, |settings| {
        settings.grants = vec![Grant::Http("geocoding-api.open-meteo.com".to_owned())];
    });
    // The tests' network repeats what it is asked: the plugin was answered, with something that is no weather.
    let error = granted.tool("get_forecast", json!({ "city": "Rome" })).await.expect_err("an echo");
    assert!(error.message.contains("cannot be read"), "{error:?}");
}
