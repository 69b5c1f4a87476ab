//! What must hold of any bytes on the channel to a plugin's process: for the fuzz target and the ordinary tests.

use std::io::ErrorKind;

use roster_plugin::frame::{CallBody, Frame, RequestBody};

/// Both readers agree on them, and what was read is written as it came.
pub(super) fn check(bytes: &[u8]) {
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
}

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
