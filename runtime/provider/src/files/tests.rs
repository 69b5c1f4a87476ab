use super::*;

#[test]
fn files_stand_in_one_of_two_places() {
    let url = |text: &str| FileData::Url(text.to_owned());
    let bytes = FileData::Base64("QUJD".to_owned());
    let address = "https://example.com/a.png";
    assert_eq!(placed("image/png", &bytes).expect("placed"), ("image/png", Place::Base64("QUJD")));
    assert_eq!(placed("image/png", &url(address)).expect("placed"), ("image/png", Place::Address(address)));
    for (data, media_type) in [
        ("data:image/gif;base64,QUJD", "image/gif"),
        ("data:;base64,QUJD", "image/png"),
        ("data:text/plain;charset=utf-8;base64,QUJD", "text/plain"),
    ] {
        assert_eq!(placed("image/png", &url(data)).expect("placed"), (media_type, Place::Base64("QUJD")), "{data}");
    }
    let error = placed("text/plain", &url("data:text/plain,hello")).expect_err("refused");
    assert!(error.kind == ProviderErrorKind::BadRequest && error.message.contains("without base64"), "{error}");
}
