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

fn public(routes: &[Route]) -> Vec<&'static str> {
    routes.iter().filter(|route| route.access == Access::Public).map(|route| route.path).collect()
}

#[test]
fn only_the_written_list_is_public() {
    assert_eq!(public(&gateway_routes()), ["/health", "/api/health", "/ready"]);
    assert_eq!(public(&studio_routes()), ["/health", "/api/health", "/ready", "/"]);
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
