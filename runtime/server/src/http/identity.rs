//! Who asks, and so whose threads they are. The server decides; a client may only propose where nobody is known.

use http::HeaderMap;
use http::StatusCode;
use http::header::AUTHORIZATION;
use roster_model::id::ResourceId;
use sha2::{Digest, Sha256};

use crate::app::{Auth, Scope, TokenGrant};
use crate::http::error::ApiError;

/// Who asks. In every guarded request's extensions.
#[derive(Debug, Clone)]
pub(crate) enum Identity {
    /// Authentication is off.
    Anybody,
    /// The holder of a token.
    Known {
        /// For rate limits and logs.
        subject: String,
        /// The owner of all their threads.
        resource: ResourceId,
    },
}

/// What a route needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Open to all.
    Public,
    /// A token with this scope, when authentication is on.
    Needs(Scope),
    /// Any token, when authentication is on: paths that do not exist, so that the guard has no gaps to find.
    Known,
}

/// Finds out who asks and whether they may.
///
/// # Errors
/// 401 without a good token, 403 when it lacks the scope.
pub(crate) fn identify(auth: &Auth, access: Access, headers: &HeaderMap) -> Result<Identity, ApiError> {
    let Auth::Tokens(grants) = auth else { return Ok(Identity::Anybody) };
    let Some(token) = bearer(headers) else {
        let message = "this route needs a token: `Authorization: Bearer …`";
        return Err(ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message));
    };
    let Some(grant) = find(grants, token) else {
        return Err(ApiError::new(StatusCode::UNAUTHORIZED, "invalid_token", "the token is not valid"));
    };
    if let Access::Needs(scope) = access
        && !grant.scopes.iter().any(|has| *has == scope || *has == Scope::Admin)
    {
        let message = format!("the token lacks the scope `{}`", scope.as_str());
        return Err(ApiError::new(StatusCode::FORBIDDEN, "missing_scope", message));
    }
    Ok(Identity::Known { subject: grant.subject.clone(), resource: grant.resource.clone() })
}

fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let (scheme, token) = value.as_bytes().split_at_checked(7)?;
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer ") && !token.is_empty()).then_some(token)
}

/// Looks at every grant and every byte, whatever matches: the time taken tells nothing.
fn find<'a>(grants: &'a [TokenGrant], token: &[u8]) -> Option<&'a TokenGrant> {
    let hash: [u8; 32] = Sha256::digest(token).into();
    let mut found = None;
    for grant in grants {
        let difference = grant.sha256.iter().zip(hash).fold(0, |all, (a, b)| all | (a ^ b));
        if std::hint::black_box(difference) == 0 {
            found = Some(grant);
        }
    }
    found
}

impl Identity {
    /// Whether somebody said whose threads they are: an identity, or the request. Otherwise the owner is a default that
    /// everybody shares.
    pub(crate) fn names_owner(&self, proposed: Option<&str>) -> bool {
        matches!(self, Self::Known { .. }) || proposed.is_some()
    }

    /// The owner of this request's threads: the identity's own, else the first that is given.
    ///
    /// # Errors
    /// 400 when what the client proposes is no legal resource id.
    pub(crate) fn resource(&self, proposed: Option<&str>, fallback: &ResourceId) -> Result<ResourceId, ApiError> {
        match (self, proposed) {
            (Self::Known { resource, .. }, _) => Ok(resource.clone()),
            (Self::Anybody, None) => Ok(fallback.clone()),
            (Self::Anybody, Some(text)) => {
                ResourceId::new(text).map_err(|error| ApiError::invalid(error.to_string()).param("resource"))
            }
        }
    }
}
