//! Figures of fio are taken unchanged, compared with the documents as plain JSON.

use crate::{DOCUMENTS, document, measured, notes, read_text, result};
use import::json::read;
use model::ending::Ending;
use model::engine_kind::EngineKind;
use model::figures::{Figures, LatencyDistribution};
use model::note::Note;
use model::operation::Operation;
use model::profile::{CacheMode, FlushCall};
use model::result::LoadLoop;
use model::units::{Bytes, UnixTime};
use serde_json::Value;

/// The last document of a file of 3.x.
fn json(name: &str) -> Value {
    let text = document(name);
    let start = text.rfind("{\n  \"fio version\"").expect("it begins");
    serde_json::from_str(text[start..].trim()).expect("JSON")
}

fn same(figures: &Figures, latency: Option<&LatencyDistribution>, direction: &Value) {
    assert_eq!(figures.bytes, direction["io_bytes"].as_u64().expect("bytes"));
    assert_eq!(figures.ios, direction["total_ios"].as_u64().expect("I/Os"));
    let close = |a: f64, b: &Value| assert!((a - b.as_f64().expect("a number")).abs() < 1e-6, "{a} {b}");
    close(figures.bytes_per_s, &direction["bw_bytes"]);
    close(figures.iops, &direction["iops"]);
    let Some(latency) = latency else {
        assert_eq!(figures.ios, 0);
        return;
    };
    let told = &direction["clat_ns"];
    assert_eq!(latency.count, told["N"].as_u64().expect("samples"));
    close(latency.figures.mean_ns, &told["mean"]);
    close(latency.figures.std_dev_ns, &told["stddev"]);
    assert_eq!((latency.figures.min_ns, latency.figures.max_ns), (told["min"].as_u64(), told["max"].as_u64()));
    for (rank, value) in told["percentile"].as_object().expect("percentiles") {
        let rank_ppb = (rank.parse::<f64>().expect("a rank") * 1e7).round() as u64;
        assert_eq!(latency.at(rank_ppb), value.as_u64(), "{rank}");
    }
    let bins: u64 = latency.buckets.iter().map(|(_, count)| count).sum();
    assert!(bins == if told["bins"].is_null() { 0 } else { latency.count });
}

#[test]
fn every_figure_of_a_job_is_that_of_fio() {
    for name in ["mix", "four", "plus", "fsync", "status", "jobs"] {
        let (result, document) = (result(name), json(name));
        let streams = result.time_spans.iter().flat_map(|span| &span.measured.as_ref().expect("measured").streams);
        let streams: Vec<_> = streams.collect();
        let jobs = document["jobs"].as_array().expect("jobs");
        assert_eq!(streams.len(), jobs.len(), "{name}");
        for (stream, job) in streams.into_iter().zip(jobs) {
            same(&stream.figures.read, stream.latency.read.as_ref(), &job["read"]);
            same(&stream.figures.write, stream.latency.write.as_ref(), &job["write"]);
        }
    }
}

#[test]
fn options_become_the_profile_and_the_rest_is_named() {
    let plus = result("plus");
    let target = &plus.profile.time_spans[0].targets[0];
    assert_eq!((target.path.to_str(), target.block_size, target.random_percent), (Some("t"), Bytes(4096), 100));
    assert_eq!((target.outstanding, target.threads, target.cache_mode), (8, 4, CacheMode::Unbuffered));
    assert_eq!(plus.time_spans[0].engines, [EngineKind::LinuxAio]);
    assert_eq!(measured(&plus).load_loop, Some(LoadLoop::Closed { depth: 32 }));
    assert!(notes(&plus).contains("options of fio that are not taken over: io_size"), "{}", notes(&plus));
    let tool = plus.tool.implementation.as_ref().expect("a program");
    assert_eq!((tool.name.as_str(), tool.version.as_str(), plus.tool.is_ours()), ("fio", "3.33", false));
    assert_eq!(plus.started_at, UnixTime(1_795_922_258_506 * 1_000_000), "one second before the document");
}

/// Four clones of a job are one target with four threads, and a stream each.
#[test]
fn clones_are_threads_of_one_target() {
    let four = result("four");
    assert_eq!(four.profile.time_spans[0].targets.len(), 1);
    assert_eq!((four.profile.time_spans[0].targets[0].threads, measured(&four).thread_count), (4, 4));
    let names: Vec<&str> = measured(&four).streams.iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(names, ["four", "four-2", "four-3", "four-4"]);
    let jobs = json("four");
    let bytes: u64 =
        jobs["jobs"].as_array().expect("jobs").iter().filter_map(|job| job["write"]["io_bytes"].as_u64()).sum();
    assert_eq!(measured(&four).total.write.bytes, bytes);
    let latency = measured(&four).total_latency.as_ref().and_then(|latency| latency.write.as_ref()).expect("latencies");
    assert!(latency.percentiles.is_empty(), "percentiles of several jobs do not follow from those of each");
    assert!(notes(&four).contains("need the bins of --output-format=json+"), "{}", notes(&four));
}

#[test]
fn jobs_after_a_stonewall_are_a_timespan_of_their_own() {
    let jobs = result("jobs");
    let names = |index: usize| {
        let streams = &jobs.time_spans[index].measured.as_ref().expect("measured").streams;
        streams.iter().map(|stream| stream.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(
        (names(0), names(1)),
        (vec!["oltp".to_owned(), "log_writer".to_owned()], vec!["log_writer-2".to_owned()])
    );
    assert_eq!(jobs.profile.time_spans.len(), 2);
    let totals = jobs.totals.expect("sums over timespans");
    assert_eq!(
        totals.elapsed_ns,
        jobs.time_spans.iter().filter_map(|span| span.measured.as_ref()).map(|m| m.elapsed_ns).sum::<u64>()
    );
}

/// For `new_group` without `stonewall`, versions from 3.36 on print that the jobs started at the same time.
#[test]
fn groups_that_ran_at_the_same_time_are_one_timespan() {
    let beside = document("jobs").replace("\"groupid\"", "\"job_start\" : 1795922263000,\n      \"groupid\"");
    let beside = read_text(&beside);
    assert_eq!((beside.time_spans.len(), measured(&beside).streams.len()), (1, 3));
    assert_eq!(beside.started_at, UnixTime(1_795_922_263_000 * 1_000_000));
}

#[test]
fn flushes_and_trims_are_figures_of_their_own() {
    let fsync = result("fsync");
    let flushes = measured(&fsync).flushes.expect("flushes");
    assert_eq!((flushes.call, flushes.after_writes, flushes.count), (FlushCall::Fsync, 1, 255));
    assert_eq!((flushes.p50_ns, flushes.p99_ns), (Some(101_888), Some(166_912)));
    let trim = result("trim");
    let discards = &measured(&trim).operations[0];
    let told = &json("trim")["jobs"][0]["trim"];
    assert_eq!(discards.operation, Operation::Discard);
    same(&discards.figures, discards.latency.as_ref(), told);
    assert_eq!(measured(&trim).total.total.ios, 0);
}

/// Microseconds, KiB under the name of bytes, `nan`, no options, messages before and after.
#[test]
fn the_form_of_2_2_is_read() {
    let old = result("2.2.10");
    let read = &measured(&old).total.read;
    assert_eq!((read.bytes, read.ios), (4096 * 1024, 1024));
    assert!((read.bytes_per_s - 2048.0 * 1024.0).abs() < 1.0 && (read.iops - 512.0).abs() < 1e-9);
    let latency = measured(&old).total_latency.as_ref().and_then(|latency| latency.read.as_ref()).expect("latencies");
    assert_eq!((latency.figures.min_ns, latency.figures.max_ns), (Some(100_000), Some(9_000_000)));
    assert_eq!(
        (latency.at(500_000_000), latency.at(990_000_000), latency.percentiles.len()),
        (Some(240_000), Some(700_000), 3)
    );
    assert!((latency.figures.mean_ns - 250_500.0).abs() < 1e-6);
    assert!(measured(&old).load_loop.is_none(), "the depth is unknown");
    let known = old.time_spans[0].notes.iter().find_map(|note| match note {
        Note::LoadInPart { known, .. } => Some(known.clone()),
        _ => None,
    });
    assert_eq!(known, Some(Vec::new()));
}

#[test]
fn of_several_documents_the_last_whole_one_is_read() {
    let status = result("status");
    let last = json("status");
    assert_eq!(measured(&status).total.read.ios, last["jobs"][0]["read"]["total_ios"].as_u64().expect("I/Os"));
    assert!(notes(&status).contains("documents of fio: this is the last"), "{}", notes(&status));
    let (mix, plus) = (document("mix"), document("plus"));
    let cut =
        format!("note: both iodepth >= 1 and synchronous I/O engine are selected\n{mix}\n{}", &plus[..plus.len() / 2]);
    let cut = read_text(&cut);
    assert_eq!(cut.time_spans[0].measured, result("mix").time_spans[0].measured);
    assert!(notes(&cut).contains("is cut off"), "{}", notes(&cut));
}

#[test]
fn what_fio_does_not_tell_is_unknown() {
    for (name, _) in DOCUMENTS {
        let result = result(name);
        let measured = measured(&result);
        assert!(!measured.has_cpu_usage() && !result.time_spans[0].metrics.contains_key("cpu"), "{name}");
        let mut text = Vec::new();
        render::text(&result, render::Detail::Full, &mut text).expect("a vector takes everything");
        let text = String::from_utf8(text).expect("text");
        assert!(!text.contains("Usage |") && !text.contains("(0B)"), "{text}");
    }
}

#[test]
fn an_error_of_a_job_fails_the_timespan() {
    let failed = document("mix").replacen("\"error\" : 0", "\"error\" : 5", 1);
    let failed = read_text(&failed);
    assert_eq!(failed.time_spans[0].outcome, Ending::Failed);
    assert_eq!(failed.time_spans[0].errors, ["job 'mix' ended with error 5: Input/output error (os error 5)"]);
}

/// `unified_rw_reporting=1`
#[test]
fn a_mixed_figure_is_the_total() {
    let mixed =
        document("mix").replacen("\"read\" : {", "\"mixed\" : {", 1).replacen("\"write\" : {", "\"write_\" : {", 1);
    let mixed = read_text(&mixed);
    let told = &json("mix")["jobs"][0]["read"];
    let latency = measured(&mixed).total_latency.as_ref().and_then(|latency| latency.total.as_ref());
    same(&measured(&mixed).total.total, latency, told);
    assert!(notes(&mixed).contains("unified_rw_reporting"), "{}", notes(&mixed));
}

/// `fio --client`: the sum of all hosts is not a host.
#[test]
fn hosts_are_streams_and_their_sum_is_left_out() {
    let mut document = json("mix");
    let job = document["jobs"][0].clone();
    let entries = ["one", "two", "All clients"].map(|host| {
        let mut entry = job.clone();
        if host == "All clients" {
            entry["jobname"] = host.into();
        } else {
            entry["hostname"] = host.into();
        }
        entry
    });
    let fields = document.as_object_mut().expect("an object");
    fields.remove("jobs");
    fields.insert("client_stats".to_owned(), entries.to_vec().into());
    let result = read_text(&document.to_string());
    let names: Vec<&str> = measured(&result).streams.iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(names, ["one-mix", "two-mix"]);
    assert_eq!(measured(&result).total.read.ios, 2 * job["read"]["total_ios"].as_u64().expect("I/Os"));
}

/// From 3.39 on, for several hosts: each has its own options, with its name and port.
#[test]
fn options_of_each_host_are_its_own() {
    let mut document = json("mix");
    let hosts = serde_json::json!([
        { "hostname": "one", "port": 8765, "iodepth": "3" },
        { "hostname": "two", "port": 8766, "iodepth": "5" },
    ]);
    let fields = document.as_object_mut().expect("an object");
    fields.insert("global options".to_owned(), hosts);
    let mut jobs = fields.remove("jobs").expect("jobs");
    let mut second = jobs[0].clone();
    for (job, host) in [(&mut jobs[0], "one"), (&mut second, "two")] {
        job["hostname"] = host.into();
        job["job options"].as_object_mut().expect("options").remove("iodepth");
        job["job options"]["ioengine"] = "libaio".into();
    }
    jobs.as_array_mut().expect("jobs").push(second);
    fields.insert("client_stats".to_owned(), jobs);
    let result = read_text(&document.to_string());
    let depths: Vec<u32> = result.profile.time_spans[0].targets.iter().map(|target| target.outstanding).collect();
    assert_eq!(depths, [3, 5]);
    assert!(!notes(&result).contains("port"), "{}", notes(&result));
}

#[test]
fn what_is_read_survives_json_and_xml() {
    for (name, _) in DOCUMENTS {
        let result = result(name);
        let mut json = Vec::new();
        render::json::write(&result, |_| None, &mut json).expect("a vector takes everything");
        assert_eq!(read(&json).expect("we wrote it"), result, "{name}");
        let profile = cli::write_profile(&result.profile, model::profile::ResultFormat::Xml);
        let mut xml = Vec::new();
        render::xml(&result, &profile, &mut xml).expect("a vector takes everything");
        let again = import::read(&xml).expect("we wrote it");
        assert_eq!(again.tool.implementation, result.tool.implementation, "{name}");
        let (again, measured) = (again.time_spans[0].measured.as_ref().expect("measured"), measured(&result));
        assert_eq!(
            (again.total.read.ios, again.total.write.bytes),
            (measured.total.read.ios, measured.total.write.bytes)
        );
        assert!(!again.has_cpu_usage(), "{name}");
    }
}
