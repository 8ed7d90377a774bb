//! Who had the CPUs during a measurement.

use std::fmt;

/// Shares of the time of all CPUs, in percent; together they are 100. Steal time is not part of the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuShares {
    /// This program: its own code, and the kernel on its behalf.
    pub program_percent: f64,
    /// Other programs' own code.
    pub others_percent: f64,
    /// The kernel outside this program: for other programs, in interrupts and in its own threads, which may work for this
    /// program.
    pub kernel_percent: f64,
    /// Nothing ran.
    pub idle_percent: f64,
}

/// `diskspd 7.8 %, other programs 53.2 %, kernel outside diskspd 38.8 %, idle 0.2 %`
impl fmt::Display for CpuShares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program_percent, others_percent, kernel_percent, idle_percent } = self;
        write!(
            f,
            "diskspd {program_percent:.1} %, other programs {others_percent:.1} %, kernel outside diskspd \
             {kernel_percent:.1} %, idle {idle_percent:.1} %"
        )
    }
}
