//! What must be kept of a served file's text to point at its names later: the lines that names stand in. The rest, most
//! of all the instructions, would be in memory twice.

use std::ops::Range;
use std::sync::Arc;

use roster_engine::definition::Positions;

/// The same places in a shorter text: lines without a name are empty, so that line and column stay what they were.
pub(super) fn skeleton(positions: &Positions) -> Positions {
    let mut short = positions.clone();
    let mut spans = spans(&mut short);
    spans.sort_by_key(|span| (span.start, span.end));
    let mut text = String::new();
    let mut ahead = spans.into_iter().peekable();
    let mut start = 0;
    for line in positions.source.split_inclusive('\n') {
        let end = start + line.len();
        let shift = start - text.len();
        let mut kept = false;
        while let Some(span) = ahead.next_if(|span| span.start < end) {
            kept = true;
            span.start -= shift;
            // A table over several lines is pointed at by its first.
            span.end = (span.end.min(end) - shift).max(span.start);
        }
        if kept {
            text.push_str(line);
        } else if line.ends_with('\n') {
            text.push('\n');
        }
        start = end;
    }
    let length = text.len();
    ahead.for_each(|span| *span = length..length);
    short.source = Arc::from(text);
    short
}

fn spans(positions: &mut Positions) -> Vec<&mut Range<usize>> {
    let mut spans: Vec<&mut Range<usize>> = Vec::new();
    spans.extend(positions.id.as_mut().map(|(_, span)| span));
    spans.extend(&mut positions.model);
    spans.extend(&mut positions.memory_factory);
    spans.extend(&mut positions.embedder);
    spans.extend(&mut positions.working_schema);
    spans.extend(&mut positions.output_schema);
    spans.extend(&mut positions.tools);
    spans.extend(&mut positions.agents);
    spans.extend(&mut positions.stages);
    spans.extend(&mut positions.processors);
    for settings in &mut positions.tool_settings {
        spans.push(&mut settings.span);
        spans.extend(settings.keys.iter_mut().map(|(_, span)| span));
    }
    spans
}
