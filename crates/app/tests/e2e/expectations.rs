//! `--expect`: what was said about the storage beside what a real run reached, in every form of a result.

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
        "Expectation: the limit with the least headroom is vm-iops\n CEILING ",
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
    again.expect_status(0).expect_stdout(&["Expectation: the limit with the least headroom is vm-iops"]);
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
        "Expectation: the limit with the least headroom is volume-iops\n",
        " 900000000.00 I/O per s ",
        "\n volume-iops ",
        " 2.00 I/O per s ",
        "\n volume-bytes ",
        " 1048576.00 MB/s ",
        " % of volume-iops\n          possible causes: burst credit",
    ]);
    let run = place.short_run("-c1M -b4K -r --expect volume=gp3,vm-iops=2 a.dat").run();
    run.expect_status(0).expect_stdout(&[
        "Expectation: the limit with the least headroom is vm-iops\n",
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
