//! What a plugin's author imports. A plugin is a type that implements [`Plugin`], registers its components and is
//! exported with [`export_plugin!`]; no `unsafe` in the author's code. `docs/plugins.md` is the guide.
//!
//! Reading order: [`plugin`], [`registry`], [`context`], [`host`], [`error`]; then what the author does not see:
//! `boundary` (the C functions and their guard), `responder` (exactly one completion), `panics`. The JSON shapes are
//! those of `roster-abi`, so that this crate and the runtime cannot disagree about them.
//!
//! What is *not* here: anything of the runtime. This crate is compiled into the plugin.

mod boundary;
pub mod component;
pub mod context;
pub mod error;
pub mod host;
#[cfg(feature = "log")]
mod logger;
mod panics;
pub mod plugin;
pub mod registry;
mod responder;
mod table;
pub mod testing;

/// The C layout, for the macro and for plugins that look below this crate.
pub use roster_abi as abi;
/// The JSON shapes of all contracts.
pub use roster_abi::contract;

#[doc(hidden)]
pub use boundary::{entry, flags, toolchain};
pub use responder::Responder;

/// Everything a plugin usually names. Derives of `serde` and `schemars` name those crates, so a plugin lists both among
/// its dependencies.
pub mod prelude {
    pub use crate::context::Context;
    pub use crate::contract;
    pub use crate::error::{Error, Result};
    pub use crate::export_plugin;
    pub use crate::host::Host;
    pub use crate::plugin::{NoConfig, Plugin};
    pub use crate::registry::Registry;
    pub use schemars::JsonSchema;
    pub use serde::{Deserialize, Serialize};
    pub use serde_json::{Value, json};
}

/// Exports a [`Plugin`] from this library: `export_plugin!(Weather, id = "com.example.weather", blocking = true);`
///
/// `id` is a reverse-DNS name; the version is the crate's. `blocking = true`: calls may block, they run on threads of
/// the plugin's own (without it a call should return within 100 µs). `concurrent = false`: one call at a time.
/// `process = true`: the plugin asks to run in a process of its own.
#[macro_export]
macro_rules! export_plugin {
    ($plugin:ty, id = $id:literal $(, $flag:ident = $value:literal)* $(,)?) => {
        #[doc(hidden)]
        #[unsafe(no_mangle)]
        #[allow(non_upper_case_globals, reason = "the contract names it so")]
        pub static arp_plugin_manifest: $crate::abi::c::Manifest = $crate::abi::c::Manifest::new(
            $id,
            env!("CARGO_PKG_VERSION"),
            $crate::toolchain(),
            $crate::flags(&[$((stringify!($flag), $value)),*]),
        );

        #[doc(hidden)]
        #[unsafe(no_mangle)]
        pub extern "C" fn arp_plugin_entry_v1(
            host: *const $crate::abi::c::Host,
        ) -> *const $crate::abi::c::PluginApi {
            $crate::entry::<$plugin>(host)
        }
    };
}
