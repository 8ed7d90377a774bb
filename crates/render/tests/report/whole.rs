//! Whole reports.

use crate::support::{cells, measured, mix_run, part, report, row};
use model::figures::{Directions, Figures};
use model::profile::{Target, TimeSpan};
use model::units::Bytes;

#[test]
fn the_complete_example_comes_out_byte_for_byte() {
    assert_eq!(report(&mix_run()), include_str!("mix_run.txt"));
}

#[test]
fn without_options_tables_have_no_optional_columns() {
    let mut result = mix_run();
    result.profile.time_spans[0].measure_latency = false;
    result.profile.time_spans[0].calculate_iops_std_dev = false;
    measured(&mut result).total_latency = None;
    insta::assert_snapshot!(part(&report(&result), "Total IO", ""), @r"
    Total IO
    thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  file
    ------------------------------------------------------------------------------
         0 |       365789184 |        44652 |      34.84 |    4459.40 | data.bin (1GiB)
         1 |       362946560 |        44305 |      34.57 |    4424.75 | data.bin (1GiB)
    ------------------------------------------------------------------------------
    total:         728735744 |        88957 |      69.41 |    8884.15

    Read IO
    thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  file
    ------------------------------------------------------------------------------
         0 |       256000000 |        31250 |      24.38 |    3120.94 | data.bin (1GiB)
         1 |       253845504 |        30987 |      24.18 |    3094.68 | data.bin (1GiB)
    ------------------------------------------------------------------------------
    total:         509845504 |        62237 |      48.56 |    6215.62

    Write IO
    thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  file
    ------------------------------------------------------------------------------
         0 |       109789184 |        13402 |      10.46 |    1338.46 | data.bin (1GiB)
         1 |       109101056 |        13318 |      10.39 |    1330.07 | data.bin (1GiB)
    ------------------------------------------------------------------------------
    total:         218890240 |        26720 |      20.85 |    2668.53
    ");
}

#[test]
fn a_pool_has_a_row_per_thread_and_target() {
    let mut result = mix_run();
    let target = |path| Target { block_size: Bytes::from_kib(64), ..Target::new(path) };
    result.command_line = "diskspd -F2 -O16 a.bin b.bin".to_owned();
    result.profile.time_spans[0] = TimeSpan {
        thread_count: 2,
        request_count: 16,
        targets: vec![target("a.bin"), target("b.bin")],
        ..TimeSpan::default()
    };
    result.time_spans[0].engines = vec![model::engine_kind::EngineKind::IoUring; 2];
    let reads = |figures: Figures| Directions { read: figures, write: Figures::default(), total: figures };
    let figures = measured(&mut result);
    figures.request_count = Some(16);
    figures.total_latency = None;
    let (a, b) = (2 << 30, 1_610_612_736);
    figures.rows = vec![
        row(0, "a.bin", a, &reads(cells(524_288_000, 8000, 99.92, 1598.72))),
        row(0, "b.bin", b, &reads(cells(262_144_000, 4000, 49.96, 799.36))),
        row(1, "a.bin", a, &reads(cells(520_093_696, 7936, 99.12, 1585.93))),
        row(1, "b.bin", b, &reads(cells(268_435_456, 4096, 51.16, 818.55))),
    ];
    figures.total = reads(cells(1_574_961_152, 24_032, 300.16, 4802.56));
    let text = report(&result);
    insta::assert_snapshot!(part(&text, "    random seed", "System"), @r"
        random seed: 0
        thread pool with 2 threads
        number of outstanding I/O operations per thread: 16
        affinity assignment: cpu order, fill groups, P-cores first
        buffer separation: thread optimized (16MiB)
        path: 'a.bin'
          think time: 0ms
          burst size: 0
          using software cache
          using hardware write cache, writethrough off
          performing read test
          block size: 64KiB
          using sequential I/O (stride: 64KiB)
          relative IO weight in thread pool: 1
          IO priority: normal
        path: 'b.bin'
          think time: 0ms
          burst size: 0
          using software cache
          using hardware write cache, writethrough off
          performing read test
          block size: 64KiB
          using sequential I/O (stride: 64KiB)
          relative IO weight in thread pool: 1
          IO priority: normal
    ");
    assert!(text.contains("thread count:\t\t2\nrequest count:\t\t16\n\neffective affinity"));
    insta::assert_snapshot!(part(&text, "Total IO", "\nRead IO"), @r"
    Total IO
    thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  file
    ------------------------------------------------------------------------------
         0 |       524288000 |         8000 |      99.92 |    1598.72 | a.bin (2GiB)
         0 |       262144000 |         4000 |      49.96 |     799.36 | b.bin (1.5GiB)
         1 |       520093696 |         7936 |      99.12 |    1585.93 | a.bin (2GiB)
         1 |       268435456 |         4096 |      51.16 |     818.55 | b.bin (1.5GiB)
    ------------------------------------------------------------------------------
    total:        1574961152 |        24032 |     300.16 |    4802.56
    ");
}
