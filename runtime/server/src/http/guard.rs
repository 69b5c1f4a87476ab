//! What stands in front of every route of a listener, the ones that do not exist included.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http::header::{CONNECTION, HeaderValue};
use http::{StatusCode, Uri};
use roster_engine::turn::TurnRefused;

use crate::app::{App, Auth, HttpConfig};
use crate::http::error::{self, ApiError};
use crate::http::health;
use crate::http::identity::{Access, Identity, identify};
use crate::http::limits::{Buckets, Caller};
use crate::http::origin::{self, Origin};
use crate::http::peer::Peer;
use crate::http::route::Door;

/// What the guard of one listener knows.
pub(crate) struct Gate {
    app: Arc<App>,
    door: Door,
    access: HashMap<&'static str, Access>,
    buckets: Buckets,
}

impl Gate {
    pub(crate) fn new(app: Arc<App>, door: Door, access: HashMap<&'static str, Access>) -> Self {
        Self { app, door, access, buckets: Buckets::default() }
    }

    /// By the route found, never by the path as spelled: a spelling no route matches needs a token like any other.
    fn access(&self, request: &Request) -> Access {
        let matched = request.extensions().get::<MatchedPath>();
        matched.and_then(|path| self.access.get(path.as_str())).copied().unwrap_or(Access::Known)
    }

    /// Whether the runtime is stopping and this is not for those who watch it.
    fn turns_away(&self, request: &Request) -> bool {
        let watched = |path: &MatchedPath| health::WHILE_DRAINING.contains(&path.as_str());
        self.app.services.draining.is_cancelled() && !request.extensions().get::<MatchedPath>().is_some_and(watched)
    }

    fn admit(&self, config: &HttpConfig, peer: Peer, request: &mut Request) -> Result<(), ApiError> {
        let access = self.access(request);
        if access == Access::Public {
            return Ok(());
        }
        let identity = identify(&config.auth, access, request.headers())?;
        let caller = match &identity {
            Identity::Known { subject, .. } => Caller::Subject(subject.clone()),
            Identity::Anybody => Caller::Address(peer.address),
        };
        self.buckets.take(caller, config.requests_per_minute).map_err(|wait| {
            let message = format!("more than {} requests a minute", config.requests_per_minute);
            ApiError::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message).retry_after(wait)
        })?;
        request.extensions_mut().insert(identity);
        Ok(())
    }
}

/// The middleware.
pub(crate) async fn guard(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let uri = request.uri().clone();
    // A connection kept now would keep the runtime.
    let closes = gate.app.services.draining.is_cancelled();
    let mut response = answer(&gate, &uri, request, next).await;
    if closes {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

async fn answer(gate: &Gate, uri: &Uri, mut request: Request, next: Next) -> Response {
    let config = gate.app.config.load_full();
    let peer = request.extensions().get::<Peer>().copied().unwrap_or_default();
    if let Err(error) = origin::check_host(peer.loopback, uri, request.headers()) {
        return error::shape(uri, error.into_response());
    }
    let cors = match gate.door {
        Door::Gateway => &config.gateway_cors,
        Door::Studio => &config.studio_cors,
    };
    let auth_on = !matches!(config.auth, Auth::None);
    let origin = origin::origin(cors, auth_on, peer.loopback, uri, request.headers());
    if let Some(response) = origin::preflight(request.method(), request.headers(), &origin) {
        return response;
    }
    request.extensions_mut().insert(origin.clone());
    let admitted = if gate.turns_away(&request) {
        Err(TurnRefused::Draining.into())
    } else {
        origin::check_write(request.method(), &origin).and_then(|()| gate.admit(&config, peer, &mut request))
    };
    let response = match admitted {
        Ok(()) => run(request, next).await,
        Err(error) => error.into_response(),
    };
    let response = error::shape(uri, response);
    if origin == Origin::None { response } else { origin::allow(&origin, response) }
}

/// A crash of a handler is the end of its request only.
async fn run(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().cloned();
    match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(_panic) => {
            let path = path.as_ref().map_or("", MatchedPath::as_str);
            tracing::error!(path, "a request's handler crashed; only this request ended");
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the request crashed the runtime's handler")
                .into_response()
        }
    }
}
