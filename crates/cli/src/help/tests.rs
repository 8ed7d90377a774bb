use super::*;

#[test]
fn lines_fit() {
    for text in [help(), usage("diskspd"), topic("-a").unwrap(), topic("-S").unwrap()] {
        for line in text.lines() {
            assert!(line.chars().count() <= LINE_WIDTH, "{line}");
        }
    }
}

#[test]
fn the_usage_begins_with_program_and_version() {
    let usage = usage("./diskspd");
    let mut lines = usage.lines();
    assert_eq!(lines.next(), Some(""));
    assert_eq!(lines.next(), Some("Usage: ./diskspd [options] target1 [ target2 [ target3 ...] ]"));
    assert!(lines.next().unwrap().starts_with("version 2.3.0 (2026/06/15)"));
}

#[test]
fn the_usage_lists_options_in_alphabetical_order_and_three_groups_at_the_end() {
    let usage = usage("diskspd");
    let places: Vec<usize> = [
        "\n  -:",
        "\n  -?",
        "\n  -a",
        "\n  -b",
        "\n  -B",
        "\n  -W",
        "\n  -z",
        "\nWrite buffers:\n",
        "\nSynchronization:\n",
        "\nEvent tracing:\n",
        "\nExamples:\n",
    ]
    .iter()
    .map(|text| usage.find(text).unwrap_or_else(|| panic!("{text:?} is not in\n{usage}")))
    .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(!usage.contains("--overwrite"), "our own options are listed by --help only");
}

#[test]
fn a_topic_tells_all_about_an_option() {
    insta::assert_snapshot!(topic("-rdpct90/10").unwrap(), @r"
    -rd(pct|abs)<IO%>/<length>:...
        Distributes random I/Os unevenly over the target. The ranges follow one another, the first at
        the base offset. <IO%> is the percentage of the I/Os that go to a range (0: none); <length> is
        the length of the range, as a percentage of the target (pct) or as a size (abs). The remaining
        I/Os go to the rest of the target. Needs -r or -rs.

        Applies to:  every target
        Given again: the last value is used
        In XML:      Distribution
        With -X:     refused
        Since:       DiskSpd 2.1
        Example:     -rdpct90/10
    ");
    insta::assert_snapshot!(topic("overwrite").unwrap(), @r"
    --overwrite
        Let -c and writes modify existing files that this program did not create. Without it, such files
        are refused. For scripts that cannot be changed, set DISKSPD_OVERWRITE=1 in the environment
        instead.

        Applies to:  this invocation, not the profile
        Given again: no further effect
        With -X:     allowed
        Since:       not in DiskSpd
        Example:     --overwrite
    ");
    insta::assert_snapshot!(topic("S").unwrap(), @r"
    -S[bhmruwyY]
        Sets how reads and writes are cached. The letters can be combined in one -S or given in several.
        b: use the page cache (default). u: unbuffered. w: write-through, that is, a write completes
        only when it is on stable media. h: the same as uw. m: memory mapped I/O. r: without the local
        cache of a network file system. y: BypassIO as far as possible; Y: BypassIO, or fail. -S alone
        means -Su. Only one of b, u, h and r can be given; nor can y and Y, w and h, m and u, or m and h
        be combined. Each letter can be given only once.
        On Linux: u opens with O_DIRECT, w with O_DSYNC, h with both.

        Applies to:  every target
        Given again: the values are combined
        In XML:      DisableOSCache, DisableLocalCache, WriteThrough, MemoryMappedIo, BypassIO
        With -X:     refused
        Since:       DiskSpd 2.0
        Example:     -Suw
    ");
}

#[test]
fn topics_are_found_by_every_spelling() {
    assert_eq!(topic("rd"), topic("-rd"));
    assert_eq!(topic("--plan"), topic("plan"));
    assert_eq!(topic("-b4K"), topic("-b"));
    assert_eq!(topic("-Z").unwrap().matches("Example:").count(), 2, "two rows share the name");
    for name in subcommand::NAMES {
        assert_eq!(topic(name), subcommand::help(name));
    }
    for word in ["", "-", "--", "q", "-q", "xyzzy", "--r", "testfile.dat"] {
        assert_eq!(topic(word), None, "{word}");
    }
}

#[test]
fn words_find_options_subcommands_and_pages() {
    let has = |word: &str, line: &str| {
        let found = topic(word).unwrap_or_else(|| panic!("{word}"));
        assert!(found.lines().any(|found| found.trim_start().starts_with(line)), "{word}: {found}");
    };
    has("iodepth", "fio: iodepth is -o32 here.");
    has("iodepth", "-o<count>");
    has("iops", "--rate=");
    has("raw disk", "docs/guide/raw-disks.md");
    has("steady state", "docs/concepts/steady-state.md");
    // An option and, of another tool, another one.
    has("bs", "fio: bs is -b4K here.");
    has("bs", "-b<size>");
    has("bs", "-bs(n|p)");
    has("rate", "example: diskspd -g");
    has("libaio", "--engine=");
    has("randread", "fio: randread is -r here");
    has("oltp", "oltp ");
    has("vdbench", "A command line or job file of vdbench is answered");
    for word in ["pivot", "PivotTable", "PowerShell", "Excel", "spreadsheet", "amplification", "Storage Spaces"] {
        let found = topic(word).unwrap_or_else(|| panic!("{word}"));
        assert!(found.contains("diskspd report FILE... --") && found.contains("docs/guide/spreadsheets.md"), "{found}");
    }
    for word in ["baseline", "balance", "Storage Spaces", "array"] {
        has(word, "'diskspd preset run volume-baseline --plan");
    }
    assert!(topic("json").unwrap().starts_with("--json=<file>\n"));
    assert_eq!(near("iodept")[0], "iodepth");
    for word in words() {
        assert!(topic(word).is_some(), "{word}");
    }
}
