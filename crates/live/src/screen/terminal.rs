//! Full-screen use of a terminal: taken over when a view begins, and restored however the view ends.
//!
//! It is restored when the [`Screen`] is dropped and, before its message is printed, at a panic of any thread. Signals
//! set flags elsewhere; the drawing thread checks them and drops the screen.

use ratatui::Frame;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{self, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use sys::readiness::{Readiness, readable};

/// A whole screen of wide cells with attributes goes to the terminal in one write.
const FRAME_BYTES: usize = 64 << 10;

/// The stream that is the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error: stdout may be a file.
    Stderr,
}

impl Stream {
    /// True if a user may be looking at it.
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Stdout => io::stdout().is_terminal(),
            Self::Stderr => io::stderr().is_terminal(),
        }
    }

    fn writer(self) -> Box<dyn Write + Send> {
        match self {
            Self::Stdout => Box::new(io::stdout()),
            Self::Stderr => Box::new(io::stderr()),
        }
    }
}

/// An input event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A key was pressed.
    Key(Key),
    /// The terminal is gone.
    Gone,
}

/// A key, as far as views distinguish keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Character(char),
    /// Return.
    Enter,
    /// Escape.
    Escape,
    /// The key that deletes the character before.
    Backspace,
    /// Tabulator.
    Tab,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow to the left.
    Left,
    /// Arrow to the right.
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// Ctrl+C, which is a key and no signal in raw mode.
    Interrupt,
}

impl Key {
    /// True if it quits the view, on every screen; where text is typed, letters are text.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Interrupt | Self::Character('q' | 'Q'))
    }

    fn from_event(event: &event::Event) -> Option<Self> {
        let event::Event::Key(key) = event else { return None };
        if key.kind == KeyEventKind::Release {
            return None;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return (key.code == KeyCode::Char('c')).then_some(Self::Interrupt);
        }
        Some(match key.code {
            KeyCode::Char(character) => Self::Character(character),
            KeyCode::Enter => Self::Enter,
            KeyCode::Esc => Self::Escape,
            KeyCode::Backspace => Self::Backspace,
            KeyCode::Tab => Self::Tab,
            KeyCode::Up => Self::Up,
            KeyCode::Down => Self::Down,
            KeyCode::Left => Self::Left,
            KeyCode::Right => Self::Right,
            KeyCode::PageUp => Self::PageUp,
            KeyCode::PageDown => Self::PageDown,
            KeyCode::Home => Self::Home,
            KeyCode::End => Self::End,
            _ => return None,
        })
    }
}

/// Source of keys: standard input, or the terminal where that is something else.
struct Keyboard(File);

impl Keyboard {
    fn find() -> io::Result<Self> {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            Ok(Self(File::from(stdin.as_fd().try_clone_to_owned()?)))
        } else {
            File::open("/dev/tty").map(Self)
        }
    }

    fn wait(&self, timeout: Duration) -> io::Result<Readiness> {
        readable(&self.0, timeout)
    }

    /// Keys that crossterm left unread: when a key and a new size of the terminal arrive together, it returns the size
    /// and does not read the key before the next one.
    fn left_behind(&self) -> io::Result<Vec<Key>> {
        let mut bytes = [0; 64];
        if self.wait(Duration::ZERO)? != Readiness::Readable {
            return Ok(Vec::new());
        }
        let count = (&self.0).read(&mut bytes)?;
        Ok(plain_keys(&bytes[..count]))
    }
}

/// The keys that every terminal encodes alike. Others are lost: it happens seldom, and users press again.
fn plain_keys(bytes: &[u8]) -> Vec<Key> {
    match bytes {
        b"\x1b" => vec![Key::Escape],
        b"\x1b[A" | b"\x1bOA" => vec![Key::Up],
        b"\x1b[B" | b"\x1bOB" => vec![Key::Down],
        b"\x1b[C" | b"\x1bOC" => vec![Key::Right],
        b"\x1b[D" | b"\x1bOD" => vec![Key::Left],
        [0x1b, ..] => Vec::new(),
        plain => plain.iter().filter_map(|byte| plain_key(*byte)).collect(),
    }
}

fn plain_key(byte: u8) -> Option<Key> {
    Some(match byte {
        0x03 => Key::Interrupt,
        b'\t' => Key::Tab,
        b'\r' => Key::Enter,
        0x7f | 0x08 => Key::Backspace,
        b' '..=b'~' => Key::Character(char::from(byte)),
        _ => return None,
    })
}

/// Output to the terminal while the screen is active. Afterwards it is discarded: ratatui restores the cursor once
/// more, and panics if that fails and stderr is gone with the terminal.
struct Output {
    stream: Stream,
    writer: Box<dyn Write + Send>,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if flag(self.stream).load(Ordering::SeqCst) { self.writer.write(bytes) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if flag(self.stream).load(Ordering::SeqCst) { self.writer.flush() } else { Ok(()) }
    }
}

/// The active full screen. There can be one at a time.
pub struct Screen {
    terminal: ratatui::Terminal<CrosstermBackend<BufWriter<Output>>>,
    keyboard: Keyboard,
    /// Keys that were read but not yet returned.
    typed: VecDeque<Key>,
}

/// True while a screen must be restored, by stream.
static ON_STDOUT: AtomicBool = AtomicBool::new(false);
static ON_STDERR: AtomicBool = AtomicBool::new(false);

impl Screen {
    /// Takes over the terminal; its content is restored at the end.
    ///
    /// # Errors
    ///
    /// If the stream is no terminal, or the terminal's settings cannot be changed.
    pub fn enter(stream: Stream) -> io::Result<Self> {
        if !stream.is_terminal() {
            return Err(io::Error::other("not a terminal"));
        }
        give_back_at_panics();
        let keyboard = Keyboard::find()?;
        flag(stream).store(true, Ordering::SeqCst);
        let begun = enable_raw_mode().and_then(|()| execute!(stream.writer(), EnterAlternateScreen, Hide));
        let backend =
            CrosstermBackend::new(BufWriter::with_capacity(FRAME_BYTES, Output { stream, writer: stream.writer() }));
        match begun.and_then(|()| ratatui::Terminal::new(backend)) {
            Ok(terminal) => Ok(Self { terminal, keyboard, typed: VecDeque::new() }),
            Err(error) => {
                give_back();
                Err(error)
            }
        }
    }

    /// Draws one frame, in the current size of the terminal; unchanged cells are not sent again.
    ///
    /// # Errors
    ///
    /// If writing to the terminal fails.
    pub fn draw(&mut self, picture: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(picture).map(|_| ())
    }

    /// True if the size of the terminal differs from that of the last frame.
    pub fn was_resized(&mut self) -> bool {
        let drawn = self.terminal.get_frame().area().as_size();
        self.terminal.size().is_ok_and(|size| size != drawn)
    }

    /// Waits for a key, at most `timeout`. A signal ends the wait early, that of a new size too: draw again and check
    /// the flags whenever it returns.
    ///
    /// # Errors
    ///
    /// If the terminal cannot be read.
    pub fn event(&mut self, timeout: Duration) -> io::Result<Option<Event>> {
        if let Some(key) = self.typed.pop_front() {
            return Ok(Some(Event::Key(key)));
        }
        // Waited for here and not by crossterm, which retries reading a terminal that is gone for ever.
        match self.keyboard.wait(timeout)? {
            Readiness::Nothing => return Ok(None),
            Readiness::HungUp => return Ok(Some(Event::Gone)),
            Readiness::Readable => {}
        }
        while event::poll(Duration::ZERO)? {
            self.typed.extend(Key::from_event(&event::read()?));
        }
        if self.typed.is_empty() {
            self.typed.extend(self.keyboard.left_behind()?);
        }
        Ok(self.typed.pop_front().map(Event::Key))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn flag(stream: Stream) -> &'static AtomicBool {
    match stream {
        Stream::Stdout => &ON_STDOUT,
        Stream::Stderr => &ON_STDERR,
    }
}

/// Restores the terminal, once. A failure cannot be reported.
fn give_back() {
    for stream in [Stream::Stdout, Stream::Stderr] {
        if flag(stream).swap(false, Ordering::SeqCst) {
            let _ = execute!(stream.writer(), LeaveAlternateScreen, Show);
            let _ = disable_raw_mode();
        }
    }
}

/// The message of a panic would go to the screen that is about to vanish.
fn give_back_at_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            give_back();
            print(panic);
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::crossterm::event::KeyEvent;

    #[test]
    fn keys_are_told_apart() {
        let key = |code, modifiers| Key::from_event(&event::Event::Key(KeyEvent::new(code, modifiers)));
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Key::Interrupt));
        assert_eq!(key(KeyCode::Char('z'), KeyModifiers::CONTROL), None);
        assert_eq!(key(KeyCode::Char('?'), KeyModifiers::SHIFT), Some(Key::Character('?')));
        assert_eq!(key(KeyCode::F(1), KeyModifiers::NONE), None);
        assert_eq!(Key::from_event(&event::Event::FocusGained), None);
        let released = KeyEvent::new_with_kind(KeyCode::Enter, KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(Key::from_event(&event::Event::Key(released)), None);
    }

    #[test]
    fn keys_that_were_left_behind_are_read_plainly() {
        assert_eq!(plain_keys(b"q\x03"), [Key::Character('q'), Key::Interrupt]);
        assert_eq!((plain_keys(b"\x1b[B"), plain_keys(b"\x1b")), (vec![Key::Down], vec![Key::Escape]));
        assert_eq!(plain_keys(b"\x1b[15~"), []);
    }

    #[test]
    fn what_is_no_terminal_is_not_taken_over() {
        if !Stream::Stdout.is_terminal() {
            assert!(Screen::enter(Stream::Stdout).is_err());
        }
    }
}
