//! Other processes that have a file in use.

use crate::machine::tool;
use crate::process::Running;
use crate::workplace::Workplace;
use std::path::Path;

/// A process that uses a file until it is dropped.
#[derive(Debug)]
pub struct Holder {
    process: Running,
}

impl Holder {
    /// Has the file open for reading without using it.
    pub fn open(place: &Workplace, path: &Path) -> Self {
        let script = r#"exec 3<"$1"; echo ready; exec sleep infinity"#;
        Self::ready(place.tool("sh").args("-c").arg(script).arg("sh").arg(path).start())
    }

    /// The same, with a command before the shell, like `["unshare", "-m"]`.
    pub fn open_inside(place: &Workplace, wrapper: &[&str], path: &Path) -> Self {
        let script = r#"exec 3<"$1"; echo ready; exec sleep infinity"#;
        let words = wrapper[1..].join(" ");
        let program = place.tool(wrapper[0]).args(&words).args("sh -c").arg(script).arg("sh").arg(path);
        Self::ready(program.start())
    }

    /// Has the file mapped, shared for reading and writing, and no descriptor of it.
    pub fn mapped(place: &Workplace, path: &Path) -> Result<Self, String> {
        let python = tool("python3")?;
        let script = "import mmap, os, sys, threading\n\
                      f = os.open(sys.argv[1], os.O_RDWR)\n\
                      m = mmap.mmap(f, 0)\n\
                      os.close(f)\n\
                      # The module keeps a copy of the descriptor, which is closed too.\n\
                      for n in os.listdir('/proc/self/fd'):\n\
                      \x20   if int(n) > 2:\n\
                      \x20       try: os.close(int(n))\n\
                      \x20       except OSError: pass\n\
                      print('ready', flush=True)\n\
                      threading.Event().wait()\n";
        Ok(Self::ready(place.tool(python).arg("-c").arg(script).arg(path).start()))
    }

    /// Has the file open in a thread with a separate descriptor table; its first thread has ended if `is_first_ended`.
    pub fn thread(place: &Workplace, path: &Path, is_first_ended: bool) -> Result<Self, String> {
        let python = tool("python3")?;
        let script = "import ctypes, os, sys, threading\n\
                      kernel = ctypes.CDLL(None)\n\
                      CLONE_FILES = 0x400\n\
                      exit = {'x86_64': 60, 'aarch64': 93}[os.uname().machine]\n\
                      def hold():\n\
                      \x20   if kernel.unshare(CLONE_FILES): os._exit(1)\n\
                      \x20   f = os.open(sys.argv[1], os.O_RDONLY)\n\
                      \x20   first = f'/proc/{os.getpid()}/stat'\n\
                      \x20   while sys.argv[2] == 'true' and open(first).read().split()[2] != 'Z': pass\n\
                      \x20   print('ready', flush=True)\n\
                      \x20   threading.Event().wait()\n\
                      threading.Thread(target=hold).start()\n\
                      if sys.argv[2] == 'true': kernel.syscall(exit, 0)\n\
                      threading.Event().wait()\n";
        Ok(Self::ready(place.tool(python).arg("-c").arg(script).arg(path).args(&is_first_ended.to_string()).start()))
    }

    /// Has the file registered with an `io_uring` ring, and no descriptor of it.
    pub fn registered(place: &Workplace, path: &Path) -> Result<Self, String> {
        let python = tool("python3")?;
        let script = "import ctypes, os, sys, threading\n\
                      kernel = ctypes.CDLL(None)\n\
                      SETUP, REGISTER, FILES = 425, 427, 2\n\
                      parameters = (ctypes.c_char * 120)()\n\
                      ring = kernel.syscall(SETUP, 8, parameters)\n\
                      f = os.open(sys.argv[1], os.O_RDONLY)\n\
                      files = (ctypes.c_int * 3)(-1, f, -1)\n\
                      if ring < 0 or kernel.syscall(REGISTER, ring, FILES, files, 3): sys.exit('no io_uring')\n\
                      os.close(f)\n\
                      print('ready' if len(sys.argv) < 3 else 'possible', flush=True)\n\
                      if len(sys.argv) < 3: threading.Event().wait()\n";
        let run = |path: &Path| place.tool(&python).arg("-c").arg(script).arg(path);
        if run(Path::new("/dev/null")).arg("try").run().code() != Some(0) {
            return Err("files cannot be registered with io_uring".to_owned());
        }
        Ok(Self::ready(run(path).start()))
    }

    fn ready(mut process: Running) -> Self {
        process.wait_for_stdout("ready");
        Self { process }
    }

    /// Its process ID.
    pub fn id(&self) -> u32 {
        self.process.id()
    }
}
