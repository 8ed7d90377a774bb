//! Programs that this one starts.

use rustix::process::{Pid, Signal};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// Makes the kernel kill the program when the thread that starts it ends, even by SIGKILL: start it on a thread that lives
/// as long as the program is needed.
pub fn end_with_this_thread(command: &mut Command) {
    let parent = Some(rustix::process::getpid());
    let ask = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // It may have ended before the request to the kernel.
        if rustix::process::getppid() == parent { Ok(()) } else { Err(io::Error::from(rustix::io::Errno::SRCH)) }
    };
    // SAFETY: between fork and exec, the closure makes two system calls and allocates nothing.
    unsafe {
        command.pre_exec(ask);
    }
}

/// Sends SIGTERM to the process group of a program that was started as the leader of one and not waited for yet.
pub fn terminate_group(child: &Child) {
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        // It may have ended.
        let _ = rustix::process::kill_process_group(group, Signal::TERM);
    }
}

/// As [`terminate_group`], with SIGKILL.
pub fn kill_group(child: &Child) {
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read};
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;

    #[test]
    fn a_program_ends_with_the_thread_that_started_it() {
        let start = || {
            let mut command = Command::new("sleep");
            end_with_this_thread(command.arg("infinity"));
            testkit::spawned(&mut command).expect("sleep can be started")
        };
        let mut child = std::thread::spawn(start).join().expect("it starts");
        assert_eq!(child.wait().expect("our own child").signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn a_group_ends_together() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep infinity & echo started; wait"]).stdout(Stdio::piped()).process_group(0);
        let mut child = testkit::spawned(&mut command).expect("a shell");
        let mut output = BufReader::new(child.stdout.take().expect("it was asked for"));
        let mut line = String::new();
        output.read_line(&mut line).expect("a pipe");
        assert_eq!(line, "started\n");
        terminate_group(&child);
        // The pipe ends with the last process that has it: the sleep has ended, too.
        assert_eq!(output.read_to_string(&mut line).expect("a pipe"), 0);
        assert_eq!(child.wait().expect("our own child").signal(), Some(libc::SIGTERM));
        kill_group(&child);
    }
}
