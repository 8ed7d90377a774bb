//! Full-screen views: of a run (`--live`) and of devices (`monitor`).

mod machine_watch;
mod monitor;
mod run;

pub(crate) use monitor::MonitorPicture;
pub(crate) use run::RunPicture;

/// False if the user wants no colours (<https://no-color.org>).
fn has_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
