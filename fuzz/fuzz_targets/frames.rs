//! Whatever bytes a plugin's own process sends, both readers of the channel agree on them, and what was read is written
//! as it came.
#![no_main]

use std::io::ErrorKind;

use libfuzzer_sys::fuzz_target;
use roster_plugin::frame::{CallBody, Frame, RequestBody};

fuzz_target!(|bytes: &[u8]| {
    let mut channel = bytes;
    let mut rest = bytes;
    loop {
        let blocking = Frame::read_blocking(&mut channel);
        match Frame::read_from(rest) {
            Ok(Some((frame, length))) => {
                assert_eq!(blocking.unwrap().as_ref(), Some(&frame));
                same_again(&frame);
                rest = &rest[length..];
            }
            Ok(None) if rest.is_empty() => return assert_eq!(blocking.unwrap(), None),
            Ok(None) => return assert_eq!(blocking.unwrap_err().kind(), ErrorKind::UnexpectedEof),
            Err(_) => return assert_eq!(blocking.unwrap_err().kind(), ErrorKind::InvalidData),
        }
    }
});

fn same_again(frame: &Frame) {
    let mut written = Vec::new();
    frame.write_to(&mut written).unwrap();
    assert_eq!(Frame::read_from(&written), Ok(Some((frame.clone(), written.len()))));
    if let Ok(call) = CallBody::of(&frame.payload) {
        assert_eq!(call.to_bytes(), frame.payload);
    }
    if let Ok(request) = RequestBody::of(&frame.payload) {
        assert_eq!(request.to_bytes(), frame.payload);
    }
}
