//! The command `diskspd`: arguments in, exit status out, everything else in the other crates.

mod after_cut;
mod check;
mod compare;
mod console_observer;
mod corrupt_unit;
mod cut_cycles;
mod devices;
mod events;
mod explain;
mod feature;
mod fio_job;
#[cfg_attr(not(feature = "fleet"), path = "absent/fleet.rs")]
mod fleet;
mod foreign_file;
mod gate;
mod interrupt;
mod journal;
mod kept_results;
mod live;
mod load;
mod machine_runner;
mod meaning;
mod measure;
mod monitor;
mod output;
mod outputs;
#[cfg_attr(not(feature = "pages"), path = "absent/picture.rs")]
mod picture;
mod picture_file;
mod preset;
mod preset_series;
mod profile_file;
mod random;
mod report;
mod report_picture;
mod request_checks;
mod run_report;
mod runs_table;
mod same_file;
mod saved_results;
mod scratch;
#[cfg_attr(not(feature = "screens"), path = "absent/screens.rs")]
mod screens;
mod series_documents;
mod series_folder;
mod series_places;
mod series_runner;
mod show;
mod status;
mod subject;
mod sweep;
mod system_env;
mod target_reading;
mod text_file;
mod trace;
mod trace_of_run;
mod trace_reading;
mod verify_targets;
#[cfg_attr(not(feature = "sheets"), path = "absent/workbook.rs")]
mod workbook;

use cli::subcommand::trace::TraceCommand;
use cli::{Command, LineCommand, LoadRequest, LoadedProfile, Subcommand};
use model::sweep::SeriesKind;
use status::Status;
use std::ffi::OsString;
use std::process::ExitCode;
use sys::mapping::Mapping;
use system_env::{Invocation, SystemEnv};

/// The usual stack size of a main thread: a page of charts takes several 100 KiB.
const STACK_BYTES: usize = 8 << 20;

/// Minimum address space left: with less, small allocations fail, which ends a process with SIGABRT.
const ADDRESS_SPACE_LEFT_BYTES_MIN: u64 = 2 << 20;

fn main() -> ExitCode {
    let is_small = sys::limits::stack_bytes().is_some_and(|bytes| bytes < STACK_BYTES as u64);
    let status = match sys::limits::address_space_bytes() {
        Some(limit_bytes) if Mapping::new(ADDRESS_SPACE_LEFT_BYTES_MIN, 0).is_err() => status::fail(&format!(
            "the address space (ulimit -v) is limited to {} KiB, and less than {} KiB of it is left: raise the limit",
            limit_bytes >> 10,
            ADDRESS_SPACE_LEFT_BYTES_MIN >> 10
        )),
        _ if is_small => run_with_own_stack(),
        _ => run(),
    };
    ExitCode::from(status.code())
}

/// Runs in a thread whose stack is not subject to the limit (`ulimit -s`).
fn run_with_own_stack() -> Status {
    let started = std::thread::Builder::new().name("diskspd".to_owned()).stack_size(STACK_BYTES).spawn(run);
    match started.map(std::thread::JoinHandle::join) {
        Ok(Ok(status)) => status,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(error) => status::fail(&format!(
            "the stack (ulimit -s) is limited to {} KiB, and a thread with one of {} KiB cannot be started: {error}",
            sys::limits::stack_bytes().unwrap_or_default() >> 10,
            STACK_BYTES >> 10
        )),
    }
}

/// Runs or shows the profile of a file.
fn loaded(invocation: &Invocation, request: LoadRequest) -> Status {
    match profile_file::load(request) {
        Ok(LoadedProfile::Show(request)) => show::profile(invocation, &request),
        Ok(LoadedProfile::Run(request)) => load::run(invocation, &request),
        Err(status) => status,
    }
}

fn run() -> Status {
    sys::mapping::map_large_pieces();
    let mut words = std::env::args_os();
    let program = words.next().unwrap_or_else(|| OsString::from("diskspd"));
    let arguments: Vec<OsString> = words.collect();
    let command = match cli::parse(&arguments, &SystemEnv) {
        Ok(command) => command,
        Err(failure) => return status::refuse(&failure),
    };
    let invocation = Invocation { program, arguments };
    match command {
        Command::Help(topic) => show::help(topic.as_deref()),
        Command::Line(line) => match line {
            LineCommand::Usage => show::usage(&invocation, Status::Done),
            LineCommand::UsageWithoutArguments => show::usage(&invocation, Status::Refused),
            LineCommand::Version => show::version(),
            LineCommand::Man(subcommand) => show::text(&cli::man::page(subcommand)),
            LineCommand::Completions(shell) => show::text(&cli::completions::script(shell, &explain::names())),
            LineCommand::SystemInformation(format) => show::system(format),
            LineCommand::ShowProfile(request) => show::profile(&invocation, &request),
            LineCommand::Run(request) => load::run(&invocation, &request),
            LineCommand::SignalEvents { names, warnings } => events::set(&names, &warnings),
            LineCommand::LoadProfile(request) => loaded(&invocation, request),
        },
        Command::Subcommand(subcommand) => match subcommand {
            Subcommand::Run(command) => match cli::parse_job(&command.path, &command.words, &SystemEnv) {
                Ok(request) => loaded(&invocation, request),
                Err(failure) => status::refuse(&failure),
            },
            Subcommand::Check(request) => check::run(&request),
            Subcommand::Import(request) => fio_job::import(&request),
            Subcommand::Preset(command) => preset::run(&invocation, &command),
            Subcommand::Sweep(command) => sweep::run(&invocation, command, SeriesKind::Sweep),
            Subcommand::Repeat(command) => sweep::run(&invocation, command, SeriesKind::Repeat),
            Subcommand::Ab(command) => sweep::run(&invocation, command, SeriesKind::Ab),
            Subcommand::Interference(command) => sweep::run(&invocation, command, SeriesKind::Interference),
            Subcommand::Compare(command) => compare::run(command),
            Subcommand::Gate(command) => gate::run(&invocation, &command),
            Subcommand::History(request) => gate::history(&request),
            Subcommand::Report(command) => report::run(command),
            Subcommand::Monitor(request) => monitor::run(&request),
            Subcommand::Trace(TraceCommand::Record(request)) => trace::record::run(&request),
            Subcommand::Trace(TraceCommand::Show(request)) => trace::show::run(&request),
            Subcommand::Trace(TraceCommand::Replay(request)) => trace::replay::run(&invocation, &request),
            Subcommand::Devices(request) => devices::run(&request),
            Subcommand::Verify(request) => verify_targets::run(&request),
            Subcommand::Explain(request) => explain::run(&request),
            Subcommand::Agent(request) => fleet::agent(&request),
            Subcommand::Fleet(command) => fleet::command(&command),
        },
    }
}
