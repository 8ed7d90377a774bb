//! `Linux`: settings that `DiskSpd` does not have, in a timespan or a target. There is none yet.

use super::element::Element;
use super::target::Draft;
use model::profile::TimeSpan;

pub(super) const IN_TIME_SPAN: &[Element<TimeSpan>] = &[];

pub(super) const IN_TARGET: &[Element<Draft>] = &[];
