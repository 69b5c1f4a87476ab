//! Frames there and back, cut, and at random.

use roster_abi::frame::{CALL, COMPLETE, HEADER_LEN, MAX_PAYLOAD};

use super::{CallBody, Frame, FrameError, RequestBody};

fn sample() -> Frame {
    Frame { kind: COMPLETE, call: 0x0102_0304_0506_0708, status: -3, aux: 7, payload: b"{\"a\":1}".to_vec() }
}

#[test]
fn a_frame_comes_back_as_it_went() {
    let mut bytes = Vec::new();
    sample().write_to(&mut bytes).expect("short");
    Frame::of(CALL).write_to(&mut bytes).expect("short");
    let (first, length) = Frame::read_from(&bytes).expect("legal").expect("whole");
    assert_eq!(first, sample());
    assert_eq!(Frame::read_from(&bytes[length..]), Ok(Some((Frame::of(CALL), HEADER_LEN))));
    let mut channel = bytes.as_slice();
    assert_eq!(Frame::read_blocking(&mut channel).expect("legal"), Some(sample()));
    assert_eq!(Frame::read_blocking(&mut channel).expect("legal"), Some(Frame::of(CALL)));
    assert_eq!(Frame::read_blocking(&mut channel).expect("the end"), None);
}

#[test]
fn a_cut_frame_is_waited_for_and_a_cut_channel_is_an_error() {
    let mut bytes = Vec::new();
    sample().write_to(&mut bytes).expect("short");
    for cut in 0..bytes.len() {
        assert_eq!(Frame::read_from(&bytes[..cut]), Ok(None));
        if cut > 0 {
            assert!(Frame::read_blocking(&mut &bytes[..cut]).is_err());
        }
    }
}

#[test]
fn too_long_is_refused_before_it_is_read_or_written() {
    let mut header = [0; HEADER_LEN];
    header[..4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(Frame::read_from(&header), Err(FrameError::TooLong(u32::MAX as usize)));
    let long = Frame { payload: vec![0; MAX_PAYLOAD + 1], ..Frame::of(CALL) };
    assert_eq!(long.write_to(&mut Vec::new()), Err(FrameError::TooLong(MAX_PAYLOAD + 1)));
}

#[test]
fn bodies_come_back_and_cut_or_random_ones_are_errors() {
    let body = CallBody {
        deadline_ms: 30_000,
        encoding: 1,
        flags: 1,
        component: "get_forecast",
        method: "invoke",
        context: b"{}",
        input: b"{\"city\":\"Ulm\"}",
    };
    let bytes = body.to_bytes();
    assert_eq!(CallBody::of(&bytes), Ok(body.clone()));
    let texts = bytes.len() - body.input.len();
    for cut in 0..texts {
        assert_eq!(CallBody::of(&bytes[..cut]), Err(FrameError::Body(CALL)));
    }
    let request = RequestBody { request: 9, service: "kv.get", input: b"{}" };
    assert_eq!(RequestBody::of(&request.to_bytes()), Ok(request));
    let mut state = 1_u32;
    for length in (0..400).cycle().take(20_000) {
        let noise: Vec<u8> = (0..length)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                // Mostly small numbers, so that lengths are often within reach.
                if state >> 30 == 0 { (state >> 16) as u8 } else { 0 }
            })
            .collect();
        // Whatever comes out, nothing panics.
        let _ = (CallBody::of(&noise), RequestBody::of(&noise), Frame::read_from(&noise));
    }
}
