//! In a build without screens there are no views: a request for one is refused earlier.

use crate::feature::Feature;
use crate::status::MonitorEnd;
use live::watch::Watch;
use model::device_interval::DeviceInterval;
use model::live::LiveInterval;
use std::collections::BTreeSet;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The view of a run, which does not exist.
pub(crate) enum RunPicture {}

impl RunPicture {
    pub(crate) fn begin(_: &str, _: u64, _: BTreeSet<String>, _: Arc<AtomicBool>) -> io::Result<Self> {
        Err(io::Error::other(Feature::Screens.refusal()))
    }

    pub(crate) fn begin_time_span(&mut self, _: u64, _: Vec<String>, _: String) {
        match *self {}
    }

    pub(crate) fn status(&mut self, _: String) {
        match *self {}
    }

    pub(crate) fn message(&mut self, _: String) {
        match *self {}
    }

    pub(crate) fn take(&mut self, _: LiveInterval) {
        match *self {}
    }

    pub(crate) fn refresh(&mut self) -> io::Result<()> {
        match *self {}
    }
}

/// The view of devices, which does not exist.
pub(crate) enum MonitorPicture {}

impl MonitorPicture {
    pub(crate) fn begin(_: &str) -> Result<Self, MonitorEnd> {
        Err(MonitorEnd::Failed(Feature::Screens.refusal()))
    }

    pub(crate) fn take(&mut self, _: &DeviceInterval, _: &Watch) -> Result<(), MonitorEnd> {
        match *self {}
    }

    pub(crate) fn wait(&mut self, _: Duration) -> Result<ControlFlow<()>, MonitorEnd> {
        match *self {}
    }
}
