//! `--expect`: rated limits of the storage beside the results of a real run, in every form of a result.

use serde_json::Value;
use testkit::workplace;

// Shows switches: --expect=<figure>=<value>[,...]
#[test]
fn ceilings_are_told_in_every_form_and_kept() {
    let place = workplace!();
    let words = "-c1M -d60 -W0 -b4K -r -w50 -L --max-ios=5000 --json r.json --xml r.xml --expect vm-iops=1,hba=12Gx4 \
                 --expect raid=5,drives=3,drive-write=450M a.dat";
    let run = place.diskspd(words).run();
    run.expect_status(0).expect_stdout(&[
        "Expectation: lowest limit is the VM's 1 IOPS, before the drives' 338 MB/s\n CEILING ",
        "\n vm-iops ",
        " 1.00 I/O per s ",
        "\n hba ",
        " 4800.00 MB/s ",
        " 900.00 MB/s ",
        " 337.50 MB/s ",
        "\n small-random-writes (estimate ",
        "  WARN    above-ceiling: ",
        " % of vm-iops\n          possible causes: burst credit",
    ]);
    let verdict = run.stdout.find("\nVerdict: ").expect("a verdict");
    assert!(verdict < run.stdout.find("\nExpectation: ").expect("an expectation"), "{}", run.stdout);
    let document: Value = place.json("r.json");
    let span = &document["time_spans"][0];
    let ceiling = &span["expectation"]["ceilings"][0];
    assert_eq!((&ceiling["name"], &ceiling["unit"]), (&"vm-iops".into(), &"ios_per_second".into()));
    assert_eq!(ceiling["reached"], span["measured"]["total"]["total"]["iops"], "what was reached is what was measured");
    let xml = String::from_utf8(place.content("r.xml")).expect("it is text");
    assert!(xml.contains("<Expectation Binding=\"vm-iops\">") && xml.contains("<Ceiling Name=\"hba\""), "{xml}");
    let again = place.diskspd("report r.json").run();
    again.expect_status(0);
    assert_eq!(again.stdout, run.stdout);
    let again = place.diskspd("report r.xml").run();
    again.expect_status(0).expect_stdout(&["Expectation: lowest limit is the VM's 1 IOPS, before"]);
}

#[test]
fn without_it_nothing_is_said_and_nonsense_is_refused() {
    let place = workplace!();
    let run = place.short_run("-c1M -b4K a.dat").run();
    run.expect_status(0);
    assert!(!run.stdout.contains("Expectation"), "{}", run.stdout);
    place
        .diskspd("-c1M -d1 --expect raid=5,drives=2,drive-iops=1 a.dat")
        .run()
        .expect_status(3)
        .expect_stderr(&["RAID 5 needs at least 3 drives, not 2"]);
}

// Shows switches: --expect=<figure>=<value>[,...]
#[test]
fn a_volume_has_the_caps_of_its_table_and_the_lower_limit_is_named() {
    let place = workplace!();
    let table = "form = \"diskspd-volumes/1\"\n[[volume]]\nname = \"tiny\"\niops = 2\nmib_per_s = 1000000\n";
    place.file("mine.toml", table.as_bytes());
    let run = place.short_run("-c1M -b4K -r --expect volumes=mine.toml,volume=tiny,vm-iops=900000000 a.dat").run();
    run.expect_status(0).expect_stdout(&[
        "Expectation: lowest limit is the volume's 2 IOPS, before the VM's 900,000,000",
        " 900000000.00 I/O per s ",
        "\n volume-iops ",
        " 2.00 I/O per s ",
        "\n volume-bytes ",
        " 1048576.00 MB/s ",
        " % of volume-iops\n          possible causes: burst credit",
    ]);
    let run = place.short_run("-c1M -b4K -r --expect volume=gp3,vm-iops=2 a.dat").run();
    run.expect_status(0).expect_stdout(&[
        "Expectation: lowest limit is the VM's 2 IOPS, before the volume's 3,000\n",
        " 3000.00 I/O per s ",
        " 131.07 MB/s ",
        " % of vm-iops\n",
    ]);
}

#[test]
fn a_volume_that_is_not_known_is_refused_before_anything_is_made() {
    let place = workplace!();
    place.file("broken.toml", b"form = \"diskspd-volumes/1\"\n[[volume]]\nname = \"a\"\n");
    for (expect, reason) in [
        ("volume=gp33", "unknown volume 'gp33' (did you mean gp3? expected: gp3, "),
        ("volumes=none.toml,volume=gp3", "volumes=none.toml: No such file or directory"),
        ("volumes=broken.toml,volume=a", "volumes=broken.toml: volume 'a': iops, mib_per_s or mb_per_s is missing"),
    ] {
        let run = place.diskspd(&format!("-c1M -d1 --expect {expect} b.dat")).run();
        run.expect_status(3).expect_stderr(&[reason]);
    }
    assert!(!place.path("b.dat").exists());
}

/// The published example: a small VM with a stripe of four volumes.
const STRIPE: &str = "--expect volume=4xp30,vm=Standard_B2ms";

#[test]
fn the_lower_limit_of_vm_and_striped_volumes_is_named_before_and_after_a_run() {
    let place = workplace!();
    let lowest = "Expectation: lowest limit is the VM's 1,920 IOPS, before the volumes' 20,000\n";
    let plan = place.diskspd(&format!("--plan -c1M -b8K -r -w30 {STRIPE} a.dat")).run();
    plan.expect_status(0).expect_stdout(&[lowest]);
    assert!(!place.path("a.dat").exists());
    // 64 KiB at 22.5 MB/s are 343 I/Os per second.
    let plan = place.diskspd(&format!("--plan -c1M -b64K -r {STRIPE} a.dat")).run();
    plan.expect_status(0).expect_stdout(&["the VM's 22.5 MB/s, before the volumes' 800\n"]);
    let run = place.short_run(&format!("-c1M -b8K -r -w30 --json r.json {STRIPE} a.dat")).run();
    run.expect_status(0).expect_stdout(&[lowest, " 20000.00 I/O per s ", " 800.00 MB/s "]);
    let document: Value = place.json("r.json");
    let ceilings = &document["time_spans"][0]["expectation"]["ceilings"];
    assert_eq!((&ceilings[0]["parts"], &ceilings[2]["parts"]), (&1.into(), &4.into()), "{ceilings}");
}

// 3 drives of 300 reads or 100 writes per second at RAID 5, where a write costs 4: half of each are busy for
// (0.5 / 300 + 0.5 x 4 / 100) s per I/O.
#[test]
fn reads_and_writes_of_a_drive_may_differ() {
    let place = workplace!();
    let drives = "--expect raid=5,drives=3,drive-read-iops=300,drive-write-iops=100";
    let plan = place.diskspd(&format!("--plan -c1M -b8K -r -w50 {drives} a.dat")).run();
    plan.expect_status(0).expect_stdout(&["Expectation: lowest limit is the drives' 138 IOPS\n"]);
    let reads = place.diskspd(&format!("--plan -c1M -b8K -r {drives} a.dat")).run();
    reads.expect_status(0).expect_stdout(&["the drives' 900 IOPS\n"]);
}
