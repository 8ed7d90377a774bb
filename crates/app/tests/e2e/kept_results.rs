//! `DISKSPD_RESULTS`: every result is saved, and available as `last`.

use testkit::{Mounted, Workplace, or_skip, workplace};

const VARIABLE: &str = "DISKSPD_RESULTS";

fn kept(place: &Workplace) -> Vec<String> {
    let names = std::fs::read_dir(place.path("results")).expect("a directory");
    let mut names: Vec<String> =
        names.map(|entry| entry.expect("readable").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

#[test]
fn every_result_is_kept_by_date_and_label_and_found_again() {
    let place = workplace!();
    std::fs::create_dir(place.path("results")).expect("made");
    let program = |words: &str| place.diskspd(words).env(VARIABLE, "results");
    place.create_file("f", "-c1M");
    let run = program("-b4K -o1 -r -d1 -W0 -L --label volume=gp/3 --label n=1 f").run();
    run.expect_status(0).expect_stderr(&["result saved to 'results/", "Z-gp-3-1.json'"]);
    program("-b4K -o1 -r -d1 -W0 -L f").run().expect_status(0);
    program("preset run oltp -d1 -W0 -c1M g").run().expect_status(0);
    let names = kept(&place);
    assert_eq!(names.len(), 3, "{names:?}");
    let ends = ["Z-gp-3-1.json", "Z.json", "Z-oltp.json"];
    assert!(names.iter().zip(ends).all(|(name, end)| name.ends_with(end)), "{names:?}");
    let report = |which: &str| program(&format!("report {which}")).run();
    report("last").expect_status(0).expect_stdout(&["oltp"]);
    let first = place.diskspd(&format!("report results/{}", names[0])).run();
    assert_eq!(report("last~2").stdout, first.stdout);
    program("report last~3")
        .run()
        .expect_status(3)
        .expect_stderr(&["'last~3' does not exist; the number of results in DISKSPD_RESULTS"]);
    program("compare last~2 last~1").run().expect_status(0).expect_stdout(&["IOPS"]);
    // The last two are different loads.
    program("compare last").run().expect_status(3).expect_stderr(&["the loads differ"]);
    place.diskspd("compare last").run().expect_status(3).expect_stderr(&["DISKSPD_RESULTS is not set"]);
    program("--plan -b4K f").run().expect_status(0);
    program("-Rpxml -b4K f").run().expect_status(0);
    program("-b4K -d1 nothing").run().expect_status(1);
    assert_eq!(kept(&place), names, "nothing was measured");
}

#[test]
fn a_directory_that_cannot_take_results_is_refused_before_anything_is_touched() {
    let place = workplace!();
    place.file("file", b"");
    for (folder, expected) in [("nowhere", "No such file or directory"), ("file", "it is not a directory")] {
        let run = place.short_run("-c1M f").env(VARIABLE, folder).run();
        run.expect_status(3).expect_stderr(&["ERROR: DISKSPD_RESULTS '", expected]);
        assert!(!place.path("f").exists());
    }
}

#[test]
fn a_full_directory_is_refused_before_the_run() {
    let place = workplace!();
    let full = or_skip!(Mounted::tmpfs(&place, "full", "1M"));
    std::fs::write(full.path.join("filler"), vec![1; 900 << 10]).expect("room for it");
    let run = place.short_run("-c1M f").env(VARIABLE, "full").run();
    run.expect_status(3).expect_stderr(&["ERROR: DISKSPD_RESULTS 'full': no room for a result", "No space left"]);
    assert!(!place.path("f").exists());
    std::fs::remove_file(full.path.join("filler")).expect("it is there");
    place.short_run("-c1M f").env(VARIABLE, "full").run().expect_status(0);
}

#[test]
fn results_are_not_written_to_the_device_that_is_measured() {
    let place = workplace!();
    let mounted = or_skip!(Mounted::ext4(&place, "mounted", 64 << 20));
    let device = mounted.device.as_ref().map(|device| device.path.clone()).expect("it is on one");
    let refused = place.short_run("-b4K").arg(&device).env(VARIABLE, "mounted").run();
    refused
        .expect_status(3)
        .expect_stderr(&["DISKSPD_RESULTS 'mounted': it lies on /dev/loop", "a target of this run"]);
}
