use super::*;

#[tokio::test(start_paused = true)]
async fn every_way_leaves_the_text_and_nothing_else() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("clerk.toml");
    fs::write(&file, "old").expect("written");
    for (number, way) in Way::ALL.into_iter().enumerate() {
        let text = format!("id = \"clerk\"\ninstructions = \"{number}\"\n");
        let save = Save { file: &file, text: &text, cut: 20, pause: Duration::from_millis(50) };
        way.save(save).await.unwrap_or_else(|error| panic!("{error:#}"));
        assert_eq!(fs::read_to_string(&file).expect("there"), text, "{}", way.name());
        assert_eq!(fs::read_dir(dir.path()).expect("there").count(), 1, "{}", way.name());
    }
}

#[tokio::test(start_paused = true)]
async fn halves_are_torn_and_a_recreated_file_is_away() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("clerk.toml");
    fs::write(&file, "old").expect("written");
    let pause = Duration::from_millis(100);
    let save = Save { file: &file, text: "first|second", cut: 5, pause };
    let look = async |after: u64| {
        sleep(Duration::from_millis(after)).await;
        fs::read_to_string(&file).ok()
    };
    let looks = async { [look(20).await, look(60).await, look(100).await] };
    let (saved, seen) = tokio::join!(Way::TwoHalves.save(save), looks);
    saved.expect("saved");
    assert_eq!(seen.map(|text| text.unwrap_or_default()), ["", "first", "first|second"]);
    let (saved, seen) = tokio::join!(Way::Recreate.save(save), look(50));
    saved.expect("saved");
    assert_eq!(seen, None);
}

#[tokio::test]
async fn what_cannot_be_saved_is_named() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("away/clerk.toml");
    for way in Way::ALL {
        let save = Save { file: &file, text: "x", cut: 0, pause: Duration::ZERO };
        let fault = format!("{:#}", way.save(save).await.expect_err("no such folder"));
        assert!(fault.contains("clerk.toml` (") && fault.contains(way.name()), "{fault}");
    }
}
