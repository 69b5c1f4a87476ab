//! `roster new plugin`: a plugin to start from, in Rust or C. The texts are those of `plugins/template/`, which are
//! built and tested like any other plugin of this repository.

#[cfg(test)]
mod tests;

use std::fmt::Write;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use super::{NewPluginArgs, PluginLanguage};
use crate::assemble;
use crate::error::{Exit, HostError};
use crate::output;

const RUST: &str = include_str!("../../../../plugins/template/rust/src/lib.rs");
const C: &str = include_str!("../../../../plugins/template/c/my_plugin.c");
const MAKEFILE: &str = include_str!("../../../../plugins/template/c/Makefile");

/// Names that mean something else: keys of `[plugins]`, and crates of Rust itself.
const TAKEN: [&str; 9] =
    ["dir", "cache_dir", "watch", "default_isolation", "core", "std", "alloc", "test", "proc-macro"];

/// Makes the plugin. Refuses a folder that exists already.
///
/// # Errors
/// [`HostError`] when the name is none or taken, the SDK is not found, or a file cannot be written.
pub(super) fn run(root: Option<&Path>, args: &NewPluginArgs) -> Result<Exit, HostError> {
    check_name(&args.name)?;
    let root = assemble::root(root)?;
    let folder = root.join("plugins").join(&args.name);
    let files = match args.lang {
        PluginLanguage::Rust => rust_files(&args.name, &sdk(&root, &folder, args.sdk.as_deref())?),
        PluginLanguage::C => c_files(&args.name),
    };
    if folder.exists() {
        return Err(HostError::environment(format!("`plugins/{}` exists already", args.name))
            .hint("choose another name, or remove the folder"));
    }
    for (file, text) in &files {
        write_new(&folder.join(file), text)
            .map_err(|error| HostError::environment(format!("cannot write `plugins/{}/{file}`: {error}", args.name)))?;
    }
    output::print(told(&args.name, args.lang, &files))?;
    Ok(Exit::Good)
}

fn check_name(name: &str) -> Result<(), HostError> {
    let legal = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-')
        && !name.ends_with('-')
        && name.len() <= 40;
    if !legal {
        return Err(HostError::environment(format!("`{name}` is no name for a plugin")).hint(
            "a lowercase letter, then lowercase letters, digits and `-`, at most 40: `roster new plugin tide-table`",
        ));
    }
    if TAKEN.contains(&name) || is_keyword(name) {
        return Err(
            HostError::environment(format!("`{name}` means something else already")).hint("choose another name")
        );
    }
    Ok(())
}

/// Words no crate can be called.
fn is_keyword(name: &str) -> bool {
    const WORDS: &str = " abstract as async await become box break const continue crate do dyn else enum extern false final fn \
        for gen if impl in let loop macro match mod move mut override priv pub ref return self static struct super trait true \
        try type typeof unsafe unsized use virtual where while yield ";
    WORDS.contains(&format!(" {name} "))
}

/// Where the SDK's crate is, as the new manifest names it: asked for, in the project, or in the sources this binary was
/// built in.
fn sdk(root: &Path, folder: &Path, asked: Option<&Path>) -> Result<String, HostError> {
    let is_sdk = |folder: &Path| folder.join("src/plugin.rs").is_file() && folder.join("Cargo.toml").is_file();
    if let Some(asked) = asked {
        let found = asked.canonicalize().ok().filter(|folder| is_sdk(folder));
        return found.map(|found| relative(folder, &found)).ok_or_else(|| {
            HostError::environment(format!("`{}` is not the SDK", asked.display()))
                .hint("name the folder runtime/sdk of Roster's sources")
        });
    }
    let binary = std::env::current_exe().unwrap_or_default();
    let above = binary.ancestors().skip(1).map(|above| above.join("runtime/sdk"));
    let places = std::iter::once(root.join("runtime/sdk")).chain(above);
    let found = places.into_iter().find(|folder| is_sdk(folder)).and_then(|folder| folder.canonicalize().ok());
    found.map(|found| relative(folder, &found)).ok_or_else(|| {
        HostError::environment("the plugin SDK was not found").hint(
            "name the folder runtime/sdk of Roster's sources with `--sdk DIR`, or write the plugin in C: `--lang c`",
        )
    })
}

/// `to` as seen from `from`, which need not exist yet; both absolute. A way through the root is written as `to`.
fn relative(from: &Path, to: &Path) -> String {
    let real = from.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let from = real.map_or_else(
        || from.to_path_buf(),
        |(above, real)| from.strip_prefix(above).map_or_else(|_| real.clone(), |rest| real.join(rest)),
    );
    let (from, to): (Vec<Component<'_>>, Vec<Component<'_>>) = (from.components().collect(), to.components().collect());
    let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let path: PathBuf = if common <= 1 {
        to.iter().collect()
    } else {
        std::iter::repeat_n(Component::ParentDir, from.len() - common).chain(to[common..].iter().copied()).collect()
    };
    path.to_string_lossy().into_owned()
}

type Files = Vec<(String, String)>;

/// The template's names, replaced: `my-plugin`, `my_plugin`, `MyPlugin`.
fn named(text: &str, name: &str) -> String {
    let words = name.split('-').map(|word| word.split_at(word.len().min(1)));
    let camel: String = words.map(|(first, rest)| format!("{}{rest}", first.to_uppercase())).collect();
    text.replace("my-plugin", name).replace("my_plugin", &library(name)).replace("MyPlugin", &camel)
}

fn library(name: &str) -> String {
    name.replace('-', "_")
}

fn rust_files(name: &str, sdk: &str) -> Files {
    let sdk = toml_edit::Value::from(sdk);
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n[lib]\nname = \
         \"{library}\"\ncrate-type = [\"cdylib\"]\ndoctest = false\n\n[dependencies]\nroster-sdk = {{ path = {sdk} }}\n# Their \
         derives name these crates.\nserde = {{ version = \"1\", features = [\"derive\"] }}\nschemars = \"1\"\n\n\
         [profile.release]\nstrip = true\n\n# A workspace of its own, whatever folder this is in.\n[workspace]\n",
        library = library(name),
    );
    vec![
        ("Cargo.toml".to_owned(), manifest),
        ("src/lib.rs".to_owned(), named(RUST, name)),
        (".gitignore".to_owned(), "/target/\n".to_owned()),
    ]
}

fn c_files(name: &str) -> Files {
    vec![
        (format!("{}.c", library(name)), named(C, name)),
        ("roster_plugin.h".to_owned(), roster_abi::HEADER.to_owned()),
        ("Makefile".to_owned(), named(MAKEFILE, name)),
        (".gitignore".to_owned(), "*.so\n*.dylib\n".to_owned()),
    ]
}

fn told(name: &str, lang: PluginLanguage, files: &Files) -> String {
    let mut text = String::new();
    for (file, _) in files {
        let _ = writeln!(text, "made `plugins/{name}/{file}`");
    }
    let library = library(name);
    let build = match lang {
        PluginLanguage::Rust => format!(
            "  cd plugins/{name} && cargo test && cargo build --release\n  cp target/release/lib{library}.so \
             ../.{library}.tmp && mv ../.{library}.tmp ../lib{library}.so && cd ../..\n"
        ),
        PluginLanguage::C => format!("  make -C plugins/{name} install\n"),
    };
    let tool = if lang == PluginLanguage::Rust { "greet" } else { "now" };
    let _ = write!(
        text,
        "next:\n{build}  add to `config/runtime.toml`:\n    [plugins.{name}]\n    file = \"{library}\"\n  add to an agent's \
         file: tools = [\"{name}:{tool}\"]\n  roster check\nThe guide is docs/plugins.md.\n"
    );
    text
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}
