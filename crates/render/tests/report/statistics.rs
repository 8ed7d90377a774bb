//! Distributions, latency tables, submissions and waits.

use crate::support::{cells, latencies, measured, mix_run, part, report, row, with_deviation};
use model::figures::{Directions, Figures};
use model::plan::{EffectiveDistribution, EffectiveRange};
use model::profile::IoRing;
use model::record::WaitCounts;
use model::result::{DistributionUse, DistributionUser, Submissions, TargetLatencies, ThreadSubmissions, ThreadWaits};

fn ranges(list: &[(u32, u64, u64)]) -> EffectiveDistribution {
    let mut io_start = 0;
    let ranges = list.iter().map(|&(io_percent, start_kib, length_kib)| {
        let range =
            EffectiveRange { io_start, io_percent, start_bytes: start_kib << 10, length_bytes: length_kib << 10 };
        io_start += io_percent;
        range
    });
    let ranges = ranges.collect();
    EffectiveDistribution { io_span: io_start, ranges }
}

fn user(path: &str, threads: &[u32]) -> DistributionUser {
    DistributionUser { path: path.into(), threads: threads.to_vec() }
}

fn distributions(uses: Vec<DistributionUse>) -> String {
    let mut result = mix_run();
    measured(&mut result).distributions = uses;
    let text = report(&result);
    assert!(text.contains("85.35%\n\nEffective IO Distributions\n"), "it follows the CPU table");
    part(&text, "Effective IO", "\nTotal IO").to_owned()
}

#[test]
fn a_distribution_and_its_users() {
    let users = vec![user("a.dat", &[0, 1, 2, 4]), user("b.dat", &[3])];
    let distribution = ranges(&[(10, 0, 8), (10, 8, 12), (80, 28, 72)]);
    insta::assert_snapshot!(distributions(vec![DistributionUse { distribution, users }]), @r"
    Effective IO Distributions
    --------------------------
    target: a.dat [thread: 0 - 2 4]
    target: b.dat [thread: 3]
        10% of IO => [     0    -      8KiB)
        10% of IO => [     8KiB -     20KiB)
        80% of IO => [    28KiB -    100KiB)
    ");
}

#[test]
fn a_truncated_distribution_shows_relative_shares() {
    let users = vec![user("c.dat", &[0])];
    let truncated = ranges(&[(10, 0, 50), (20, 50, 10), (30, 60, 40)]);
    insta::assert_snapshot!(distributions(vec![DistributionUse { distribution: truncated, users }]), @r"
    Effective IO Distributions
    --------------------------
    target: c.dat [thread: 0]
        16.7% of IO => [     0    -     50KiB)
        33.3% of IO => [    50KiB -     60KiB)
        50.0% of IO => [    60KiB -    100KiB)
    ");
}

#[test]
fn several_distributions_follow_each_other() {
    let one = DistributionUse { distribution: ranges(&[(100, 0, 1 << 20)]), users: vec![user("a.dat", &[0, 1])] };
    let other = DistributionUse {
        distribution: ranges(&[(90, 0, 1), (10, 1, 2_097_151)]),
        users: vec![user("b.dat", &[0, 2])],
    };
    insta::assert_snapshot!(distributions(vec![one, other]), @r"
    Effective IO Distributions
    --------------------------
    target: a.dat [thread: 0 1]
       100% of IO => [     0    -      1GiB)
    target: b.dat [thread: 0 2]
        90% of IO => [     0    -      1KiB)
        10% of IO => [     1KiB -      2GiB)
    ");
}

#[test]
fn directions_without_ios_show_zero_and_na() {
    let mut result = mix_run();
    let figures = measured(&mut result);
    let none = Directions { write: with_deviation(Figures::default(), 0.0), ..Directions::default() };
    figures.rows = vec![row(0, "data.bin", 1 << 30, &none)];
    figures.total = none;
    figures.total_latency = Some(Directions {
        read: Some(latencies([48, 71, 83, 102, 139, 171, 298, 1044, 2917, 4350, 4350, 4350, 4350, 4350, 4350])),
        write: None,
        total: Some(latencies([48, 71, 83, 102, 139, 171, 298, 1044, 2917, 4350, 4350, 4350, 4350, 4350, 4350])),
    });
    insta::assert_snapshot!(part(&report(&result), "Write IO", ""), @r"
    Write IO
    thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | IopsStdDev | LatStdDev |  file
    ------------------------------------------------------------------------------------------------------------------
         0 |               0 |            0 |       0.00 |       0.00 |    0.000 |       0.00 |       N/A | data.bin (1GiB)
    ------------------------------------------------------------------------------------------------------------------
    total:                 0 |            0 |       0.00 |       0.00 |    0.000 |       0.00 |       N/A

    Total latency distribution:
      %-ile |  Read (ms) | Write (ms) | Total (ms)
    ----------------------------------------------
        min |      0.048 |        N/A |      0.048
       25th |      0.071 |        N/A |      0.071
       50th |      0.083 |        N/A |      0.083
       75th |      0.102 |        N/A |      0.102
       90th |      0.139 |        N/A |      0.139
       95th |      0.171 |        N/A |      0.171
       99th |      0.298 |        N/A |      0.298
    3-nines |      1.044 |        N/A |      1.044
    4-nines |      2.917 |        N/A |      2.917
    5-nines |      4.350 |        N/A |      4.350
    6-nines |      4.350 |        N/A |      4.350
    7-nines |      4.350 |        N/A |      4.350
    8-nines |      4.350 |        N/A |      4.350
    9-nines |      4.350 |        N/A |      4.350
        max |      4.350 |        N/A |      4.350
    ");
}

#[test]
fn each_path_has_its_own_latency_table_before_the_total() {
    let mut result = mix_run();
    let figures = measured(&mut result);
    let none = Directions::default();
    let latencies_at = |path: &str| TargetLatencies { path: path.into(), latency: Directions::default() };
    figures.target_latencies = vec![latencies_at("b.bin"), latencies_at("a.bin")];
    figures.total_latency = Some(none);
    let text = report(&result);
    let titles: Vec<&str> = text.lines().filter(|line| line.contains("atency distribution:")).collect();
    assert_eq!(titles, ["Latency distribution: b.bin", "Latency distribution: a.bin", "Total latency distribution:"]);
    assert!(text.contains("0.392\n\nLatency distribution: b.bin\n  %-ile |"));
    assert!(text.contains("\n    max |        N/A |        N/A |      0.000\n\nLatency distribution: a.bin\n"));
}

#[test]
fn optional_columns_come_one_by_one() {
    let mut latency_only = mix_run();
    latency_only.profile.time_spans[0].calculate_iops_std_dev = false;
    insta::assert_snapshot!(part(&report(&latency_only), "Read IO", "\nWrite IO"), @r"
    Read IO
    thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file
    -----------------------------------------------------------------------------------------------------
         0 |       256000000 |        31250 |      24.38 |    3120.94 |    0.862 |     0.401 | data.bin (1GiB)
         1 |       253845504 |        30987 |      24.18 |    3094.68 |    0.871 |     0.417 | data.bin (1GiB)
    -----------------------------------------------------------------------------------------------------
    total:         509845504 |        62237 |      48.56 |    6215.62 |    0.866 |     0.409
    ");
    let mut deviation_only = mix_run();
    deviation_only.profile.time_spans[0].measure_latency = false;
    insta::assert_snapshot!(part(&report(&deviation_only), "Read IO", "\nWrite IO"), @r"
    Read IO
    thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s | IopsStdDev |  file
    -------------------------------------------------------------------------------------------
         0 |       256000000 |        31250 |      24.38 |    3120.94 |     211.37 | data.bin (1GiB)
         1 |       253845504 |        30987 |      24.18 |    3094.68 |     198.02 | data.bin (1GiB)
    -------------------------------------------------------------------------------------------
    total:         509845504 |        62237 |      48.56 |    6215.62 |     312.45
    ");
}

#[test]
fn wide_numbers_push_but_never_cut() {
    let mut result = mix_run();
    measured(&mut result).rows = vec![row(
        65_535,
        "t",
        9 << 40,
        &Directions {
            total: cells(9_895_604_649_984_000, 1_000_000_000_000, 900_000.0, 1e11),
            ..Directions::default()
        },
    )];
    result.profile.time_spans[0].measure_latency = false;
    result.profile.time_spans[0].calculate_iops_std_dev = false;
    let text = report(&result);
    assert!(text.contains("\n 65535 | 9895604649984000 | 1000000000000 |  900000.00 | 100000000000.00 | t (9TiB)\n"));
}

#[test]
fn submissions_stand_between_the_tables_and_the_latencies() {
    let mut result = mix_run();
    result.profile.time_spans[0].io_ring = Some(IoRing::default());
    measured(&mut result).submissions = Some(Submissions {
        threads: [(0, 61_250, 6125.0), (1, 60_980, 6098.0), (2, 40_110, 4011.0), (3, 40_020, 4002.0)]
            .map(|(thread, count, per_s)| ThreadSubmissions { thread, count, per_s })
            .to_vec(),
        total_per_s: 20_236.0,
    });
    let expected = concat!(
        "     0.392\n",
        "\n",
        "\n",
        "IoRing Statistics\n",
        "thread |  Submits/s \n",
        "--------------------\n",
        "     0 |     6125.00\n",
        "     1 |     6098.00\n",
        "     2 |     4011.00\n",
        "     3 |     4002.00\n",
        "--------------------\n",
        "total: |    20236.00\n",
        "\n",
        "Total latency distribution:\n",
    );
    assert!(report(&result).contains(expected));
}

fn waits(threads: Vec<ThreadWaits>, is_latency_run: bool) -> String {
    let mut result = mix_run();
    measured(&mut result).waits = threads;
    measured(&mut result).is_latency_run = is_latency_run;
    let text = report(&result);
    assert!(text.contains("9.731\n\nWait Statistics - Completion Wait\n"), "last block, after an empty line");
    part(&text, "Wait Statistics - Completion", "").to_owned()
}

fn two_waiting_threads(throttled: bool) -> Vec<ThreadWaits> {
    let first = WaitCounts {
        wait: 40_102,
        throttle_wait: 260,
        throttle_sleep: 3911,
        lookaside: 10_291,
        wait_completions: [12, 40_210, 133, 7, 0, 0, 0, 0],
        lookaside_completions: [9000, 1203, 88, 0, 0, 0, 0, 0],
    };
    let second = WaitCounts {
        wait: 89_070,
        throttle_wait: 5,
        throttle_sleep: 6,
        lookaside: 17_814,
        wait_completions: [0, 80_012, 9001, 55, 2, 0, 0, 0],
        lookaside_completions: [15_400, 2100, 310, 4, 0, 0, 0, 0],
    };
    vec![
        ThreadWaits { thread: 0, throttled, counts: first },
        ThreadWaits { thread: 1, throttled: false, counts: second },
    ]
}

#[test]
fn waits_with_throttling_and_latency() {
    insta::assert_snapshot!(waits(two_waiting_threads(true), true), @r"
    Wait Statistics - Completion Wait
    thread |         wait | throttle wait  -  sleep | 0 - 7+ complete per wait
    --------------------------------------------------------------------------
         0 |        40102 |           260  -   3911 | 12 40210 133 7 0 0 0 0
         1 |        89070 |               ---       | 0 80012 9001 55 2 0 0 0

    Wait Statistics - Lookaside
    thread |    lookaside | 0 - 7+ complete per lookaside
    -----------------------------------------------------
         0 |        10291 | 9000 1203 88 0 0 0 0 0
         1 |        17814 | 15400 2100 310 4 0 0 0 0
    ");
}

#[test]
fn waits_without_throttling_or_latency() {
    let mut only = two_waiting_threads(false);
    only.truncate(1);
    only[0].counts.wait = 91_911;
    only[0].counts.wait_completions = [3, 0, 91_908, 0, 0, 0, 0, 0];
    insta::assert_snapshot!(waits(only, false), @r"
    Wait Statistics - Completion Wait
    thread |         wait | 0 - 7+ complete per wait
    ------------------------------------------------
         0 |        91911 | 3 0 91908 0 0 0 0 0
    ");
}

#[test]
fn the_other_two_combinations_of_waits() {
    let throttled_only = waits(two_waiting_threads(true), false);
    assert!(throttled_only.contains("---       |") && !throttled_only.contains("Lookaside"));
    let latency_only = waits(two_waiting_threads(false), true);
    assert!(!latency_only.contains("throttle") && latency_only.contains("Wait Statistics - Lookaside"));
}
