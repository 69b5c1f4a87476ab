//! The keys of `[memory]`.

use super::super::shape::{Fault, Key, ListShape, Shape, Status, TableShape, TextRule};
use super::{DURATION, FACTORY, is_word};

/// `[memory]`.
pub(super) static MEMORY: TableShape = TableShape::closed(&[
    Key::new("factory", "The memory factory's name: \"create_memory\", or \"plugin:factory\".", Shape::Rule(&FACTORY))
        .required(),
    Key::new(
        "config",
        "Goes to a plugin's factory as it is.",
        Shape::Table(&TableShape::open(&Key::new("", "The factory's own.", Shape::Any))),
    ),
    Key::new(
        "last_messages",
        "How many stored messages are fed to the model; false or 0: none (everything is still stored).",
        Shape::Either(&[Shape::Integer(0, 10_000), Shape::False]),
    )
    .default("10"),
    Key::new(
        "max_tokens",
        "A budget for history and recalled messages together, by estimate.",
        Shape::Integer(1, 100_000_000),
    ),
    Key::new("generate_title", "Whether the model names new threads, after their first turn.", Shape::Bool)
        .default("false"),
    Key::new(
        "semantic_recall",
        "Recall by meaning and by words; off unless this table is there.",
        Shape::Table(&SEMANTIC_RECALL),
    ),
    Key::new(
        "working_memory",
        "What the agent keeps in mind about a person or a thread; off unless this table is there.",
        Shape::Table(&WORKING_MEMORY),
    ),
]);

static SEMANTIC_RECALL: TableShape = TableShape::closed(&[
    Key::new("top_k", "How many messages are recalled, neighbours not counted.", Shape::Integer(1, 100)).default("4"),
    Key::new(
        "message_range",
        "How many neighbours of a recalled message come along: a number for both sides, or before and after.",
        Shape::Either(&[Shape::Integer(0, 50), Shape::Table(&MESSAGE_RANGE)]),
    )
    .default("1"),
    Key::new("scope", "Where is looked: in all threads of the owner, or in this thread only.", Shape::Choice(SCOPES))
        .default("\"resource\""),
    Key::new("threshold", "The least cosine of a recalled message.", Shape::Number(-1.0, 1.0)).default("0.0"),
    Key::new(
        "embedder",
        "Who makes the vectors: \"local\", \"hash\" or \"provider/model\"; left out: \"local\" where its weights are \
         there, else \"hash\".",
        Shape::Rule(&EMBEDDER),
    ),
    Key::new(
        "roles",
        "Whose messages are recalled; neighbours come along whoever speaks.",
        Shape::List(&ListShape {
            item: Shape::Choice(&[("user", Status::Built), ("assistant", Status::Built)]),
            least: 1,
            unique: true,
        }),
    )
    .default("[\"user\", \"assistant\"]"),
    Key::new("max_age", "Messages older than this are not recalled.", Shape::Rule(&DURATION)),
]);

static MESSAGE_RANGE: TableShape = TableShape::closed(&[
    Key::new("before", "How many messages before it.", Shape::Integer(0, 50)).default("1"),
    Key::new("after", "How many messages after it.", Shape::Integer(0, 50)).default("1"),
]);

static WORKING_MEMORY: TableShape = TableShape::closed(&[
    Key::new("scope", "Whose it is: the owner's, shared by all threads, or of one thread only.", Shape::Choice(SCOPES))
        .default("\"resource\""),
    Key::new(
        "template",
        "Markdown to begin with; the model replaces the text as a whole. Not together with schema.",
        Shape::Rule(&super::NOT_EMPTY),
    ),
    Key::new(
        "schema",
        "JSON Schema of an object; the model changes named fields of it. Not together with template.",
        Shape::Table(&OBJECT_SCHEMA),
    ),
    Key::new("read_only", "true: the model is shown it and cannot change it.", Shape::Bool).default("false"),
]);

static OBJECT_SCHEMA: TableShape =
    TableShape::open(&Key::new("", "Any other keyword of JSON Schema.", Shape::Any)).own_names().knowing(&[
        Key::new("type", "A working memory is an object.", Shape::Choice(&[("object", Status::Built)])),
        Key::new(
            "properties",
            "Its fields, each with its schema.",
            Shape::Table(&TableShape::open(&Key::new("", "The schema of this field.", Shape::Any)).own_names()),
        ),
    ]);

const SCOPES: &[(&str, Status)] = &[("resource", Status::Built), ("thread", Status::Built)];

/// `hash`, `local`, `provider/model`, `plugin:component`.
static EMBEDDER: TextRule = TextRule {
    noun: "an embedder such as `\"local\"`",
    code: "bad_embedder",
    pattern: "^[A-Za-z0-9_][A-Za-z0-9._-]*([/:][^\\s\\u0000-\\u001f]+)?$",
    check: |text| {
        let spoken = |name: &str| !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c < ' ');
        let legal = match text.split_once(['/', ':']) {
            Some((provider, model)) => is_word(provider) && spoken(model),
            None => is_word(text),
        };
        let help = "write \"local\", \"hash\", \"provider/model\" or \"plugin:component\"";
        if legal { Ok(()) } else { Err(Fault::new("is no embedder's name").help(help)) }
    },
};
