//! Reading pages, and what is not read.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Mutex;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::page::MOST_TEXT;
use super::*;
use crate::tests::{client, context, object};

/// Serves whole answers by path, on loopback.
struct Site {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl Site {
    async fn start(pages: impl FnOnce(SocketAddr) -> Vec<(&'static str, String)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let pages: HashMap<_, _> = pages(address).into_iter().collect();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    match stream.read_u8().await {
                        Ok(byte) => head.push(byte),
                        Err(_) => break,
                    }
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                let missing =
                    "HTTP/1.1 404 No\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\nnot here".to_owned();
                let _ = stream.write_all(pages.get(path.as_str()).unwrap_or(&missing).as_bytes()).await;
                seen.lock().expect("whole").push(path);
            }
        });
        Self { address, asked, _tasks: tasks }
    }
}

fn page(kind: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n{body}")
}

fn redirect(to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

/// A name server of the test's own: each name has its answers one after the other, the last for ever.
#[derive(Default)]
struct Names(Mutex<HashMap<String, Vec<Vec<IpAddr>>>>);

impl Lookup for Names {
    fn lookup(&self, host: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let mut names = self.0.lock().expect("whole");
        let answers =
            names.get_mut(&host).map(|answers| if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() });
        Box::pin(async move { answers.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound)) })
    }
}

fn maker(names: &[(&str, &[&[&str]])]) -> FetchMaker {
    drop(client());
    let of = |all: &[&[&str]]| {
        all.iter().map(|ips| ips.iter().map(|ip| ip.parse().expect("an address")).collect()).collect()
    };
    let names = names.iter().map(|(name, all)| ((*name).to_owned(), of(all))).collect();
    FetchMaker::new(Arc::new(Names(Mutex::new(names)))).expect("clients")
}

async fn get(maker: &FetchMaker, settings: Value, url: &str) -> Result<Value, ToolError> {
    let tool = maker.make(&object(&settings)).expect("legal settings");
    tool.call(object(&json!({"url": url})), context()).await
}

async fn code(maker: &FetchMaker, settings: Value, url: &str) -> &'static str {
    get(maker, settings, url).await.expect_err("refused").code
}

#[tokio::test]
async fn a_page_is_read_as_text() {
    let html =
        "<html><head><title>A &amp; B</title><style>p{}</style></head><body><h1>Hi</h1><p>one<br>two</p></body></html>";
    let site = Site::start(|_| {
        vec![
            ("/a", page("text/html; charset=utf-8", html)),
            ("/data", page("application/json", "{\"n\":1}")),
            ("/old", page("text/plain; charset=iso-8859-1", "ok")),
        ]
    })
    .await;
    let (maker, at) = (maker(&[]), site.address);
    let settings = json!({"hosts": [at.to_string()], "allow_private": true});
    let read = get(&maker, settings.clone(), &format!("http://{at}/a")).await.expect("read");
    let expected = json!({"url": format!("http://{at}/a"), "status": 200, "content_type": "text/html; charset=utf-8", "title": "A & B", "text": "# Hi\n\none\ntwo", "truncated": false});
    assert_eq!(read, expected);
    assert_eq!(get(&maker, settings.clone(), &format!("http://{at}/data")).await.expect("read")["text"], "{\"n\":1}");
    let missing = get(&maker, settings.clone(), &format!("http://{at}/none")).await.expect("told");
    assert_eq!((&missing["status"], &missing["text"]), (&json!(404), &json!("not here")));
    assert_eq!(code(&maker, settings, "http://127.0.0.1:1/").await, "host_not_allowed");
    assert_eq!(*site.asked.lock().expect("whole"), ["/a", "/data", "/none"]);
}

#[tokio::test]
async fn what_is_no_text_or_too_long_is_not_told_whole() {
    let site = Site::start(|_| {
        vec![
            ("/png", page("image/png", "x")),
            ("/gbk", page("text/html; charset=gbk", "x")),
            (
                "/zip",
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\nx"
                    .to_owned(),
            ),
            ("/long", page("text/plain", &"ä".repeat(3 * 1024 * 1024))),
        ]
    })
    .await;
    let (maker, at) = (maker(&[]), site.address);
    let settings = json!({"hosts": [at.to_string()], "allow_private": true});
    for (path, expected) in [("png", "not_text"), ("gbk", "not_text"), ("zip", "bad_answer")] {
        assert_eq!(code(&maker, settings.clone(), &format!("http://{at}/{path}")).await, expected);
    }
    let long = get(&maker, settings, &format!("http://{at}/long")).await.expect("read");
    assert_eq!((long["text"].as_str().expect("text").len(), &long["truncated"]), (64 * 1024, &json!(true)));
}

#[tokio::test]
async fn private_addresses_are_refused_by_number_by_name_and_by_redirect() {
    let site = Site::start(|at| {
        vec![
            ("/in", redirect("/inside")),
            ("/inside", page("text/plain", "secret")),
            ("/away", redirect("http://elsewhere.example/")),
            ("/loop", redirect(&format!("http://{at}/loop"))),
        ]
    })
    .await;
    let (at, port) = (site.address, site.address.port());
    let maker = maker(&[
        ("inside.example", &[&["127.0.0.1"]]),
        ("both.example", &[&["10.0.0.1", "fd00::1"]]),
        ("rebinds.example", &[&["127.0.0.1"], &["203.0.114.1"]]),
    ]);
    let hosts = [
        "inside.example",
        "both.example",
        "rebinds.example",
        "127.0.0.1",
        "[::1]",
        "169.254.169.254",
        "[::ffff:127.0.0.1]",
        "2130706433",
    ];
    let hosts: Vec<String> = hosts.iter().flat_map(|host| [(*host).to_owned(), format!("{host}:{port}")]).collect();
    let settings = json!({"hosts": hosts});
    for host in [
        "inside.example",
        "both.example",
        "rebinds.example",
        "127.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "2130706433",
        "0x7f.1",
    ] {
        assert_eq!(
            code(&maker, settings.clone(), &format!("http://{host}:{port}/inside")).await,
            "private_address",
            "{host}"
        );
    }
    assert_eq!(code(&maker, settings, "http://169.254.169.254/latest/meta-data/").await, "private_address");
    assert!(site.asked.lock().expect("whole").is_empty(), "nothing was asked");

    let open = json!({"hosts": [at.to_string()], "allow_private": true});
    assert_eq!(get(&maker, open.clone(), &format!("http://{at}/in")).await.expect("followed")["text"], "secret");
    assert_eq!(code(&maker, open.clone(), &format!("http://{at}/away")).await, "host_not_allowed");
    assert_eq!(code(&maker, open, &format!("http://{at}/loop")).await, "too_many_redirects");
}

#[tokio::test]
async fn only_plain_web_addresses_of_listed_hosts_are_asked() {
    let maker = maker(&[]);
    let settings = json!({"hosts": ["Docs.rs", "*.example.com", "bücher.example:8443"]});
    for (url, expected) in [
        ("no address", "invalid_url"),
        ("file:///etc/passwd", "invalid_url"),
        ("https://me:secret@docs.rs/", "invalid_url"),
        ("https://docs.rs.evil.example/", "host_not_allowed"),
        ("https://docs.rs:8080/", "host_not_allowed"),
        ("https://example.com/", "host_not_allowed"),
        ("https://evilexample.com/", "host_not_allowed"),
        ("https://docs.rs/", "unreachable"),
        ("http://DOCS.RS./", "unreachable"),
        ("https://a.b.example.com/", "unreachable"),
        ("https://xn--bcher-kva.example:8443/", "unreachable"),
    ] {
        assert_eq!(code(&maker, settings.clone(), url).await, expected, "{url}");
    }
    let tool = maker.make(&object(&settings)).expect("made");
    assert!(tool.spec().description.ends_with("`docs.rs`, `*.example.com`, `xn--bcher-kva.example:8443`."));
}

#[test]
fn settings_are_checked() {
    let maker = maker(&[]);
    let check = |settings: Value, message: &str| {
        assert_eq!(maker.make(&object(&settings)).err().expect("refused").message, message);
    };
    check(json!({}), "`hosts` is missing");
    check(json!({"hosts": "docs.rs"}), "`hosts` must be a list of at least one host");
    check(json!({"hosts": []}), "`hosts` must be a list of at least one host");
    for host in [
        json!(1),
        json!(""),
        json!("https://docs.rs"),
        json!("docs.rs/std"),
        json!("*"),
        json!("a b"),
        json!("*.*.example"),
        json!("."),
        json!("*.."),
        json!("a..example"),
        json!("x:0"),
        json!("x:"),
        json!("x:65536"),
    ] {
        check(json!({"hosts": ["docs.rs", host]}), "`hosts[1]` is no host");
    }
    check(json!({"hosts": ["a.example"], "allow_private": "yes"}), "`allow_private` must be `true` or `false`");
    check(json!({"hosts": ["a.example"], "allow_privat": true}), "unknown setting `allow_privat` of tool `http_fetch`");
}

#[test]
fn addresses_of_the_public_internet_and_others() {
    let check = |text: &str| address::is_public(text.parse().expect("an address"));
    for public in [
        "1.1.1.1",
        "100.63.255.255",
        "172.15.0.1",
        "172.32.0.1",
        "192.0.1.1",
        "223.255.255.255",
        "2606:4700::1111",
        "64:ff9b::101:101",
        "::ffff:8.8.8.8",
        "2002:808:808::1",
    ] {
        assert!(check(public), "{public}");
    }
    for private in [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "100.100.100.200",
        "127.8.8.8",
        "169.254.169.254",
        "172.16.0.1",
        "192.0.0.8",
        "192.0.2.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "64:ff9b:1::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "ff02::1",
        "3fff::1",
        "100::1",
        "fec0::1",
    ] {
        assert!(!check(private), "{private}");
    }
}

#[test]
fn html_becomes_text() {
    let check = |html: &str, text: &str| assert_eq!(html::to_text(html).1, text, "{html}");
    check("", "");
    check("plain  text\n here", "plain text here");
    check("<p>a <b>bold</b> word</p><p>next</p>", "a bold word\n\nnext");
    check("<ul><li>one<li>two</ul>", "- one\n- two");
    check("a<script>if (a < b) { '</p>' }</script>b<STYLE>x</style>c", "abc");
    check("<!-- <p>no</p> -->yes<!doctype html>", "yes");
    check("<a title=\"a > b\" href='x'>link</a>", "link");
    check("1 < 2 &lt;3&gt; &#228;&#xE4; &nosuch; &amp;amp; R&D", "1 < 2 <3> ää &nosuch; &amp; R&D");
    check("<pre>  keep\n   this</pre>after", "keep\n   this\nafter");
    check("<table><tr><td>a</td><td>b</td></tr></table>", "a\tb");
    check("<script>never closed", "");
    check("<p", "");
    check("<!-- never closed", "");
    check("&", "&");
    assert_eq!(html::to_text("<title> A\n B </title>x<title>no</title>"), (Some("A B".to_owned()), "x".to_owned()));
}

#[test]
fn a_hostile_page_takes_no_long() {
    for piece in ["<", "</", "<a", "<script>", "&", "<!--", "</script", "<pre>", "<td>\n", "'\"<p a="] {
        let page = piece.repeat(200_000);
        html::to_text(&page);
    }
}

#[test]
fn what_nobody_is_told_is_not_read() {
    let read = |html: String| html::to_text(&html).1.len();
    assert_eq!(read("<b>x".repeat(1_000)), 1_000);
    for piece in ["<b>x", "<", "<p>"] {
        let length = read(piece.repeat(500_000));
        assert!((MOST_TEXT + 1..3 * MOST_TEXT).contains(&length), "{piece}: {length}");
    }
}
