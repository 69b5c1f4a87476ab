//! Other processes: this test binary started again, told by an environment variable what to do.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use roster_model::message::{Message, MessageStatus};
use roster_storage::sqlite::{Trial, inspect, open};
use roster_testkit::suite::conversation::{answer, begin, key, save, whole_turn};

use crate::sqlite::options;

const TASK: &str = "ROSTER_STORAGE_TASK";
const DATABASE: &str = "ROSTER_STORAGE_DATABASE";
/// Marks the lines a child reports, among those of the test harness.
const MARK: &str = "@@ ";

/// What tests add to the released schema.
pub(crate) const EXTRA: &str = "CREATE TABLE extra (x INTEGER) STRICT; INSERT INTO extra SELECT number FROM threads;
    ALTER TABLE threads ADD COLUMN colour TEXT;";

/// A child at work; killed when dropped.
pub(crate) struct Process {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// The folder its binary was copied to.
    _own: Option<tempfile::TempDir>,
}

fn own_path() -> std::path::PathBuf {
    std::env::current_exe().expect("own path")
}

impl Process {
    /// Starts a child that does `task` on `database`.
    pub(crate) fn start(task: &str, database: &Path) -> Self {
        Self::start_command(Command::new(own_path()), task, database, None)
    }

    /// The same as a user without rights; the superuser writes everywhere, an ordinary user is one already.
    #[cfg(unix)]
    pub(crate) fn start_unprivileged(task: &str, database: &Path) -> Self {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        use std::os::unix::process::CommandExt;
        let own = tempfile::tempdir().expect("temp folder");
        if std::fs::metadata(own.path()).expect("metadata").uid() != 0 {
            return Self::start(task, database);
        }
        // The build may lie below a folder of the superuser's alone, where nobody else can start it.
        let copy = own.path().join("it");
        std::fs::copy(own_path(), &copy).expect("copied");
        for path in [own.path(), &copy] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("permitted");
        }
        let mut command = Command::new(copy);
        command.uid(65_534).gid(65_534).current_dir("/");
        Self::start_command(command, task, database, Some(own))
    }

    fn start_command(mut command: Command, task: &str, database: &Path, own: Option<tempfile::TempDir>) -> Self {
        command.args(["child::entry", "--exact", "--nocapture", "--test-threads=1"]);
        command.env(TASK, task).env(DATABASE, database);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("child starts");
        let (to, from) = (child.stdin.take().expect("stdin"), child.stdout.take().expect("stdout"));
        Self { child, to, from: BufReader::new(from), _own: own }
    }

    /// The next line the child reports; `None` once it has ended.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        while self.from.read_line(&mut line).expect("readable") > 0 {
            // The harness may have begun the line.
            if let Some((_, report)) = line.split_once(MARK) {
                return Some(report.trim_end().to_owned());
            }
            line.clear();
        }
        None
    }

    /// Lets a waiting child go on.
    pub(crate) fn go(&mut self) {
        self.to.write_all(b"go\n").expect("child listens");
    }

    /// SIGKILL, and waits for the end.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("ended");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

pub(crate) fn report(text: &str) {
    println!("\n{MARK}{text}");
    std::io::stdout().flush().expect("flushed");
}

fn wait_for_go() {
    let mut byte = [0];
    std::io::stdin().read_exact(&mut byte).expect("parent lives");
}

/// Where children begin. Without the variable it is nobody's child and has nothing to do.
#[tokio::test]
async fn entry() {
    let (Ok(task), Ok(database)) = (std::env::var(TASK), std::env::var(DATABASE)) else { return };
    let database = Path::new(&database);
    match task.as_str() {
        "turns" => turns(database).await,
        "hold" => hold(database).await,
        "start" => start(database, None).await,
        "migrate" => start(database, Some(EXTRA)).await,
        "refused" => match open(database, &options()) {
            Ok(_) => report("opened"),
            Err(error) => report(&error.to_string().replace('\n', " ")),
        },
        "inspect" => match inspect(database) {
            Ok(found) => report(&format!("{found:?}")),
            Err(error) => report(&format!("{:?}: {}", error.kind(), error.to_string().replace('\n', " "))),
        },
        "backup" => {
            let folder = tempfile::tempdir().expect("temp folder");
            let store = open(folder.path().join("roster.db"), &options()).expect("opens");
            report(&store.backup(database).await.expect_err("refused").to_string().replace('\n', " "));
        }
        "failures" => crate::log::failures(database).await,
        other => panic!("unknown task {other}"),
    }
}

/// Turn after turn; each one reported once it is acknowledged.
async fn turns(database: &Path) {
    let store = open(database, &options()).expect("opens");
    for round in 0.. {
        whole_turn(&store, &key("shop", "t"), &format!("turn{round}")).await;
        report(&format!("{round}"));
    }
}

/// Begins a turn, writes a running answer and stays in it.
async fn hold(database: &Path) {
    let store = open(database, &options()).expect("opens");
    let key = key("shop", "t");
    begin(&store, &key, "held").await.expect("begins");
    let running = Message { status: MessageStatus::Running, ..answer("held-a") };
    save(&store, &key, "held", Some(running), false).await.expect("saved");
    report("held");
    wait_for_go();
    save(&store, &key, "held", Some(answer("held-a")), true).await.expect("saved");
    report("given back");
    wait_for_go();
}

/// Opens when told to, and serves one turn in a thread of its own.
async fn start(database: &Path, extra: Option<&'static str>) {
    report("ready");
    wait_for_go();
    let trial = Trial { extra_migration: extra, ..Trial::default() };
    match open(database, &roster_storage::sqlite::Options { trial, ..options() }) {
        Ok(store) => {
            whole_turn(&store, &key("shop", &format!("of {}", std::process::id())), "one").await;
            report("served");
        }
        Err(error) => report(&format!("{error:?}")),
    }
}
