use super::*;

fn secrets(key: &str, address: &str) -> Secrets {
    Secrets::new(&Key::Value(key.to_owned()), &Url::parse(address).expect("url"))
}

fn check(secrets: &Secrets, text: &str, expected: &str) {
    assert_eq!(secrets.masked(text), expected, "{text}");
}

#[test]
fn everything_that_can_stand_in_an_address_is_masked_encoded_and_decoded() {
    let all =
        secrets(" sk-0123456789\n", "https://my-tenant:p%40ss%2Bword%26@h.example/v1?code=q%2Fvalue+1&bare-token-1");
    check(&all, "a sk-0123456789 b", "a [secret] b");
    check(&all, "for my-tenant and p%40ss%2Bword%26", "for [secret] and [secret]");
    check(&all, "with p@ss+word&!", "with [secret]!");
    check(&all, "code=q%2Fvalue+1, which is q/value 1", "code=[secret], which is [secret]");
    check(&all, "bare-token-1", "[secret]");
    check(&all, "nothing of h.example", "nothing of h.example");
}

#[test]
fn a_secret_inside_another_leaves_nothing_of_it() {
    let all = secrets("tenant-one-and-more", "https://tenant-one:tenant-one-and@h.example/v1");
    check(&all, "tenant-one-and-more tenant-one-and tenant-one", "[secret] [secret] [secret]");
}

#[test]
fn a_secret_is_known_inside_json_and_short_ones_are_words() {
    let all = secrets("sk-\"quoted\"\\0", "https://user:no@h.example/v1");
    check(&all, r#"{"headers":"sk-\"quoted\"\\0"}"#, r#"{"headers":"[secret]"}"#);
    check(&all, "no user", "no user");
    check(&Secrets::new(&Key::None, &Url::parse("https://h.example").expect("url")), "as it is", "as it is");
}

#[test]
fn a_text_that_breaks_off_in_a_secret_does_not_show_its_half() {
    let all = secrets("sk-0123456789", "https://h.example/v1");
    check(&all, "bad key sk-012345678", "bad key [secret]");
    check(&all, "bad key sk-0", "bad key [secret]");
    check(&all, "bad key sk-", "bad key sk-");
    check(&all, "sk-01 is no key", "sk-01 is no key");
}
