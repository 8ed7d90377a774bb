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
    /// Has the file open for reading and does nothing with it.
    pub fn open(place: &Workplace, path: &Path) -> Self {
        let script = r#"exec 3<"$1"; echo ready; exec sleep infinity"#;
        Self::ready(place.tool("sh").args("-c").arg(script).arg("sh").arg(path).start())
    }

    /// The same, with what stands in front of the shell, like `["unshare", "-m"]`.
    pub fn open_inside(place: &Workplace, wrapper: &[&str], path: &Path) -> Self {
        let script = r#"exec 3<"$1"; echo ready; exec sleep infinity"#;
        let words = wrapper[1..].join(" ");
        let program = place.tool(wrapper[0]).args(&words).args("sh -c").arg(script).arg("sh").arg(path);
        Self::ready(program.start())
    }

    /// Has the file mapped, for reading and writing by all who map it, and no descriptor of it.
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

    fn ready(mut process: Running) -> Self {
        process.wait_for_stdout("ready");
        Self { process }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }
}
