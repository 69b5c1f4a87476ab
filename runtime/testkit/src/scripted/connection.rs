//! One connection: reads requests and performs scripts, noticing when the peer goes away.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::watch;
use tokio::time::Instant;

use super::dialect::Form;
use super::recorded::{Received, RecordedRequest};
use super::script::{After, Script, Step};
use super::server::Shared;

/// More headers than this end the connection.
const MAX_HEADERS: usize = 64;

struct Head {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    length: usize,
    body: usize,
}

pub(super) async fn serve(mut stream: TcpStream, number: u64, shared: Arc<Shared>) {
    let closed = watch::Sender::new(None);
    // A broken connection is an ordinary end here: tests cut them on purpose.
    let after = converse(&mut stream, number, &shared, &closed).await.unwrap_or(After::Close);
    if after == After::Reset {
        // Zero linger makes the close a reset.
        drop(stream.set_zero_linger());
    }
    drop(stream);
    closed.send_replace(Some(Instant::now()));
}

/// Answers until a script or the peer ends the connection.
async fn converse(
    stream: &mut TcpStream,
    number: u64,
    shared: &Shared,
    closed: &watch::Sender<Option<Instant>>,
) -> io::Result<After> {
    let (mut reader, mut writer) = stream.split();
    let mut buffer = BytesMut::with_capacity(8 * 1024);
    while let Some(head) = read_head(&mut reader, &mut writer, &mut buffer).await? {
        let request = read_request(head, &mut reader, &mut buffer, number, closed).await?;
        let script = shared.answer(&request).script(Form::of(&request));
        perform(&script, &mut reader, &mut writer, &mut buffer).await?;
        if script.after != After::Keep {
            return Ok(script.after);
        }
    }
    Ok(After::Close)
}

async fn read_head(
    reader: &mut ReadHalf<'_>,
    writer: &mut WriteHalf<'_>,
    buffer: &mut BytesMut,
) -> io::Result<Option<Head>> {
    loop {
        if let Some(head) = parse_head(buffer)? {
            let expects = head.headers.iter().any(|(name, value)| name == "expect" && value == "100-continue");
            if expects {
                writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
            }
            return Ok(Some(head));
        }
        if reader.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

fn parse_head(buffer: &[u8]) -> io::Result<Option<Head>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let body = match request.parse(buffer).map_err(io::Error::other)? {
        httparse::Status::Complete(length) => length,
        httparse::Status::Partial => return Ok(None),
    };
    let headers: Vec<(String, String)> = request
        .headers
        .iter()
        .map(|header| (header.name.to_ascii_lowercase(), String::from_utf8_lossy(header.value).into_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length").map_or("0", |(_, value)| value.as_str());
    Ok(Some(Head {
        method: request.method.unwrap_or_default().to_owned(),
        path: request.path.unwrap_or_default().to_owned(),
        length: length.trim().parse().map_err(io::Error::other)?,
        headers,
        body,
    }))
}

async fn read_request(
    head: Head,
    reader: &mut ReadHalf<'_>,
    buffer: &mut BytesMut,
    connection: u64,
    closed: &watch::Sender<Option<Instant>>,
) -> io::Result<RecordedRequest> {
    drop(buffer.split_to(head.body));
    let chunked = head.headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let body = if chunked {
        read_chunked(reader, buffer).await?
    } else {
        fill(reader, buffer, head.length).await?;
        buffer.split_to(head.length).freeze()
    };
    Ok(RecordedRequest::new(Received {
        method: head.method,
        path: head.path,
        headers: head.headers,
        body,
        at: Instant::now(),
        connection,
        closed: closed.subscribe(),
    }))
}

async fn read_chunked(reader: &mut ReadHalf<'_>, buffer: &mut BytesMut) -> io::Result<Bytes> {
    let mut body = BytesMut::new();
    loop {
        let status = httparse::parse_chunk_size(buffer).map_err(|_| io::Error::other("bad chunk size"))?;
        let httparse::Status::Complete((line, size)) = status else {
            let more = buffer.len() + 1;
            fill(reader, buffer, more).await?;
            continue;
        };
        let size = usize::try_from(size).map_err(io::Error::other)?;
        // Two bytes more: each chunk, also the empty last one, ends with CR LF.
        fill(reader, buffer, line + size + 2).await?;
        drop(buffer.split_to(line));
        body.extend_from_slice(&buffer.split_to(size));
        drop(buffer.split_to(2));
        if size == 0 {
            return Ok(body.freeze());
        }
    }
}

async fn fill(reader: &mut ReadHalf<'_>, buffer: &mut BytesMut, length: usize) -> io::Result<()> {
    while buffer.len() < length {
        if reader.read_buf(buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

async fn perform(
    script: &Script,
    reader: &mut ReadHalf<'_>,
    writer: &mut WriteHalf<'_>,
    buffer: &mut BytesMut,
) -> io::Result<()> {
    for step in &script.steps {
        match step {
            Step::Write(bytes) => writer.write_all(bytes).await?,
            Step::Pause(pause) => unless_gone(sleep(*pause), reader, buffer).await?,
            Step::Pass(gate) => unless_gone(gate.pass(), reader, buffer).await?,
        }
    }
    Ok(())
}

async fn sleep(pause: Duration) {
    tokio::time::sleep(pause).await;
}

/// Waits, and gives up when the peer closes meanwhile.
async fn unless_gone(
    wait: impl Future<Output = ()>,
    reader: &mut ReadHalf<'_>,
    buffer: &mut BytesMut,
) -> io::Result<()> {
    let mut wait = std::pin::pin!(wait);
    loop {
        tokio::select! {
            () = &mut wait => return Ok(()),
            read = reader.read_buf(buffer) => {
                if read? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
        }
    }
}
