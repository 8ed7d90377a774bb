//! A page and its blocks of code.

use std::path::{Path, PathBuf};

/// The root directory of the project.
pub(crate) fn root() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).to_owned()
}

/// Markdown, line by line.
pub(crate) struct Page {
    pub(crate) path: PathBuf,
    pub(crate) lines: Vec<String>,
}

impl Page {
    /// A page by its path below the project's root.
    pub(crate) fn read(path: &str) -> Self {
        let path = root().join(path);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { path, lines: text.lines().map(str::to_owned).collect() }
    }

    /// Its blocks of this language.
    pub(crate) fn blocks(&self, language: &str) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut open: Option<Block> = None;
        for (index, line) in self.lines.iter().enumerate() {
            match (line.strip_prefix("```"), &mut open) {
                (Some(found), None) => open = Some(Block { language: found.to_owned(), first: index + 1, count: 0 }),
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (None, Some(block)) => block.count += 1,
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a block has no end", self.path.display());
        blocks.retain(|block| block.language == language);
        blocks
    }

    /// Position of a line, for messages.
    pub(crate) fn place(&self, index: usize) -> String {
        format!("{}:{}", self.path.file_name().unwrap_or_default().display(), index + 1)
    }

    /// Beginnings of varying lines, from a comment just before the block: `<!-- varies: a; b -->`.
    fn varying(&self, block: &Block) -> Vec<String> {
        let before = self.lines[..block.first - 1].last();
        let named = before.and_then(|line| line.strip_prefix("<!-- varies: ")?.strip_suffix(" -->"));
        named.map(|starts| starts.split("; ").map(str::to_owned).collect()).unwrap_or_default()
    }

    /// The commands of a block of `console`: lines that begin with `$ `, each with the output below it. A line that
    /// ends with a backslash is continued.
    pub(crate) fn steps(&self, block: &Block) -> Vec<Step> {
        let mut steps = Vec::<Step>::new();
        let mut goes_on = false;
        let varying = self.varying(block);
        for index in block.first..block.first + block.count {
            let line = &self.lines[index];
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => {
                    let (command, varying) = (command.to_owned(), varying.clone());
                    steps.push(Step { index, command, output: index + 1, expected: Vec::new(), varying });
                    goes_on = line.ends_with('\\');
                }
                (None, Some(step)) if goes_on => {
                    step.command.push('\n');
                    step.command.push_str(line);
                    step.output = index + 1;
                    goes_on = line.ends_with('\\');
                }
                (None, Some(step)) => step.expected.push(line.clone()),
                (None, None) => panic!("{}: output without a command", self.place(index)),
            }
        }
        steps
    }
}

/// The lines between two fences.
pub(crate) struct Block {
    language: String,
    /// Index of its first line.
    pub(crate) first: usize,
    /// Number of its lines.
    pub(crate) count: usize,
}

/// A command and its output.
pub(crate) struct Step {
    /// Index of the command's line.
    pub(crate) index: usize,
    pub(crate) command: String,
    /// Index of the first line of its output.
    pub(crate) output: usize,
    pub(crate) expected: Vec<String>,
    /// Beginnings of lines that may vary.
    pub(crate) varying: Vec<String>,
}
