//! Full-screen views: of a run (`--live`) and of devices (`monitor`).

mod machine_watch;
mod monitor;
mod run;

pub(crate) use monitor::MonitorPicture;
pub(crate) use run::RunPicture;
