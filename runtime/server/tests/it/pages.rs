//! Studio's page, the registry, the document.

use axum::body::Body;
use http::{Method, StatusCode};
use roster_engine::definition::Problem;
use roster_server::{Auth, Scope};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::world::{Answer, World, ask, bearer, candidate, grant, send};

#[tokio::test]
async fn the_registry_as_operators_see_it() {
    let world = World::new();
    let body = world.studio("/admin/registry").await.json();
    assert_eq!(body["generation"], 1);
    let states: Vec<(&str, &str)> = body["agents"]
        .as_array()
        .expect("agents")
        .iter()
        .map(|agent| (agent["id"].as_str().expect("id"), agent["state"].as_str().expect("state")))
        .collect();
    assert_eq!(
        states,
        [("clerk", "serving"), ("echo", "serving"), ("broken", "rejected"), ("off", "disabled"), ("keeper", "serving")]
    );
    let clerk = &body["agents"][0];
    assert_eq!((&clerk["file"], &clerk["generation"]), (&json!("agents/clerk.toml"), &json!(1)));
    assert_eq!(clerk["tools"], json!([{"name": "add", "offered": "add"}]));
    assert_eq!(clerk["problems"], json!([]));
    let problem = &body["agents"][2]["problems"][0];
    assert_eq!(problem["severity"], "error");
    assert_eq!((&problem["line"], &problem["file"]), (&json!(3), &json!("agents/broken.toml")));
    assert_eq!(body["unregistered"][0]["file"], "agents/stray.toml");
}

#[tokio::test]
async fn the_page_is_plain_and_may_only_talk_home() {
    let world = World::new();
    world.configure(|config| config.gateway_address = Some("0.0.0.0:9000".parse().expect("legal")));
    let page = world.studio("/").await;
    assert_eq!(page.status, StatusCode::OK);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let policy = page.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'") && policy.contains("script-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe"));
    assert!(page.text.contains("curl -N http://127.0.0.1:9000/api/chat") && page.text.contains("version 9.9.9"));
    assert!(!page.text.contains("{{"), "every mark is filled");
    assert!(page.text.contains("\"model\": \"<span id=\"example\">clerk</span>\""), "the first that serves");
}

/// What a policy allows: the hash in it against the text between the tags.
#[tokio::test]
async fn the_policy_allows_the_pages_own_style_and_script() {
    let page = World::new().studio("/").await;
    let policy = page.header("content-security-policy");
    for (tag, directive) in [("style", "style-src"), ("script", "script-src")] {
        let (_, after) = page.text.split_once(&format!("<{tag}>")).expect("inline");
        let (text, _) = after.split_once(&format!("</{tag}>")).expect("closed");
        let hash = format!("{directive} 'sha256-{}'", base64(&Sha256::digest(text)));
        assert!(policy.contains(&hash), "{hash} in {policy}");
    }
}

/// Slow and plain, unlike the one it checks.
fn base64(bytes: &[u8]) -> String {
    let bits: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    let letters: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    let sixes = bits.as_bytes().chunks(6).map(|six| format!("{:0<6}", std::str::from_utf8(six).expect("ASCII")));
    let mut text: String = sixes.map(|six| letters[usize::from_str_radix(&six, 2).expect("bits")]).collect();
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

/// The ids of the agents a page lists.
fn listed(page: &Answer) -> Vec<&str> {
    let cards = page.text.split("<li data-agent=\"").skip(1);
    cards.map(|card| card.split_once('"').expect("closed").0).collect()
}

/// All of it is there before any script runs.
#[tokio::test]
async fn the_page_lists_every_agent_as_it_stands() {
    let world = World::new();
    world.operator.change("clerk", |line| {
        line.definition = None;
        line.problems = vec![Problem::error("syntax", "agents/clerk.toml", "no `<TOML>`")];
    });
    world.operator.change("echo", |line| line.pinned = line.definition.clone());
    world.operator.change("off", |line| line.gone = true);
    world.operator.publish();
    let page = world.studio("/").await;
    assert_eq!(listed(&page), ["clerk", "echo", "broken", "off", "keeper"]);
    for shown in [
        "generation 2",
        ">2 serving<",
        ">1 last good version<",
        ">1 rejected<",
        ">1 file missing<",
        "no <code>&lt;TOML&gt;</code>",
        "pinned to <code",
        "<dd>stub/echo</dd>",
        "since generation 1",
        "agents/broken.toml:3:9",
        "agents/stray.toml",
        "href=\"/admin/agents/clerk/history\"",
        "<form id=\"login\" class=\"panel\" hidden>",
    ] {
        assert!(page.text.contains(shown), "{shown} in {}", page.text);
    }
    assert_eq!(page.header("cache-control"), "no-store");
    assert_eq!(page.header("vary"), "Authorization");
}

#[tokio::test]
async fn what_files_say_is_text_and_never_markup() {
    let world = World::new();
    let text = "id = \"echo\"\ninstructions = \"x\"\nname = \"<script>{{version}}\"\ndescription = '\"><img>'\n";
    world.operator.change("echo", |line| *line = candidate(&("echo", text)));
    world.operator.publish();
    let page = world.studio("/?q=%22%3E%3Cb%3E").await;
    assert!(page.text.contains("value=\"&quot;&gt;&lt;b&gt;\"") && page.text.contains("No agent matches"));
    let page = world.studio("/").await;
    assert!(page.text.contains("&lt;script&gt;{{version}}") && page.text.contains("&quot;&gt;&lt;img&gt;"));
    assert_eq!(page.text.matches("<script>").count(), 1, "the page's own");
}

#[tokio::test]
async fn a_long_list_can_be_filtered_and_is_cut() {
    let world = World::new();
    for number in 0..200 {
        let id = format!("extra-{number}");
        let text = format!("id = \"{id}\"\ninstructions = \"x\"\nname = \"Extra No. {number}\"\n");
        world.operator.add(candidate(&(&id, &text)));
    }
    world.operator.publish();
    let page = world.studio("/").await;
    assert_eq!(listed(&page).len(), 200);
    assert!(page.text.contains("… and 5 more"));
    assert_eq!(listed(&world.studio("/?q=extra-19").await).len(), 11, "19 and 190 to 199");
    assert_eq!(listed(&world.studio("/?q=EXTRA%20no.%207").await).len(), 11, "by name, whatever the case");
    assert_eq!(listed(&world.studio("/?state=rejected").await), ["broken"]);
    assert_eq!(listed(&world.studio("/?state=disabled&q=o").await), ["off"]);
    assert_eq!(listed(&world.studio("/?state=nonsense").await).len(), 200);
}

/// The page is open to all, what it shows is not.
#[tokio::test]
async fn with_auth_on_the_page_shows_the_registry_to_operators_only() {
    let world = World::new();
    world.configure(|config| {
        config.auth = Auth::Tokens(vec![grant("ops", &[Scope::Studio]), grant("root", &[Scope::Admin])]);
    });
    let page = async |token: &str| send(&world.studio, bearer(ask(Method::GET, "/", Body::empty()), token)).await;
    for token in ["", "nobody", "ops"] {
        let page = page(token).await;
        assert_eq!(page.status, StatusCode::OK);
        assert!(listed(&page).is_empty() && !page.text.contains("clerk") && !page.text.contains("stray"), "{token}");
        assert!(page.text.contains("<form id=\"login\" class=\"panel\" >"));
        assert!(page.text.contains("<span id=\"control\" hidden>"));
    }
    assert_eq!(listed(&page("root").await).len(), 5);
}

#[tokio::test]
async fn where_nobody_reloads_the_page_offers_no_history() {
    let page = World::uncontrolled().studio("/").await;
    assert_eq!(listed(&page).len(), 5);
    assert!(!page.text.contains("/history\"") && page.text.contains("<span id=\"control\" hidden>"));
}

#[tokio::test]
async fn the_document_carries_the_version() {
    let world = World::new();
    let document: Value = world.get("/openapi.json").await.json();
    assert_eq!(document["info"]["version"], "9.9.9");
    assert!(document["paths"]["/api/chat"]["post"].is_object());
}

#[tokio::test]
async fn providers_are_listed_with_how_they_stand_and_who_uses_them() {
    let world = World::new();
    let body = world.studio("/admin/providers").await.json();
    let agents = json!(["clerk", "echo", "keeper"]);
    let one = json!({"name": "stub", "circuit": "closed", "ready": true, "models": ["stub/echo"], "agents": agents});
    assert_eq!(body, json!({"providers": [one]}));
    world.model.leave_alone();
    world.model.lose_key();
    let body = world.studio("/admin/providers").await.json();
    let stands = &body["providers"][0];
    assert_eq!((&stands["circuit"], &stands["ready"]), (&json!("open"), &json!(false)));
    assert_eq!(stands["problem"], "the variable `STUB_KEY` is not set");
}
