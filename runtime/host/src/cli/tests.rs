use clap::{CommandFactory, Parser};

use super::{Cli, Command, Format, Only, ServeArgs};
use crate::error::HostError;
use crate::log::LogFormat;

fn parse(args: &[&str]) -> Cli {
    match Cli::try_parse_from(std::iter::once("roster").chain(args.iter().copied())) {
        Ok(cli) => cli,
        Err(error) => panic!("{args:?}: {error}"),
    }
}

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn serving_is_the_default_and_takes_its_options_on_both_sides() {
    let alone = parse(&["--gateway", "127.0.0.1:0", "--log-format", "json"]);
    assert!(alone.command.is_none());
    assert_eq!(alone.serve.log_format, Some(LogFormat::Json));
    let both = parse(&["--gateway", "a:1", "--only", "gateway", "serve", "--gateway", "b:2"]);
    let Some(Command::Serve(after)) = both.command else { panic!("serve") };
    let expected = ServeArgs { gateway: Some("b:2".into()), only: Some(Only::Gateway), ..ServeArgs::default() };
    assert_eq!(both.serve.overlaid(after), expected);
}

#[test]
fn the_root_may_stand_anywhere() {
    for args in [["--root", "x", "check"], ["check", "--root", "x"]] {
        assert_eq!(parse(&args).root.as_deref(), Some(std::path::Path::new("x")));
    }
}

#[test]
fn options_of_serve_before_another_command_are_refused() {
    let error = parse(&["--gateway", "127.0.0.1:0", "schema", "agent"]).run().expect_err("refused");
    assert!(matches!(error, HostError::Environment { .. }), "{error:?}");
}

#[test]
fn formats_default_to_text() {
    let Some(Command::Agents { format, .. }) = parse(&["agents"]).command else { panic!("agents") };
    assert_eq!(format, Format::Text);
}

#[test]
fn the_help_says_what_it_is_and_how_it_ends() {
    let help = Cli::command().render_long_help().to_string();
    assert!(help.starts_with("Serves agents defined in TOML files"), "{help}");
    for line in ["  0    good", "  1    problems", "  2    usage", "  70   a fault"] {
        assert!(help.contains(line), "no {line:?} in {help}");
    }
}
