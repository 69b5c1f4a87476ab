//! Files as Mastra's LibSQL store lays them out.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::{Value, json};

/// The tables of `@mastra/libsql` that an import looks at, and some that it does not.
const TABLES: &str = "
CREATE TABLE \"mastra_threads\" (\"id\" TEXT NOT NULL PRIMARY KEY, \"resourceId\" TEXT NOT NULL, \"title\" TEXT NOT NULL,
  \"metadata\" TEXT, \"createdAt\" TEXT NOT NULL, \"updatedAt\" TEXT NOT NULL);
CREATE TABLE \"mastra_messages\" (\"id\" TEXT NOT NULL PRIMARY KEY, \"thread_id\" TEXT NOT NULL, \"content\" TEXT NOT NULL,
  \"role\" TEXT NOT NULL, \"type\" TEXT NOT NULL, \"createdAt\" TEXT NOT NULL, \"resourceId\" TEXT);
CREATE INDEX idx_messages_thread_created ON mastra_messages (thread_id, createdAt);
CREATE TABLE \"mastra_resources\" (\"id\" TEXT NOT NULL PRIMARY KEY, \"workingMemory\" TEXT, \"metadata\" TEXT,
  \"createdAt\" TEXT NOT NULL, \"updatedAt\" TEXT NOT NULL);
CREATE TABLE \"mastra_workflow_snapshot\" (\"workflow_name\" TEXT NOT NULL, \"run_id\" TEXT NOT NULL, \"resourceId\" TEXT,
  \"snapshot\" TEXT NOT NULL, \"createdAt\" TEXT NOT NULL, \"updatedAt\" TEXT NOT NULL, UNIQUE (workflow_name, run_id));
CREATE TABLE \"mastra_ai_spans\" (\"traceId\" TEXT NOT NULL, \"spanId\" TEXT NOT NULL, PRIMARY KEY (traceId, spanId));
CREATE TABLE memory_messages_64 (id INTEGER PRIMARY KEY AUTOINCREMENT, vector_id TEXT UNIQUE NOT NULL,
  embedding F32_BLOB(64), metadata TEXT DEFAULT '{}');
";

/// The index over vectors names a function that only libsql has.
const VECTOR_INDEX: &str = "
CREATE INDEX memory_messages_64_vector_idx ON memory_messages_64 (embedding);
PRAGMA writable_schema = 1;
UPDATE sqlite_schema SET sql =
  'CREATE INDEX memory_messages_64_vector_idx ON memory_messages_64 (libsql_vector_idx(embedding))'
  WHERE name = 'memory_messages_64_vector_idx';
PRAGMA writable_schema = 0;
";

/// A file being filled.
pub(crate) struct Mastra {
    pub(crate) path: PathBuf,
    pub(crate) connection: Connection,
    second: u32,
}

impl Mastra {
    /// An empty one with every table.
    pub(crate) fn new(path: &Path) -> Self {
        let connection = Connection::open(path).expect("opens");
        connection.execute_batch(TABLES).expect("tables");
        connection.execute_batch(VECTOR_INDEX).expect("index");
        Self { path: path.to_owned(), connection, second: 0 }
    }

    /// The next moment: one second after the last.
    fn moment(&mut self) -> String {
        self.second += 1;
        format!("2026-01-02T03:{:02}:{:02}.000Z", self.second / 60, self.second % 60)
    }

    pub(crate) fn run(&self, sql: &str) {
        self.connection.execute_batch(sql).expect(sql);
    }

    /// A thread; metadata is written as Mastra does, as a blob.
    pub(crate) fn thread(&mut self, id: &str, resource: &str, title: &str, metadata: Option<&Value>) {
        let (metadata, at) = (metadata.map(Value::to_string), self.moment());
        let sql = "INSERT INTO mastra_threads VALUES (?1, ?2, ?3, jsonb(?4), ?5, ?5)";
        self.connection.execute(sql, (id, resource, title, metadata, at)).expect("thread");
    }

    /// A message row as it is.
    pub(crate) fn row(&self, id: &str, thread: &str, role: &str, kind: &str, content: &str, at: &str) {
        let sql = "INSERT INTO mastra_messages VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL)";
        self.connection.execute(sql, (id, thread, content, role, kind, at)).expect("message");
    }

    /// A message of format 2, and the thread's new `updatedAt`.
    pub(crate) fn message(&mut self, id: &str, thread: &str, role: &str, parts: &Value) {
        let (content, at) = (json!({"format": 2, "parts": parts}).to_string(), self.moment());
        self.row(id, thread, role, "v2", &content, &at);
        let sql = "UPDATE mastra_threads SET updatedAt = ?2 WHERE id = ?1";
        self.connection.execute(sql, (thread, at)).expect("thread");
    }

    pub(crate) fn says(&mut self, id: &str, thread: &str, role: &str, text: &str) {
        self.message(id, thread, role, &json!([{"type": "text", "text": text, "createdAt": 1}]));
    }

    pub(crate) fn resource(&mut self, id: &str, working_memory: Option<&str>) {
        let at = self.moment();
        let sql = "INSERT INTO mastra_resources VALUES (?1, ?2, NULL, ?3, ?3)";
        self.connection.execute(sql, (id, working_memory, at)).expect("resource");
    }

    /// What a small project leaves behind: two owners, a turn with a tool, a person's signal, working memories, vectors.
    pub(crate) fn filled(path: &Path) -> Self {
        let mut file = Self::new(path);
        file.thread("tea", "user:ada", "Tea", Some(&json!({"desk": "B", "nested": {"a": [1, null, "x"]}})));
        file.thread("studio-1", "chat-agent", "", None);
        file.thread("task", "user:ada", "", Some(&json!({"workingMemory": "# Task\n- Step: 2"})));
        file.says("tea-1", "tea", "user", "Which tea?");
        file.message(
            "tea-2",
            "tea",
            "assistant",
            &json!([
                {"type": "step-start", "createdAt": 1, "model": "fake/fake-model"},
                {"type": "tool-invocation", "toolInvocation": {"state": "result", "toolCallId": "call_1", "toolName": "search",
                    "args": {"q": "tea"}, "result": {"found": "Darjeeling"}}, "createdAt": 2},
                {"type": "step-start", "createdAt": 3, "model": "fake/fake-model"},
                {"type": "text", "text": "Darjeeling.", "createdAt": 4}
            ]),
        );
        let signal = json!({"format": 2, "parts": [{"type": "text", "text": "hello from studio"}],
            "metadata": {"signal": {"id": "s1", "type": "user"}}});
        let at = file.moment();
        file.row("studio-q", "studio-1", "signal", "user", &signal.to_string(), &at);
        file.says("studio-a", "studio-1", "assistant", "hello from the agent");
        file.says("task-1", "task", "user", "go on");
        file.message(
            "task-2",
            "task",
            "assistant",
            &json!([{"type": "error", "error": {"name": "APICallError", "message": "overloaded"}}]),
        );
        file.resource("user:ada", Some("# Person\n- Name: Ada"));
        file.resource("user:bob", None);
        file.run("INSERT INTO mastra_ai_spans VALUES ('t', 's')");
        file.run("INSERT INTO mastra_workflow_snapshot VALUES ('agentic-loop', 'r1', NULL, jsonb('{\"status\":\"suspended\"}'), '2026', '2026')");
        file.run("INSERT INTO memory_messages_64 (vector_id, embedding) VALUES ('tea-1', zeroblob(256))");
        file
    }

    /// Closes it.
    pub(crate) fn done(self) -> PathBuf {
        self.connection.close().expect("closes");
        self.path
    }
}
