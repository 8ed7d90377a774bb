//! Shares of programs, kernel threads and interrupts in the CPU time of a measurement.

use std::fmt;

/// Shares of the time of all CPUs, in percent; together they are 100. Steal time is not part of the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuShares {
    /// This program: its own code, and the kernel on its behalf.
    pub program_percent: f64,
    /// Other programs: their own code and, where [`Self::kernel_threads_percent`] is known, the kernel on their behalf.
    pub others_percent: f64,
    /// The kernel's own threads, which may work for this program; `None` = not known apart from other kernel time.
    pub kernel_threads_percent: Option<f64>,
    /// Interrupts and softirqs, which may be for this program; `None` as above.
    pub interrupts_percent: Option<f64>,
    /// All other time that was used: of programs that ended, or, where kernel threads are not known apart, the kernel
    /// outside this program.
    pub unattributed_percent: f64,
    /// Nothing ran.
    pub idle_percent: f64,
}

/// `diskspd 7.8 %, other programs 53.2 %, kernel threads 3.1 %, interrupts 0.4 %, unattributed 0.9 %, idle 34.6 %`
impl fmt::Display for CpuShares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program_percent, others_percent, unattributed_percent, idle_percent, .. } = self;
        write!(f, "diskspd {program_percent:.1} %, other programs {others_percent:.1} %, ")?;
        match (self.kernel_threads_percent, self.interrupts_percent) {
            (Some(threads), Some(interrupts)) => {
                write!(
                    f,
                    "kernel threads {threads:.1} %, interrupts {interrupts:.1} %, unattributed {unattributed_percent:.1} %"
                )
            }
            _ => write!(f, "kernel outside diskspd {unattributed_percent:.1} %"),
        }?;
        write!(f, ", idle {idle_percent:.1} %")
    }
}
