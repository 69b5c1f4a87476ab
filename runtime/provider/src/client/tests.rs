mod ways;

use roster_testkit::clock::TestClock;
use roster_testkit::ids::TestIds;

use super::*;

const AUTHORITY: &str = include_str!("../../tests/golden/authority.pem");

fn url(text: &str) -> Url {
    Url::parse(text).expect("url")
}

fn client() -> HttpClient {
    HttpClient::new(ClientOptions::new(Arc::new(TestClock::default()), Arc::new(TestIds::default())))
}

fn trusting(authorities: &[&str]) -> Route {
    let extra_ca_pem = authorities.iter().map(|pem| pem.as_bytes().to_vec()).collect();
    Route { extra_ca_pem, ..Route::default() }
}

#[test]
fn loopback_is_known_in_all_its_spellings() {
    for (address, expected) in [
        ("http://localhost:1/v1", true),
        ("http://LOCALHOST/v1", true),
        ("http://127.8.0.1/v1", true),
        ("http://[::1]:8080/v1", true),
        ("http://10.0.0.1/v1", false),
        ("https://api.openai.com/v1", false),
        ("https://localhost.example.com/v1", false),
    ] {
        assert_eq!(is_loopback(&url(address)), expected, "{address}");
    }
}

#[test]
fn extra_authorities_are_taken_singly_and_in_bundles() {
    let bundle = format!("# ours\n{AUTHORITY}\n{AUTHORITY}");
    let route = trusting(&[AUTHORITY, &bundle]);
    assert_eq!(authorities(&route).expect("readable").len(), 3);
    let client = client();
    for address in ["https://a.example/v1", "https://127.0.0.1/v1"] {
        assert!(client.for_url(&url(address), &route).is_ok(), "{address}");
    }
}

#[test]
fn an_authority_that_cannot_be_read_is_an_error_that_counts_it() {
    for bad in ["", "no certificate", "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n"] {
        let error = client().for_url(&url("https://a.example/v1"), &trusting(&[AUTHORITY, bad])).expect_err("bad");
        assert_eq!(error.to_string(), "extra certificate authority 2 holds no readable PEM certificate", "{bad:?}");
    }
}
