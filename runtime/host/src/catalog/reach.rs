//! How a provider of `runtime.toml` is reached: its address, key, way and limits.

use std::path::Path;

use roster_engine::registry::NameFault;
use roster_provider::breaker::BreakerLimits;
use roster_provider::client::{ProxyChoice, Route};
use roster_provider::config::{Key, ProviderConfig, Timeouts};

use super::dialect;
use crate::config::{self, ProviderKey, ProxyConfig, Reach, read_file};

/// The provider as it is configured; the file of its authorities is read.
///
/// # Errors
/// [`NameFault`] for an unknown dialect, or a `ca_file` that cannot be read.
pub(super) fn of_runtime(config: &config::ProviderConfig, root: &Path) -> Result<ProviderConfig, NameFault> {
    let mut made = ProviderConfig::new(&config.name, dialect(&config.dialect)?, &config.base_url);
    made.stream = config.stream;
    made.key = match &config.key {
        ProviderKey::None => Key::None,
        ProviderKey::Set(secret) => Key::Value(secret.expose().to_owned()),
        ProviderKey::Missing { variable } => Key::Missing { variable: variable.clone() },
    };
    let Reach { first_token, idle, breaker_failures, breaker_rest, .. } = config.reach;
    let (timeouts, breaker) = (Timeouts::default(), BreakerLimits::default());
    made.timeouts =
        Timeouts { first_token: first_token.unwrap_or(timeouts.first_token), idle: idle.unwrap_or(timeouts.idle) };
    made.breaker = BreakerLimits {
        failures: breaker_failures.unwrap_or(breaker.failures),
        rest: breaker_rest.unwrap_or(breaker.rest),
    };
    made.route = route(config, root)?;
    Ok(made)
}

fn route(config: &config::ProviderConfig, root: &Path) -> Result<Route, NameFault> {
    let Reach { connect, ca_file, proxy, .. } = &config.reach;
    let mut route = Route::default();
    if let Some(connect) = connect {
        route.connect_timeout = *connect;
    }
    if let Some(file) = ca_file {
        let pem =
            read_file(&root.join(file)).map_err(|failure| unreadable(&config.name, file, &failure.to_string()))?;
        route.extra_ca_pem.push(pem);
    }
    route.proxy = match proxy {
        ProxyConfig::System => ProxyChoice::System,
        ProxyConfig::Direct => ProxyChoice::Direct,
        ProxyConfig::Through(address) => ProxyChoice::Through(address.expose().to_owned()),
    };
    Ok(route)
}

fn unreadable(provider: &str, file: &Path, failure: &str) -> NameFault {
    NameFault {
        code: "provider_config",
        message: format!("`ca_file` of provider `{provider}`, {}, cannot be read: {failure}", file.display()),
        help: Some("name a PEM file, relative to the project's folder or absolute".to_owned()),
    }
}
