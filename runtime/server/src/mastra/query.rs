//! Paging, order and filters as Mastra's clients write them.

use roster_model::message::{Message, Role};
use roster_model::storage::{Direction, ThreadOrder};
use roster_model::time::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::http::error::ApiError;
use crate::http::query::Params;

/// The largest page.
const MOST: u64 = 10_000;

/// Which page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Paging {
    pub(super) page: u64,
    pub(super) per_page: u64,
}

impl Paging {
    pub(super) fn offset(self) -> u64 {
        self.page.saturating_mul(self.per_page)
    }

    /// Whether rows come after this page.
    pub(super) fn has_more(self, rows: usize, total: u64) -> bool {
        self.offset().saturating_add(rows as u64) < total
    }

    pub(super) fn limit(self) -> usize {
        usize::try_from(self.per_page).unwrap_or(usize::MAX)
    }
}

pub(super) fn issue(field: &str, message: &str) -> ApiError {
    let issues = json!([{"field": field, "message": message}]);
    ApiError::invalid("Invalid query parameters").param(field).detail("issues", issues)
}

fn number(params: &Params, name: &'static str, otherwise: u64, most: u64) -> Result<u64, ApiError> {
    let Some(text) = params.text(name) else { return Ok(otherwise) };
    match text.parse::<i64>().map(u64::try_from) {
        Err(_) => Err(issue(name, "Invalid input: expected a whole number")),
        Ok(Err(_)) => Err(issue(name, "Too small: expected a number of at least 0")),
        Ok(Ok(number)) if number > most => Err(issue(name, &format!("Too big: expected a number of at most {most}"))),
        Ok(Ok(number)) => Ok(number),
    }
}

/// `page` and `perPage`.
///
/// # Errors
/// 400 with `issues`.
pub(super) fn paging(params: &Params, per_page: u64) -> Result<Paging, ApiError> {
    let page = number(params, "page", 0, u64::from(u32::MAX))?;
    Ok(Paging { page, per_page: number(params, "perPage", per_page, MOST)? })
}

#[derive(Default, Deserialize)]
struct OrderBy {
    field: Option<String>,
    direction: Option<String>,
}

/// `orderBy` as one JSON text, or as `orderBy[field]` and `orderBy[direction]`; `None` when neither is there.
fn order_by(params: &Params) -> Result<Option<OrderBy>, ApiError> {
    if let Some(text) = params.text("orderBy") {
        let bad = |_| issue("orderBy", "Invalid input: expected an object with `field` and `direction`");
        return serde_json::from_str(text).map(Some).map_err(bad);
    }
    let own = |name| params.text(name).map(str::to_owned);
    let order = OrderBy { field: own("orderBy[field]"), direction: own("orderBy[direction]") };
    Ok(Some(order).filter(|order| order.field.is_some() || order.direction.is_some()))
}

fn direction(order: &OrderBy) -> Result<Direction, ApiError> {
    match order.direction.as_deref() {
        None | Some("DESC") => Ok(Direction::Descending),
        Some("ASC") => Ok(Direction::Ascending),
        Some(_) => Err(issue("orderBy.direction", "Invalid input: expected `ASC` or `DESC`")),
    }
}

/// The order of a thread list. Default: newest made first.
///
/// # Errors
/// 400 with `issues`.
pub(super) fn thread_order(params: &Params) -> Result<(ThreadOrder, Direction), ApiError> {
    let order = order_by(params)?.unwrap_or_default();
    let field = match order.field.as_deref() {
        None | Some("createdAt") => ThreadOrder::Created,
        Some("updatedAt") => ThreadOrder::Updated,
        Some(_) => return Err(issue("orderBy.field", "Invalid input: expected `createdAt` or `updatedAt`")),
    };
    Ok((field, direction(&order)?))
}

/// The order of a message list. `None`: the newest page, but its rows oldest first.
///
/// # Errors
/// 400 with `issues`.
pub(super) fn message_order(params: &Params) -> Result<Option<Direction>, ApiError> {
    order_by(params)?.map(|order| direction(&order)).transpose()
}

/// `metadata=<JSON object>`: the keys a thread must have, with their values.
///
/// # Errors
/// 400 with `issues`.
pub(super) fn metadata(params: &Params) -> Result<Option<Map<String, Value>>, ApiError> {
    let Some(text) = params.text("metadata") else { return Ok(None) };
    serde_json::from_str(text).map(Some).map_err(|_| issue("metadata", "Invalid input: expected a JSON object"))
}

/// `filter=<JSON>` of a message list.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageFilter {
    date_range: Option<DateRange>,
    roles: Option<Vec<Role>>,
}

#[derive(Debug, Deserialize)]
struct DateRange {
    start: Option<Timestamp>,
    end: Option<Timestamp>,
}

/// The filter, if there is one.
///
/// # Errors
/// 400 with `issues`.
pub(super) fn filter(params: &Params) -> Result<Option<MessageFilter>, ApiError> {
    let Some(text) = params.text("filter") else { return Ok(None) };
    let read: MessageFilter = serde_json::from_str(text)
        .map_err(|_| issue("filter", "Invalid input: expected an object with `dateRange` or `roles`"))?;
    Ok(Some(read).filter(|filter| filter.date_range.is_some() || filter.roles.is_some()))
}

impl MessageFilter {
    pub(super) fn takes(&self, message: &Message) -> bool {
        let role = self.roles.as_ref().is_none_or(|roles| roles.contains(&message.role));
        let date = self.date_range.as_ref().is_none_or(|range| {
            range.start.is_none_or(|start| message.created_at >= start)
                && range.end.is_none_or(|end| message.created_at <= end)
        });
        role && date
    }
}
