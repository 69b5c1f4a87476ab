//! *Did you mean*.

/// The candidate that `written` was most likely meant to be; `None` when none is near.
#[must_use]
pub fn suggest<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = fold(written);
    let allowed = (plain.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&plain, &fold(candidate)), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Letter case and the kind of joint do not count as differences.
fn fold(text: &str) -> String {
    text.to_lowercase().replace(['-', '_', ' ', '.'], "_")
}
