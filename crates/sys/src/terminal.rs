//! Properties of a terminal.

use std::os::fd::AsFd;

/// The number of columns of a terminal; `None` if it is no terminal, or does not report it.
pub fn columns(terminal: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_has_no_columns() {
        let (reader, _writer) = std::io::pipe().unwrap();
        assert_eq!(columns(reader), None);
    }
}
