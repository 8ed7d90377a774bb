//! Published programs parse DiskSpd's output by their own rules: those rules, restated, hold for ours.
//!
//! Every rule names the program that relies on it. All are checked on each output, and all failures are reported at
//! once.

use roxmltree::{Document, Node};
use std::fmt::Write as _;
use testkit::workplace;

/// Loads, as these programs type them: mixed over two files, reads only, writes only, sequential threads without `-si`.
const LOADS: [&str; 4] = [
    "-c1M -d1 -W0 -b4K -r -w30 -t2 -o2 -L -D a.dat b.dat",
    "-c1M -d1 -W0 -b8K -r -w0 -t2 -o4 -L a.dat",
    "-c1M -d1 -W0 -b64K -si -w100 -t1 -o8 -L -Z1M a.dat",
    "-c1M -d1 -W0 -b64K -w20 -t2 -o2 -L a.dat",
];

/// A rule: the program that relies on it, its text, and its check of an output.
struct Rule {
    client: &'static str,
    says: &'static str,
    holds: fn(&str) -> bool,
}

/// Rules for the text.
const OF_TEXT: &[Rule] = &[
    Rule {
        client: "J. Barreto's scripts and the many that repeat them",
        says: "the first line like total:* has MiB/s, I/Os per second and mean latency in its fields 2, 3 and 4",
        holds: |text| first(text, "total:").is_some_and(|line| (2..=4).all(|index| number(&field(line, index)))),
    },
    Rule {
        client: "J. Barreto's scripts and the many that repeat them",
        says: "the first line like avg.* has the CPU usage in its field 1, with a percent sign",
        holds: |text| first(text, "avg.").is_some_and(|line| percent(&field(line, 1))),
    },
    Rule {
        client: "DC-AC/Powershell, DiskSpdParser.ps1",
        says: "the second line is the command line",
        holds: |text| text.lines().nth(1).is_some_and(|line| line.starts_with("Command Line: ")),
    },
    Rule {
        client: "DC-AC/Powershell, DiskSpdParser.ps1",
        says: "the first line with the word total has six numbers, the first behind total:",
        holds: |text| {
            let line = text.lines().find(|line| line.contains("total")).unwrap_or_default();
            let cells: Vec<String> = line.replace("total:", "").split('|').map(|cell| cell.trim().to_owned()).collect();
            cells.len() >= 6 && cells.iter().all(|cell| number(cell))
        },
    },
    Rule {
        client: "qumulokmac/scriptorium, extract_data.sh",
        says: "one of the nine lines behind Total IO has the word total, and numbers in cut's fields 3 to 5",
        holds: |text| {
            let behind = text.lines().skip_while(|line| !line.contains("Total IO")).take(10);
            let totals: Vec<&str> = behind.filter(|line| line.contains("total")).collect();
            totals.len() == 1 && (2..=4).all(|index| number(&field(totals[0], index)))
        },
    },
    Rule {
        client: "qumulokmac/scriptorium, extract_data.sh",
        says: "Total IO is in one line only",
        holds: |text| text.lines().filter(|line| line.contains("Total IO")).count() == 1,
    },
    Rule {
        client: "parse_diskspd_output of drive qualification tools in Python",
        says: "every line that begins with total:, in any case, has bytes, I/Os, MiB/s and I/Os per second",
        holds: |text| {
            let mut totals = text.lines().filter(|line| line.to_lowercase().starts_with("total:")).peekable();
            totals.peek().is_some() && totals.all(|line| line.split('|').count() >= 4 && numbers(line, 1..4))
        },
    },
    Rule {
        client: "scoring scripts in Python that read sections",
        says: "Read IO, Write IO and Total IO stand alone on a line, once each, followed by a line Total:",
        holds: |text| {
            ["Read IO", "Write IO", "Total IO"].iter().all(|name| {
                let mut behind = text.lines().skip_while(|line| line.trim_end() != *name);
                let once = text.lines().filter(|line| line.trim_end() == *name).count() == 1;
                once && behind.any(|line| line.to_lowercase().starts_with("total:") && numbers(line, 2..4))
            })
        },
    },
    Rule {
        client: "azure-linux-automation and LISAv2",
        says: "the last line with total: is that of a table",
        holds: |text| text.lines().rfind(|line| line.contains("total:")).is_some_and(|line| numbers(line, 1..4)),
    },
    Rule {
        client: "azure-linux-automation and LISAv2",
        says: "total: is at the beginning of lines only",
        holds: |text| text.lines().filter(|line| line.contains("total:")).all(|line| line.starts_with("total:")),
    },
    Rule {
        client: "benchmark pages in PowerShell with quartiles",
        says: "lines that begin with the words min, 25th, 50th, 75th and 99th, flush right in seven columns, end in milliseconds",
        holds: |text| {
            ["    min ", "   25th ", "   50th ", "   75th ", "   99th "].iter().all(|start| {
                let line = first(text, start).unwrap_or_default();
                line.split('|').count() == 4 && number(&field(line, 3))
            })
        },
    },
    Rule {
        client: "host benchmarks in PowerShell",
        says: "without blanks, the first line like total:* has more than three fields, and a number in field 3",
        holds: |text| {
            let line = first(text, "total:").unwrap_or_default().replace(' ', "");
            line.split('|').count() > 3 && field(&line, 3).parse::<f64>().is_ok()
        },
    },
    Rule {
        client: "microsoft/VirtualClient, DiskSpdMetricsParser",
        says: "between blank lines, a section begins with the head of the CPU table, and its rows have four values",
        holds: |text| {
            let Some(section) = sections(text).find(|section| section[0].starts_with("CPU |")) else { return false };
            let rows = section[1..].iter().filter(|line| !line.starts_with("--"));
            rows.clone().count() >= 2 && rows.clone().all(|line| (1..=4).all(|index| percent(&field(line, index))))
        },
    },
    Rule {
        client: "microsoft/VirtualClient, DiskSpdMetricsParser",
        says: "sections begin with Total IO, Read IO and Write IO, and all rows have at least the columns of the head's figures",
        holds: |text| {
            ["Total IO", "Read IO", "Write IO"].iter().all(|name| {
                let Some(section) = sections(text).find(|section| section[0] == *name) else { return false };
                let rows = section[2..].iter().filter(|line| !line.starts_with("--"));
                rows.clone().count() >= 2 && rows.clone().all(|line| numbers(&line.replace("total:", "total|"), 1..6))
            })
        },
    },
    Rule {
        client: "microsoft/VirtualClient, DiskSpdMetricsParser",
        says: "the columns of the tables are thread, bytes, I/Os, MiB/s, I/O per s and AvgLat, in this order",
        holds: |text| {
            let heads = text.lines().filter(|line| line.starts_with("thread |"));
            heads.clone().count() == 3
                && heads.clone().all(|line| {
                    let names: Vec<&str> = line.split('|').map(str::trim).take(6).collect();
                    names == ["thread", "bytes", "I/Os", "MiB/s", "I/O per s", "AvgLat"]
                })
        },
    },
    Rule {
        client: "microsoft/VirtualClient, DiskSpdMetricsParser",
        says: "the word Group is in no output of a machine with one processor group",
        holds: |text| !text.contains("Group"),
    },
    Rule {
        client: "microsoft/VirtualClient, DiskSpdMetricsParser",
        says: "a table of latencies has the columns Read (ms), Write (ms) and Total (ms)",
        holds: |text| {
            let head = text.lines().find(|line| line.contains("%-ile")).unwrap_or_default();
            let names: Vec<&str> = head.split('|').map(str::trim).collect();
            names == ["%-ile", "Read (ms)", "Write (ms)", "Total (ms)"]
        },
    },
];

/// Rules for the XML.
const OF_XML: &[Rule] = &[
    Rule {
        client: "microsoft/diskspd, Process-DiskSpd.ps1",
        says: "the first line is <Results>",
        holds: |text| text.lines().next() == Some("<Results>"),
    },
    Rule {
        client: "microsoft/diskspd, Process-DiskSpd.ps1",
        says: "Results.System.ComputerName and Results.TimeSpan.TestTimeSeconds have values",
        holds: |text| {
            with(text, |results| {
                let name = element_text(results, &["System", "ComputerName"])?;
                Some(!name.is_empty() && number(&element_text(results, &["TimeSpan", "TestTimeSeconds"])?))
            })
        },
    },
    Rule {
        client: "microsoft/diskspd, Process-DiskSpd.ps1, and VM Fleet",
        says: "Latency.Bucket has the percentiles 25, 50, 75, 90, 95, 99, 99.9 and 100, written like this",
        holds: |text| {
            with(text, |results| {
                let buckets = buckets(results);
                let wanted = ["25", "50", "75", "90", "95", "99", "99.9", "100"];
                Some(wanted.iter().all(|wanted| {
                    buckets.iter().any(|bucket| child(*bucket, "Percentile").as_deref() == Some(*wanted))
                }))
            })
        },
    },
    Rule {
        client: "microsoft/diskspd, Process-DiskSpd.ps1, and VM Fleet",
        says: "ReadCount, WriteCount, ReadBytes and WriteBytes of Thread.Target are numbers",
        holds: |text| {
            with(text, |results| {
                let names = ["ReadCount", "WriteCount", "ReadBytes", "WriteBytes"];
                let targets = targets(results);
                let all = targets
                    .iter()
                    .all(|target| names.iter().all(|name| child(*target, name).is_some_and(|text| number(&text))));
                Some(all && !targets.is_empty())
            })
        },
    },
    Rule {
        client: "PerfKitBenchmarker, diskspd.py",
        // Iops is added by -D, in DiskSpd too; the program does not type it.
        says: "every child of Thread.Target but Path, FileSize and latencies is a number",
        holds: |text| {
            with(text, |results| {
                let is_text = |name: &str| {
                    name == "Path" || name == "FileSize" || name == "Iops" || name.to_lowercase().contains("latency")
                };
                let figures = |target: &Node<'_, '_>| {
                    let mut children =
                        target.children().filter(Node::is_element).filter(|child| !is_text(child.tag_name().name()));
                    children.all(|child| number(child.text().unwrap_or_default()))
                };
                Some(targets(results).iter().all(figures))
            })
        },
    },
    Rule {
        client: "PerfKitBenchmarker, diskspd.py",
        says: "ReadBytes, WriteBytes, ReadCount, WriteCount, BytesCount and IOCount are whole numbers",
        holds: |text| {
            with(text, |results| {
                let names = ["ReadBytes", "WriteBytes", "ReadCount", "WriteCount", "BytesCount", "IOCount"];
                let whole = |target: Node<'_, '_>, name: &str| {
                    child(target, name).is_some_and(|text| text.parse::<u64>().is_ok())
                };
                Some(targets(results).iter().all(|target| names.iter().all(|name| whole(*target, name))))
            })
        },
    },
    Rule {
        client: "PerfKitBenchmarker, diskspd.py",
        says: "every CPU and the Average of CpuUtilization have UsagePercent, UserPercent, KernelPercent and IdlePercent",
        holds: |text| {
            with(text, |results| {
                let names = ["UsagePercent", "UserPercent", "KernelPercent", "IdlePercent"];
                let usage = results.descendants().find(|node| node.has_tag_name("CpuUtilization"))?;
                let parts: Vec<Node<'_, '_>> =
                    usage.children().filter(|node| node.has_tag_name("CPU") || node.has_tag_name("Average")).collect();
                let all =
                    |part: &Node<'_, '_>| names.iter().all(|name| child(*part, name).is_some_and(|text| number(&text)));
                Some(parts.len() >= 2 && parts.iter().all(all))
            })
        },
    },
    Rule {
        client: "PerfKitBenchmarker, diskspd.py",
        says: "every bucket has Percentile and TotalMilliseconds, as numbers",
        holds: |text| {
            with(text, |results| {
                let buckets = buckets(results);
                let all =
                    |name: &str| buckets.iter().all(|bucket| child(*bucket, name).is_some_and(|text| number(&text)));
                Some(!buckets.is_empty() && all("Percentile") && all("TotalMilliseconds"))
            })
        },
    },
    Rule {
        client: "PerfKitBenchmarker, diskspd.py",
        says: "children of Latency that are no buckets are single figures",
        holds: |text| {
            with(text, |results| {
                let latency = results.descendants().find(|node| node.has_tag_name("Latency"))?;
                let mut others =
                    latency.children().filter(Node::is_element).filter(|node| !node.has_tag_name("Bucket"));
                Some(others.all(|node| number(node.text().unwrap_or_default())))
            })
        },
    },
    Rule {
        client: "PerfKitBenchmarker, diskspd.py",
        says: "WriteBufferContent of the profile's first target has a Pattern with text",
        holds: |text| {
            with(text, |results| {
                let content = results.descendants().find(|node| node.has_tag_name("WriteBufferContent"))?;
                Some(child(content, "Pattern").is_some_and(|pattern| !pattern.is_empty()))
            })
        },
    },
    Rule {
        client: "scripts in PowerShell that read one timespan",
        says: "Latency has AverageReadMilliseconds or AverageWriteMilliseconds, and AverageTotalMilliseconds",
        holds: |text| {
            with(text, |results| {
                let has = |name: &str| {
                    element_text(results, &["TimeSpan", "Latency", name]).is_some_and(|text| number(&text))
                };
                let one = has("AverageReadMilliseconds") || has("AverageWriteMilliseconds");
                Some(one && has("AverageTotalMilliseconds"))
            })
        },
    },
];

fn number(text: &str) -> bool {
    text.trim().parse::<f64>().is_ok()
}

fn percent(text: &str) -> bool {
    text.strip_suffix('%').is_some_and(number)
}

/// A field of a line, without blanks around it.
fn field(line: &str, index: usize) -> String {
    line.split('|').nth(index).unwrap_or_default().trim().to_owned()
}

fn numbers(line: &str, mut fields: std::ops::Range<usize>) -> bool {
    fields.all(|index| number(&field(line, index)))
}

fn first<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    text.lines().find(|line| line.starts_with(start))
}

/// The lines between blank lines.
fn sections(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let parts = text.split("\n\n").map(|part| part.trim_matches('\n').lines().collect::<Vec<_>>());
    parts.filter(|part| !part.is_empty())
}

/// The result of a rule on a document's root; false if something is missing.
fn with(text: &str, holds: impl Fn(Node<'_, '_>) -> Option<bool>) -> bool {
    let document = Document::parse(text).expect("it is XML");
    holds(document.root_element()).unwrap_or(false)
}

fn child(node: Node<'_, '_>, name: &str) -> Option<String> {
    let child = node.children().find(|child| child.has_tag_name(name))?;
    Some(child.text().unwrap_or_default().trim().to_owned())
}

/// The text of the first element below others.
fn element_text(results: Node<'_, '_>, path: &[&str]) -> Option<String> {
    let (last, above) = path.split_last()?;
    let parent =
        above.iter().try_fold(results, |node, name| node.children().find(|child| child.has_tag_name(*name)))?;
    child(parent, last)
}

/// Buckets of percentiles; `-D` adds others to the rates.
fn buckets<'a, 'b>(results: Node<'a, 'b>) -> Vec<Node<'a, 'b>> {
    let latencies = results.descendants().filter(|node| node.has_tag_name("Latency"));
    latencies.flat_map(|latency| latency.children().filter(|node| node.has_tag_name("Bucket"))).collect()
}

/// Targets of threads, as opposed to those of the profile.
fn targets<'a, 'b>(results: Node<'a, 'b>) -> Vec<Node<'a, 'b>> {
    let threads = results.descendants().filter(|node| node.has_tag_name("Thread"));
    threads.flat_map(|thread| thread.children().filter(|node| node.has_tag_name("Target"))).collect()
}

/// Checks all rules on an output; returns their number.
fn try_all(rules: &[Rule], output: &str, load: &str, broken: &mut String) -> usize {
    for rule in rules.iter().filter(|rule| !(rule.holds)(output)) {
        let _ = writeln!(broken, "{}: {} ({load})", rule.client, rule.says);
    }
    rules.len()
}

#[test]
fn published_programs_read_our_output() {
    let place = workplace!();
    let (mut checks, mut broken) = (0, String::new());
    for load in LOADS {
        let text = place.diskspd(load).run();
        text.expect_status(0);
        checks += try_all(OF_TEXT, &text.stdout, load, &mut broken);
        let xml = place.diskspd(&format!("-Rxml {load}")).run();
        xml.expect_status(0);
        checks += try_all(OF_XML, &xml.stdout, load, &mut broken);
    }
    assert_eq!(broken, "", "of {checks} checks");
    assert_eq!(checks, LOADS.len() * 28, "every rule was tried on every load");
}

#[test]
fn a_rule_fails_where_its_line_is_missing() {
    for rule in OF_TEXT.iter().filter(|rule| !rule.says.contains("Group") && !rule.says.contains("beginning of lines"))
    {
        assert!(!(rule.holds)("\nno report\n"), "{}", rule.says);
    }
    for rule in OF_XML.iter().filter(|rule| !rule.says.contains("every child") && !rule.says.contains("whole numbers"))
    {
        assert!(!(rule.holds)("<None/>"), "{}", rule.says);
    }
}
