//! The keys of `[mcp]`.

use roster_engine::definition::keys::{NOT_EMPTY, is_word};
use roster_engine::definition::shape::{Fault, Key, ListShape, Shape, TableShape, TextRule};
use roster_engine::definition::units::DURATION;

pub(super) static MCP: TableShape = TableShape::closed(&[Key::new(
    "servers",
    "MCP servers by the name that stands in \"mcp:name/tool\".",
    Shape::Table(
        &TableShape::open(&Key::new("", "A server: `command`, or `url`.", Shape::Table(&SERVER))).named(&NAME),
    ),
)]);

static SERVER: TableShape = TableShape::closed(&[
    Key::new(
        "command",
        "The program to start, with its arguments: [\"npx\", \"-y\", \"…\"]. It speaks over its standard input and output.",
        Shape::Either(&[
            Shape::List(&ListShape { item: Shape::Text, least: 1, unique: false }),
            Shape::Rule(&NOT_EMPTY),
        ]),
    ),
    Key::new(
        "args",
        "Further arguments of the program.",
        Shape::List(&ListShape { item: Shape::Text, least: 0, unique: false }),
    ),
    Key::new(
        "env",
        "Variables of the program, besides the few it gets anyway (PATH, HOME, …); secrets as \"${NAME}\".",
        Shape::Table(&TableShape::open(&Key::new("", "A value.", Shape::Text)).named(&VARIABLE_NAME).own_names()),
    ),
    Key::new("cwd", "Its working directory, relative to the project root.", Shape::Rule(&NOT_EMPTY)).default("\".\""),
    Key::new("url", "The address of a server that speaks streamable HTTP.", Shape::Rule(&ADDRESS)),
    Key::new(
        "headers",
        "Headers of every request; secrets as \"Bearer ${NAME}\".",
        Shape::Table(&TableShape::open(&Key::new("", "A value.", Shape::Text)).named(&HEADER_NAME).own_names()),
    ),
    Key::new("start_timeout", "How long connecting and the first list of tools may take.", Shape::Rule(&DURATION))
        .default("\"60s\""),
    Key::new("enabled", "false: it is not connected to; agents serve without its tools.", Shape::Bool).default("true"),
]);

static NAME: TextRule = TextRule {
    noun: "a server's name",
    code: "bad_server",
    pattern: "^[A-Za-z0-9_][A-Za-z0-9._-]*$",
    check: |text| {
        let fault = || Fault::new("is no server's name").help("names hold letters, digits, `_`, `.` and `-`");
        if is_word(text) { Ok(()) } else { Err(fault()) }
    },
};

static VARIABLE_NAME: TextRule = TextRule {
    noun: "a variable's name",
    code: "bad_variable",
    pattern: "^[^=\\u0000]+$",
    check: |text| {
        let fault = || Fault::new("is no name of a variable").help("write it as in env = { LOG_LEVEL = \"info\" }");
        if text.is_empty() || text.contains(['=', '\0']) { Err(fault()) } else { Ok(()) }
    },
};

static HEADER_NAME: TextRule = TextRule {
    noun: "a header's name",
    code: "bad_header",
    pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",
    check: |text| {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+.^_`|~-".contains(&byte);
        let fault = || Fault::new("is no name of a header").help("write it as in headers = { Authorization = \"…\" }");
        if !text.is_empty() && text.bytes().all(legal) { Ok(()) } else { Err(fault()) }
    },
};

static ADDRESS: TextRule = TextRule {
    noun: "an address such as `\"https://tools.example.org/mcp\"`",
    code: "bad_url",
    pattern: "^https?://[^\\s/?#\\u0000-\\u001f]+[^\\s#\\u0000-\\u001f]*$",
    check: |text| {
        let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        let legal = host.is_some_and(|host| {
            !host.is_empty()
                && !host.starts_with(['/', '?'])
                && !host.contains(|c: char| c.is_whitespace() || c.is_control() || c == '#')
        });
        let help = "begin with http:// or https://, then the host, for example \"https://tools.example.org/mcp\"";
        if legal { Ok(()) } else { Err(Fault::new("is no address of a server").help(help)) }
    },
};
