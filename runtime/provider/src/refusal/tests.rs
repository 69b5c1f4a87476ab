use ProviderErrorKind as Kind;

use super::*;

fn check(status: u16, body: &str, kind: Kind, message: &str) {
    let status = StatusCode::from_u16(status).expect("status");
    let error = Refusal::from_body(status, body.as_bytes()).into_error();
    assert_eq!((error.kind, shortened(&error.message).as_str()), (kind, message), "{status} {body}");
    assert_eq!(error.status, Some(status.as_u16()));
}

#[test]
fn codes_go_before_the_status() {
    check(
        400,
        r#"{"error":{"message":"Too long.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
        Kind::ContextLength,
        "error 400 context_length_exceeded: Too long",
    );
    check(
        404,
        r#"{"error":{"message":"No such model","code":"model_not_found"}}"#,
        Kind::NotFound,
        "error 404 model_not_found: No such model",
    );
    check(
        400,
        r#"{"error":{"message":"no","code":"model_not_found"}}"#,
        Kind::NotFound,
        "error 400 model_not_found: no",
    );
    check(
        429,
        r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
        Kind::Auth,
        "error 429 insufficient_quota: You exceeded your current quota",
    );
    check(
        400,
        r#"{"error":{"message":"no","code":"content_filter"}}"#,
        Kind::ContentFilter,
        "error 400 content_filter: no",
    );
    check(
        400,
        r#"{"code":"DataInspectionFailed","message":"no"}"#,
        Kind::ContentFilter,
        "error 400 DataInspectionFailed: no",
    );
}

#[test]
fn a_status_speaks_for_itself() {
    for (status, kind) in [
        (400, Kind::BadRequest),
        (401, Kind::Auth),
        (402, Kind::Auth),
        (403, Kind::Auth),
        (404, Kind::NotFound),
        (408, Kind::Timeout),
        (413, Kind::BadRequest),
        (422, Kind::BadRequest),
        (429, Kind::RateLimited),
        (500, Kind::Server),
        (502, Kind::Server),
        (503, Kind::Overloaded),
        (504, Kind::Timeout),
        (529, Kind::Overloaded),
    ] {
        check(status, "", kind, &format!("error {status}"));
    }
}

#[test]
fn bodies_come_in_many_forms() {
    check(500, r#"{"error":"boom."}"#, Kind::Server, "error 500: boom");
    check(500, r#"{"detail":"not today"}"#, Kind::Server, "error 500: not today");
    check(500, r#"[{"error":{"message":"m","status":"INTERNAL","code":500}}]"#, Kind::Server, "error 500 INTERNAL: m");
    check(
        400,
        r#"{"object":"error","message":"m","type":"BadRequestError","code":400}"#,
        Kind::BadRequest,
        "error 400 BadRequestError: m",
    );
    check(
        422,
        r#"{"detail":[{"loc":["body"],"msg":"field required"}]}"#,
        Kind::BadRequest,
        r#"error 422: {"detail":[{"loc":["body"],"msg":"field required"}]}"#,
    );
    check(500, "plain\n words", Kind::Server, "error 500: plain words");
    check(502, "<html><h1>Bad Gateway</h1>", Kind::Server, "error 502: an HTML page instead of an answer");
    check(
        400,
        r#"{"error":{"message":"This model's maximum context length is 8 tokens","type":"x"}}"#,
        Kind::ContextLength,
        "error 400 x: This model's maximum context length is 8 tokens",
    );
    check(500, r#"{"error":{"message":"context window"}}"#, Kind::Server, "error 500: context window");
    check(500, "\u{0}\u{ff}", Kind::Server, "error 500: \u{0}\u{ff}");
}

fn in_band(body: &str, kind: Kind) {
    let value: Value = serde_json::from_str(body).expect("json");
    assert_eq!(Refusal::from_value(&value).kind(), kind, "{body}");
}

#[test]
fn without_a_status_the_type_decides() {
    in_band(r#"{"error":{"type":"overloaded_error"}}"#, Kind::Overloaded);
    in_band(r#"{"error":{"type":"service_unavailable"}}"#, Kind::Overloaded);
    in_band(r#"{"error":{"type":"rate_limit_error"}}"#, Kind::RateLimited);
    in_band(r#"{"error":{"code":"rate_limit_exceeded","type":"tokens"}}"#, Kind::RateLimited);
    in_band(r#"{"error":{"code":429}}"#, Kind::RateLimited);
    in_band(r#"{"error":{"code":"503"}}"#, Kind::Overloaded);
    in_band(r#"{"error":{"type":"server_error"}}"#, Kind::Server);
    in_band(r#"{"error":{"type":"invalid_request_error"}}"#, Kind::BadRequest);
    in_band(r#"{"error":{"type":"authentication_error"}}"#, Kind::Auth);
    in_band(r#"{"error":{"type":"not_found_error"}}"#, Kind::NotFound);
    in_band(r#"{"error":{"type":"timeout"}}"#, Kind::Timeout);
    in_band(r#"{"error":{"message":"prompt is too long: 9 tokens"}}"#, Kind::ContextLength);
    in_band(r#"{"error":{}}"#, Kind::Server);
    in_band(r#""words""#, Kind::Server);
}

#[test]
fn a_long_message_is_cut_at_three_hundred_characters() {
    let short = shortened(&"北 ".repeat(400));
    assert_eq!(short.chars().count(), MAX_MESSAGE);
    assert!(short.ends_with('…'));
}

#[test]
fn the_words_stay_whole_until_secrets_are_masked() {
    let words = format!("{}end", "word ".repeat(200));
    let body = serde_json::json!({"error": {"message": words}}).to_string();
    for body in [words.as_bytes(), body.as_bytes()] {
        assert_eq!(Refusal::from_body(StatusCode::BAD_GATEWAY, body).message, words);
    }
}

#[test]
fn a_code_or_type_of_more_than_sixty_four_characters_is_none() {
    let (longest, longer) = ("c".repeat(MAX_LABEL), "c".repeat(MAX_LABEL + 1));
    check(500, &format!(r#"{{"code":"{longest}","message":"m"}}"#), Kind::Server, &format!("error 500 {longest}: m"));
    check(500, &format!(r#"{{"code":"{longer}","type":"{longer}","message":"m"}}"#), Kind::Server, "error 500: m");
    check(500, &format!(r#"{{"code":"{longer}","type":"t","message":"m"}}"#), Kind::Server, "error 500 t: m");
}
