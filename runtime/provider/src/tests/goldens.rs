//! Streams byte for byte against the deltas they stand for, for every dialect: `NAME.sse` is what a server sends,
//! `NAME.deltas` what it stands for, a line each. With `UPDATE_GOLDEN=1` the latter are written.

#![allow(clippy::disallowed_methods, reason = "goldens are files beside the tests, written when that is asked for")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use proptest::prelude::*;
use roster_model::provider::{Delta, ProviderError, Usage};

use crate::call::answer_of;
use crate::config::Dialect;
use crate::refusal::shortened;

/// A stream and what it stands for.
pub(crate) struct Golden {
    pub(crate) name: String,
    pub(crate) stream: String,
    pub(crate) deltas: String,
}

fn folder(dialect: Dialect) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(dialect.name())
}

/// All of a dialect, by name.
pub(crate) fn goldens(dialect: Dialect) -> Vec<Golden> {
    let mut all: Vec<Golden> = std::fs::read_dir(folder(dialect))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sse"))
        .map(|path| Golden {
            name: path.file_stem().expect("a name").to_string_lossy().into_owned(),
            stream: std::fs::read_to_string(&path).expect("text"),
            deltas: std::fs::read_to_string(path.with_extension("deltas")).unwrap_or_default(),
        })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn response(kind: &str, pieces: Vec<Bytes>) -> reqwest::Response {
    let body = reqwest::Body::wrap_stream(futures_util::stream::iter(pieces.into_iter().map(Ok::<_, std::io::Error>)));
    http::Response::builder().header("content-type", kind).body(body).expect("response").into()
}

/// What comes of an answer in these pieces.
pub(crate) async fn replay(dialect: Dialect, kind: &str, pieces: Vec<Bytes>) -> String {
    let reader = dialect.wire(true).reader();
    let mut shown = String::new();
    match answer_of(response(kind, pieces), reader, Duration::from_secs(5)).await {
        Ok(stream) => {
            let mut stream = std::pin::pin!(stream);
            while let Some(delta) = stream.next().await {
                show(&mut shown, delta);
            }
        }
        Err(error) => show(&mut shown, Err(error)),
    }
    shown
}

fn show(shown: &mut String, delta: Result<Delta, ProviderError>) {
    let written = match delta {
        Ok(Delta::Text(text)) => writeln!(shown, "text {text:?}"),
        Ok(Delta::Reasoning(text)) => writeln!(shown, "reasoning {text:?}"),
        Ok(Delta::ReasoningOpaque(value)) => writeln!(shown, "opaque {value}"),
        Ok(Delta::ToolCall { index, id, name }) => {
            writeln!(shown, "call {index} {} {name}", id.as_deref().unwrap_or("-"))
        }
        Ok(Delta::ToolArguments { index, fragment }) => writeln!(shown, "arguments {index} {fragment:?}"),
        Ok(Delta::End { reason, usage, model }) => {
            writeln!(shown, "end {reason:?} {} {}", numbers(&usage), model.as_deref().unwrap_or("-"))
        }
        Err(error) => writeln!(shown, "error {:?} {} {}", error.kind, numbers(&error.usage), shortened(&error.message)),
    };
    written.expect("shown");
}

fn numbers(usage: &Usage) -> String {
    let all = [
        usage.input_tokens,
        usage.output_tokens,
        usage.total_tokens,
        usage.cached_input_tokens,
        usage.reasoning_tokens,
    ];
    all.map(|count| count.map_or("-".to_owned(), |count| count.to_string())).join("/")
}

/// Pieces of this size.
pub(crate) fn in_pieces(bytes: &[u8], size: usize) -> Vec<Bytes> {
    bytes.chunks(size).map(Bytes::copy_from_slice).collect()
}

/// What comes of a stream in these pieces.
pub(crate) async fn events(dialect: Dialect, pieces: Vec<Bytes>) -> String {
    replay(dialect, "text/event-stream", pieces).await
}

/// What comes of a whole answer.
pub(crate) async fn whole(dialect: Dialect, body: &str) -> String {
    replay(dialect, "application/json", in_pieces(body.as_bytes(), 11)).await
}

async fn each_stream_gives_its_deltas(dialect: Dialect) {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut wrong = String::new();
    for Golden { name, stream, deltas } in goldens(dialect) {
        let shown = events(dialect, in_pieces(stream.as_bytes(), usize::MAX)).await;
        if shown != deltas && update {
            std::fs::write(folder(dialect).join(format!("{name}.deltas")), &shown).expect("written");
        } else if shown != deltas {
            write!(wrong, "== {name}\n{shown}").expect("written");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

async fn a_cut_at_any_byte_changes_nothing(dialect: Dialect) {
    for Golden { name, stream, deltas } in goldens(dialect) {
        for at in 0..stream.len() {
            let (head, tail) = stream.as_bytes().split_at(at);
            let pieces = vec![Bytes::copy_from_slice(head), Bytes::copy_from_slice(tail)];
            assert_eq!(events(dialect, pieces).await, deltas, "{name} cut at {at}");
        }
    }
}

async fn pieces_line_ends_blanks_and_marks_change_nothing(dialect: Dialect) {
    for Golden { name, stream, deltas } in goldens(dialect) {
        for line_end in ["\n", "\r\n", "\r"] {
            for with_blank in [true, false] {
                for mark in ["", "\u{feff}"] {
                    let stream = if with_blank { stream.clone() } else { stream.replace("data: ", "data:") };
                    let bytes = format!("{mark}{}", stream.replace('\n', line_end));
                    for size in [1, 2, 3, 7] {
                        let shown = events(dialect, in_pieces(bytes.as_bytes(), size)).await;
                        assert_eq!(shown, deltas, "{name} {line_end:?} {with_blank} {mark:?} {size}");
                    }
                }
            }
        }
    }
}

/// Comments, data with nothing in it and the like, between all events.
async fn chatter_changes_nothing(dialect: Dialect) {
    let chatter = ": warming up\n\ndata:\n\ndata: : ping\n\n:\n\nid: 7\nretry: 3000\n\nevent: ping\ndata: {}\n\n";
    for Golden { name, stream, deltas } in goldens(dialect) {
        let noisy = format!("{chatter}{}", stream.replace("\n\n", &format!("\n\n{chatter}")));
        assert_eq!(events(dialect, in_pieces(noisy.as_bytes(), 5)).await, deltas, "{name}");
    }
}

/// What cannot be read in the last event may be a cut one, and is called so.
async fn a_missing_last_blank_line_changes_nothing(dialect: Dialect) {
    for Golden { name, stream, deltas } in goldens(dialect) {
        let may_be_cut = deltas.contains("error Protocol");
        for cut in [stream.trim_end_matches('\n'), stream.strip_suffix('\n').unwrap_or(&stream)] {
            let shown = events(dialect, in_pieces(cut.as_bytes(), 5)).await;
            let is_called_cut = may_be_cut && shown.contains("error Truncated");
            assert!(shown == deltas || is_called_cut, "{name}: {shown}");
        }
    }
}

/// Streams that say with every piece that they are at their end; a cut cannot be told there.
const ALWAYS_AT_END: &str = "finish-in-every-chunk";

/// Whatever is cut off: an answer that says to be whole has said all that the whole one says.
async fn no_cut_makes_half_an_answer_a_whole_one(dialect: Dialect) {
    for Golden { name, stream, deltas } in goldens(dialect) {
        let content = |shown: &str| -> String {
            shown.lines().filter(|line| !line.starts_with("end ")).map(|line| format!("{line}\n")).collect()
        };
        // Every end of a line, and every seventh byte.
        let bytes = stream.as_bytes();
        let places = (0..bytes.len()).filter(|at| at % 7 == 0 || bytes[at - 1] == b'\n');
        for at in places.filter(|_| name != ALWAYS_AT_END) {
            let shown = events(dialect, in_pieces(&bytes[..at], usize::MAX)).await;
            let ended = shown.lines().last().is_some_and(|line| line.starts_with("end "));
            assert!(!ended || content(&shown) == content(&deltas), "{name} cut at {at}: {shown}");
        }
    }
}

fn any_split_gives_the_same_deltas(dialect: Dialect) {
    let all = goldens(dialect);
    let splits = (0..all.len(), proptest::collection::vec(any::<proptest::sample::Index>(), 0..40));
    let config = ProptestConfig { cases: 200, ..ProptestConfig::default() };
    proptest!(config, |((golden, cuts) in splits)| {
        let Golden { name, stream, deltas } = &all[golden];
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        places.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for place in places.into_iter().chain([stream.len()]) {
            pieces.push(Bytes::copy_from_slice(&stream.as_bytes()[from..place]));
            from = place;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("runtime");
        prop_assert_eq!(&runtime.block_on(events(dialect, pieces)), deltas, "{}", name);
    });
}

macro_rules! for_each_dialect {
    ($($dialect:ident $variant:ident,)*) => {
        $(mod $dialect {
            use crate::config::Dialect;

            const DIALECT: Dialect = Dialect::$variant;

            #[tokio::test]
            async fn each_stream_gives_its_deltas() {
                super::each_stream_gives_its_deltas(DIALECT).await;
            }

            #[tokio::test]
            async fn a_cut_at_any_byte_changes_nothing() {
                super::a_cut_at_any_byte_changes_nothing(DIALECT).await;
            }

            #[tokio::test]
            async fn pieces_line_ends_blanks_and_marks_change_nothing() {
                super::pieces_line_ends_blanks_and_marks_change_nothing(DIALECT).await;
            }

            #[tokio::test]
            async fn chatter_changes_nothing() {
                super::chatter_changes_nothing(DIALECT).await;
            }

            #[tokio::test]
            async fn a_missing_last_blank_line_changes_nothing() {
                super::a_missing_last_blank_line_changes_nothing(DIALECT).await;
            }

            #[tokio::test]
            async fn no_cut_makes_half_an_answer_a_whole_one() {
                super::no_cut_makes_half_an_answer_a_whole_one(DIALECT).await;
            }

            #[test]
            fn any_split_gives_the_same_deltas() {
                super::any_split_gives_the_same_deltas(DIALECT);
            }
        })*
    };
}

for_each_dialect! {
    openai OpenAi,
    openai_responses OpenAiResponses,
    anthropic Anthropic,
    gemini Gemini,
}
