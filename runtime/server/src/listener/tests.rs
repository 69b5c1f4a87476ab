//! The table of routes against the document, and the guard's list of what is public.

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;
use crate::gateway::DOCUMENT;

#[test]
fn the_document_describes_exactly_the_gateways_routes() {
    let document: Value = serde_json::from_str(DOCUMENT).expect("legal JSON");
    let mut described = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys() {
            described.insert(format!("{} {path}", method.to_uppercase()));
        }
    }
    let served: BTreeSet<String> =
        gateway_routes().iter().map(|route| format!("{} {}", route.method, route.path)).collect();
    assert_eq!(described, served);
}

#[test]
fn every_reference_of_the_document_leads_somewhere() {
    let document: Value = serde_json::from_str(DOCUMENT).expect("legal JSON");
    let mut open = vec![&document];
    let mut seen = 0;
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(target)) = map.get("$ref") {
                    seen += 1;
                    let pointer = target.strip_prefix('#').expect("local");
                    assert!(document.pointer(pointer).is_some(), "{target}");
                }
                open.extend(map.values());
            }
            Value::Array(list) => open.extend(list),
            _ => {}
        }
    }
    assert!(seen > 0);
}

/// The guide for clients names every route of both listeners, and every code a client can meet.
#[test]
fn the_guide_tells_of_every_route_and_code() {
    const GUIDE: &str = include_str!("../../../../docs/http.md");
    for route in gateway_routes().iter().chain(&studio_routes()) {
        let heading = format!("`{} {}`", route.method, route.path);
        assert!(GUIDE.contains(&heading), "{heading}");
    }
    for source in [
        include_str!("../http/error.rs"),
        include_str!("../http/json.rs"),
        include_str!("../http/guard.rs"),
        include_str!("../http/limits.rs"),
        include_str!("../mastra/request.rs"),
        include_str!("../mastra/copies.rs"),
        include_str!("../mastra/messages.rs"),
        include_str!("../mastra/working.rs"),
        include_str!("../mastra/upkeep.rs"),
    ] {
        for code in codes(source) {
            assert!(GUIDE.contains(&format!("`{code}`")), "{code}");
        }
    }
}

/// The texts of a source that look like machine codes: `"body_too_large"`.
fn codes(source: &str) -> impl Iterator<Item = &str> {
    let texts = source.split('"').skip(1).step_by(2);
    // Types of the OpenAI form are no codes.
    texts.filter(|text| {
        text.contains('_') && !text.ends_with("_error") && text.bytes().all(|c| c == b'_' || c.is_ascii_lowercase())
    })
}

fn public(routes: &[Route]) -> Vec<&'static str> {
    routes.iter().filter(|route| route.access == Access::Public).map(|route| route.path).collect()
}

#[test]
fn only_the_written_list_is_public() {
    let both = ["/health", "/api/health", "/ready", "/api/auth/capabilities"];
    assert_eq!(public(&gateway_routes()), both);
    assert_eq!(public(&studio_routes()), [&both[..], &["/"]].concat());
}

#[test]
fn a_path_has_one_access_whatever_the_method() {
    for routes in [gateway_routes(), studio_routes()] {
        for route in &routes {
            for other in routes.iter().filter(|other| other.path == route.path) {
                assert_eq!(other.access, route.access, "{}", route.path);
            }
        }
    }
}
