//! The terminal: cells out, keys in. It is as it was before, however this ends.

use std::io::{self, Stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use lockwright_console::args::Colour;
use lockwright_console::error::{Error, Result};
use lockwright_report::live::Moment;
use lockwright_top::ratatui::Terminal;
use lockwright_top::ratatui::backend::CrosstermBackend;
use lockwright_top::ratatui::crossterm::event::{self, Event};
use lockwright_top::ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use lockwright_top::ratatui::crossterm::{cursor, execute};
use lockwright_top::{Board, Key, Wish, draw};

use super::guard::Guard;
use super::shown::Shown;
use super::source::{Source, nothing};
use crate::run::ending::Ending;
use crate::run::watch::signals::Signals;

/// Keys are looked for so often; the size of the terminal, too.
const TICK: Duration = Duration::from_millis(50);

/// What poll(2) reports about a terminal that is gone.
const GONE: i16 = libc::POLLHUP | libc::POLLERR | libc::POLLNVAL;

const SECOND: Duration = Duration::from_secs(1);

/// Lines of the program's output that the board keeps.
const MOST_LINES: usize = 2_000;

/// Shows the program until the user leaves.
pub fn run(mut source: Box<dyn Source>, mut shown: Shown, colour: Colour) -> Result<Ending> {
    let wants_colour = match colour {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    };
    let mut board = Board::new(shown.title.clone(), shown.interval, wants_colour);
    let shown = {
        let signals = Signals::take().map_err(|error| failed(&error))?;
        let mut screen = Screen::open().map_err(|error| failed(&error))?;
        screen.run(&mut *source, &mut board, &mut shown, &signals)
    };
    source.leave()?;
    shown.map(|()| Ending::Code(0))
}

fn failed(error: &io::Error) -> Error {
    Error::new(format!("cannot use the terminal: {error}"))
        .help("without a screen: `lockwright top ... | cat`, -o FILE or --json FILE")
}

/// The terminal while it is ours.
struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    /// It is not ours any more.
    is_left: Arc<AtomicBool>,
    _guard: Option<Guard>,
}

impl Screen {
    fn open() -> io::Result<Self> {
        // Not every system lets us; the terminal is given back in all cases but a SIGKILL.
        let guard = Guard::start().ok();
        enable_raw_mode()?;
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
        execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        let is_left = Arc::<AtomicBool>::default();
        end_with_terminal(Arc::clone(&is_left));
        Ok(Self { terminal, is_left, _guard: guard })
    }

    fn run(
        &mut self,
        source: &mut dyn Source,
        board: &mut Board,
        shown: &mut Shown,
        signals: &Signals,
    ) -> Result<()> {
        let mut before: Option<Moment> = None;
        let mut left = shown.count.unwrap_or(u64::MAX);
        let mut next = Instant::now();
        let mut is_over = false;
        loop {
            let is_end = signals.pending().any(|signal| signal.ending().is_some());
            if is_end || source.was_asked_to_end() {
                return Ok(());
            }
            if !is_over
                && Instant::now() >= next
                && !(board.is_paused && is_replay(before.as_ref()))
            {
                let began = Instant::now();
                is_over = source.is_over();
                match source.look() {
                    Ok(Some(mut moment)) => {
                        shown.complete(&mut moment, before.as_ref())?;
                        before = Some(moment.clone());
                        board.show(moment);
                        left -= 1;
                        if left == 0 {
                            return Ok(());
                        }
                    }
                    Ok(None) if is_over && before.is_none() => return Err(nothing()),
                    Ok(None) => {}
                    // What was seen last stays.
                    Err(error) if before.is_some() => {
                        if !source.is_over() {
                            board.message = lockwright_console::plain::line(&error.to_string());
                        }
                        is_over = true;
                    }
                    Err(error) => return Err(error),
                }
                // A look at a large ledger may take longer than the interval: a third of the time is left free.
                next = (began + board.interval).max(Instant::now() + began.elapsed() / 2);
                if is_over {
                    end(board);
                }
            }
            board.output.extend(source.output());
            let old = board.output.len().saturating_sub(MOST_LINES);
            board.output.drain(..old);
            self.terminal.draw(|frame| draw(frame, board)).map_err(|error| failed(&error))?;
            match self.key(source, next, is_over)? {
                Input::Key(key) => match board.press(key) {
                    Wish::Quit => return Ok(()),
                    Wish::Redraw => self.terminal.clear().map_err(|error| failed(&error))?,
                    Wish::Draw => {}
                },
                Input::Gone => return Ok(()),
                Input::Nothing => {}
            }
        }
    }

    /// What the user does, if that is soon.
    fn key(&mut self, source: &mut dyn Source, next: Instant, is_over: bool) -> Result<Input> {
        // Keys that came together are kept by the library.
        if !is_ready()? {
            let left = next.saturating_duration_since(Instant::now());
            match is_over {
                true => wait_for_input(TICK),
                false => source.wait(left.clamp(Duration::from_millis(1), TICK)),
            }
            if is_gone() {
                return Ok(Input::Gone);
            }
            if !is_ready()? {
                return Ok(Input::Nothing);
            }
        }
        match event::read().map_err(|error| failed(&error))? {
            Event::Key(key) => Ok(Key::of(key).map_or(Input::Nothing, Input::Key)),
            _ => Ok(Input::Nothing),
        }
    }
}

/// Ends this process if the terminal is gone and the main thread does not come to see that: it may be in the library, which
/// then reads an end of file for ever.
fn end_with_terminal(is_left: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        while !is_left.load(Relaxed) {
            let mut stdin = libc::pollfd { fd: libc::STDIN_FILENO, events: 0, revents: 0 };
            // SAFETY: one element, which the kernel reads and writes.
            unsafe { libc::poll(&raw mut stdin, 1, SECOND.as_millis() as i32) };
            if stdin.revents & GONE != 0 {
                std::thread::sleep(2 * SECOND);
                if !is_left.load(Relaxed) {
                    std::process::exit(128 + libc::SIGHUP);
                }
            }
        }
    });
}

/// A whole key is there.
fn is_ready() -> Result<bool> {
    // On a terminal that is gone the library waits for ever.
    Ok(!is_gone() && event::poll(Duration::ZERO).map_err(|error| failed(&error))?)
}

fn is_gone() -> bool {
    poll_input(Duration::ZERO) & GONE != 0
}

fn wait_for_input(patience: Duration) {
    poll_input(patience);
}

/// What poll(2) reports about the input, after `patience` at most.
fn poll_input(patience: Duration) -> i16 {
    let mut stdin = libc::pollfd { fd: libc::STDIN_FILENO, events: libc::POLLIN, revents: 0 };
    let ms = patience.as_millis().try_into().unwrap_or(i32::MAX);
    // SAFETY: one element, which the kernel reads and writes.
    let ready = unsafe { libc::poll(&raw mut stdin, 1, ms) };
    if ready == 1 { stdin.revents } else { 0 }
}

/// What comes from the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    /// Nothing, or nothing that means anything.
    Nothing,
    /// This key.
    Key(Key),
    /// The terminal is gone.
    Gone,
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Relaxed: nothing is read because of it.
        self.is_left.store(true, Relaxed);
        give_back();
        let _ = std::panic::take_hook();
    }
}

/// A recording stands still while it is paused; a program does not.
fn is_replay(moment: Option<&Moment>) -> bool {
    moment.is_some_and(|moment| !moment.runs())
}

fn end(board: &mut Board) {
    // Its ledgers may be gone by now.
    board.end();
    if board.message.is_empty() {
        board.message = "it has ended; this is what was seen last (q: leave)".to_owned();
    }
}

/// Gives the terminal back as it was.
fn give_back() {
    let _ = execute!(io::stdout(), LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
}
