//! Man pages as man shows them, and completions as the shells offer them.

use std::os::unix::fs::FileTypeExt;
use testkit::{Workplace, or_skip, tool, workplace};

/// Every subcommand, as `--help` lists them.
fn subcommands(place: &Workplace) -> Vec<String> {
    let help = place.diskspd("--help").run().stdout;
    let list = help.split_once("\nSubcommands").expect("a list of subcommands").1;
    let lines = list.lines().skip(1).take_while(|line| !line.is_empty());
    lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn every_subcommand_has_help_in_the_same_form() {
    let place = workplace!();
    let names = subcommands(&place);
    assert!(names.len() > 6, "{names:?}");
    for name in names {
        let run = place.diskspd(&format!("{name} --help")).run();
        let usage = format!("Usage: diskspd {name}");
        run.expect_status(0).expect_stdout(&[
            &usage,
            "-h, --help",
            &format!("To measure a file named {name}, write ./{name}."),
        ]);
        assert!(run.stdout.starts_with(&usage) && run.stderr.is_empty(), "{run}");
        assert_eq!(place.diskspd(&format!("{name} -h")).run().stdout, run.stdout);
        // Errors refer to it.
        place.diskspd(&format!("{name} --nonsense")).run().expect_status(3).expect_stderr(&[&format!("{name} --help")]);
    }
}

// Shows switches: --man[=<subcommand>]
#[test]
fn man_shows_every_page_without_a_warning() {
    let place = workplace!();
    let groff = or_skip!(tool("groff"));
    let pages = subcommands(&place).into_iter().map(|name| format!("--man={name}"));
    for option in pages.chain(["--man".to_owned()]) {
        let page = place.diskspd(&option).run();
        page.expect_status(0);
        let path = place.file("page.1", page.stdout.as_bytes());
        let shown = place.tool(&groff).args("-man -Tutf8 -P-cbou -ww -rLL=100n").arg(&path).run();
        shown.expect_status(0).expect_stdout(&["SYNOPSIS", "EXIT STATUS", "SEE ALSO"]);
        assert_eq!(shown.stderr, "", "{option}");
        assert!(shown.stdout.starts_with("DISKSPD") && shown.stdout.contains("User Commands"), "{shown}");
    }
    place.diskspd("--man=nonsense").run().expect_status(3).expect_stderr(&["no man page for 'nonsense'", "sweep"]);
}

/// Typed text, and one of the words that the shell then offers.
const TYPED: [(&str, &str); 13] = [
    ("diskspd sw", "sweep"),
    ("diskspd --eng", "--engine"),
    ("diskspd --engine=io_", "io_uring"),
    ("diskspd -Rx", "-Rxml"),
    ("diskspd -Su", "-Su"),
    ("diskspd --help=iodep", "iodepth"),
    ("diskspd explain served-from-c", "served-from-cache"),
    ("diskspd sweep --conf", "--confirm"),
    ("diskspd --json=res", "result.json"),
    ("diskspd report res", "result.json"),
    ("diskspd preset sh", "show"),
    ("diskspd preset run sql-n", "sql-normal"),
    ("diskspd sweep --order ab", "abba"),
];

/// A counter, whose name contains characters that are special in shells.
const COUNTER: &str = r"\PhysicalDisk(*)\Disk Reads/sec";

/// The text typed before a block device of this machine, and the device: none that other tests create and remove.
fn typed_device() -> Option<(String, String)> {
    let devices = std::fs::read_dir("/dev").ok()?.filter_map(Result::ok);
    let is_block = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_block_device());
    let stays = |path: &String| !["loop", "zram", "dm-"].iter().any(|kind| path.starts_with(&format!("/dev/{kind}")));
    let paths = devices.filter(is_block).filter_map(|entry| entry.path().to_str().map(str::to_owned));
    let device = paths.filter(stays).min()?;
    Some((format!("diskspd monitor {}", &device[..device.len() - 1]), device))
}

/// The words that bash offers for a line, given as shell code.
fn offered_by_bash(place: &Workplace, script: &str, words: &[&str]) -> String {
    let ask = format!(
        "source '{script}'; complete -p diskspd >/dev/null || exit 1; COMP_WORDS=({}); COMP_CWORD={}; _diskspd; printf \
         '%s\\n' \"${{COMPREPLY[@]}}\"",
        words.join(" "),
        words.len() - 1
    );
    let run = place.tool("bash").args("--norc --noprofile -c").arg(&ask).run();
    run.expect_status(0);
    assert_eq!(run.stderr, "", "{words:?}");
    run.stdout
}

/// The completions for a shell in a file, beside a file that can be completed.
fn script(place: &Workplace, shell: &str) -> String {
    let script = place.diskspd(&format!("--completions={shell}")).run();
    script.expect_status(0);
    place.file("result.json", b"{}");
    place.file(&format!("completions.{shell}"), script.stdout.as_bytes()).display().to_string()
}

// Shows switches: --completions=<bash|zsh|fish>
#[test]
fn bash_completes() {
    let place = workplace!();
    or_skip!(tool("bash"));
    let script = script(&place, "bash");
    let expect = |typed: &str, offered: &str| {
        // As readline splits words.
        let words = typed.replace('=', " = ");
        let all = offered_by_bash(&place, &script, &words.split_whitespace().collect::<Vec<_>>());
        assert!(all.lines().any(|line| line == offered), "{typed}: {all}");
    };
    for (typed, offered) in TYPED {
        expect(typed, offered);
    }
    if let Some((typed, offered)) = typed_device() {
        expect(&typed, &offered);
    }
    // After -- there is a load.
    expect("diskspd sweep --vary o:1..4 -- --eng", "--engine");
    // With a quote, and with a backslash before each character that needs one.
    for (typed, offered) in [("\"'\\\\Phys\"", COUNTER), ("\\\\\\\\Phys", r"\\PhysicalDisk\(\*\)\\Disk\ Reads/sec")] {
        let all = offered_by_bash(&place, &script, &["diskspd", "monitor", "-c", typed]);
        assert!(all.lines().any(|line| line == offered), "{typed}: {all}");
    }
}

// Shows switches: --completions=<bash|zsh|fish>
#[test]
fn fish_completes() {
    let place = workplace!();
    let fish = or_skip!(tool("fish"));
    let script = script(&place, "fish");
    let more = typed_device().into_iter().chain([("diskspd monitor -c ".to_owned(), COUNTER.to_owned())]);
    let all = TYPED.map(|(typed, offered)| (typed.to_owned(), offered.to_owned())).into_iter().chain(more);
    for (typed, offered) in all {
        let ask = format!("source '{script}'; complete -C '{typed}'");
        let run = place.tool(&fish).args("--no-config -c").arg(&ask).env("HOME", place.folder()).run();
        run.expect_status(0);
        let words = run.stdout.lines().filter_map(|line| line.split('\t').next());
        assert!(words.into_iter().any(|word| word.ends_with(&offered)), "{typed}: {run}");
        assert_eq!(run.stderr, "", "{typed}");
    }
}

/// A shell at a terminal: the typed text is completed with a tab, then a custom key prints the line.
const ZSH_ASKS: &str = r#"
zmodload zsh/zpty || exit 77
zpty shell "zsh -i"
zpty -r shell line '*ready*'
zpty -w -n shell "$1"$'\t'$'\x18'
zpty -r shell line '*<<*>>*'
print -r -- "$line"
zpty -d shell
"#;

/// The startup file of that shell.
const ZSH_RC: &str = r#"
PS1=
autoload -Uz compinit
compinit -u -d "$HOME/dump"
source "$HOME/completions.zsh"
show() { print -r -- "<<$BUFFER>>"; BUFFER=; }
zle -N show
bindkey "^X" show
print ready
"#;

// Shows switches: --completions=<bash|zsh|fish>
#[test]
fn zsh_completes() {
    let place = workplace!();
    let zsh = or_skip!(tool("zsh"));
    script(&place, "zsh");
    place.file(".zshrc", ZSH_RC.as_bytes());
    let asking = place.file("ask.zsh", ZSH_ASKS.as_bytes());
    for (typed, offered) in TYPED {
        let run = place.tool(&zsh).arg("-f").arg(&asking).arg(typed).env("HOME", place.folder()).run();
        run.expect_status(0);
        let line = run.stdout.rsplit_once("<<").expect("the line that is shown").1;
        assert!(line.contains(offered), "{typed}: {run}");
    }
}
