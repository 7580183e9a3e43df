//! A guide in Markdown, as something to be done: its blocks of commands and files, in order.
//!
//! The word after a block's fence says what it is: `sh` is run, `sh background` is started and goes on, `sh end`
//! cleans up, `sh install` wants what a test may not have; `LANGUAGE file=PATH` is written to a file. A further word
//! that names a language leaves the block to those who write in it.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, Command};

/// The longest that one block may take: it may have to build everything.
const LONGEST: Duration = Duration::from_secs(20 * 60);

/// What a block asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Commands to run to their end.
    Run,
    /// Commands that go on while the following blocks are done.
    Background,
    /// Commands that clean up.
    End,
    /// Commands that install in the whole cluster.
    Install,
    /// A file to be written.
    File(PathBuf),
}

/// A block of a guide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What it asks for.
    pub ask: Ask,
    /// Its text.
    pub text: String,
}

/// The blocks of a guide for people who write in `language`. Blocks of other kinds are only to be read.
#[must_use]
pub fn blocks(guide: &str, language: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = guide.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            continue;
        };
        let text: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
        if let Some(ask) = ask(info, language) {
            let text = text.join("\n") + "\n";
            blocks.push(Block { ask, text });
        }
    }
    blocks
}

fn ask(info: &str, language: &str) -> Option<Ask> {
    let mut words = info.split_whitespace();
    let first = words.next()?;
    let rest: Vec<_> = words.collect();
    if let Some(path) = rest.iter().find_map(|word| word.strip_prefix("file=")) {
        return (first == language).then(|| Ask::File(path.into()));
    }
    match (first, rest.as_slice()) {
        ("sh", []) => Some(Ask::Run),
        ("sh", ["background"]) => Some(Ask::Background),
        ("sh", ["end"]) => Some(Ask::End),
        ("sh", ["install"]) => Some(Ask::Install),
        ("sh", [of]) if *of == language => Some(Ask::Run),
        _ => None,
    }
}

/// A person at a terminal: a folder, and what goes on in the background.
pub struct Reader {
    folder: PathBuf,
    home: PathBuf,
    environment: Vec<(String, String)>,
    background: Vec<Background>,
}

struct Background {
    child: Child,
    log: PathBuf,
}

impl Reader {
    /// Begins in `home`, an empty folder, with these variables beside what is there.
    #[must_use]
    pub fn new(home: &Path, environment: Vec<(String, String)>) -> Self {
        Self {
            folder: home.to_owned(),
            home: home.to_owned(),
            environment,
            background: Vec::new(),
        }
    }

    /// Does what a block asks for.
    ///
    /// # Errors
    /// When a command fails, with the block and what it printed, and what the background printed last.
    pub async fn follow(&mut self, block: &Block) -> Result<()> {
        let done = match &block.ask {
            Ask::Run | Ask::End | Ask::Install => self.run(&block.text).await,
            Ask::Background => self.start(&block.text),
            Ask::File(path) => {
                let file = self.folder.join(path);
                fs::write(&file, &block.text)
                    .with_context(|| format!("failed to write {}", file.display()))
            }
        };
        done.with_context(|| format!("in the block\n{}\n{}", block.text, self.last_words()))
    }

    /// Ends what goes on in the background, and waits until it has ended.
    pub async fn end_background(&mut self) {
        for mut background in self.background.drain(..) {
            background.terminate();
            // One that cannot be waited for has ended before.
            let _ = background.child.wait().await;
        }
    }

    async fn run(&mut self, text: &str) -> Result<()> {
        let place = self.home.join(".folder");
        let mut shell = self.shell(&format!("{text}pwd > '{}'\n", place.display()));
        let ended = tokio::time::timeout(LONGEST, shell.output()).await;
        let output = ended
            .with_context(|| format!("it took longer than {} s", LONGEST.as_secs()))?
            .context("failed to start bash")?;
        let told = String::from_utf8_lossy(&output.stdout);
        println!("{text}{told}");
        if !output.status.success() {
            bail!(
                "it ended with {}:\n{told}{}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            );
        }
        let folder = fs::read_to_string(&place).context("the shell did not say where it ended")?;
        self.folder = folder.trim().into();
        Ok(())
    }

    fn start(&mut self, text: &str) -> Result<()> {
        let log = self
            .home
            .join(format!("background-{}.log", self.background.len()));
        let output = fs::File::create(&log).context("failed to make a log")?;
        let mut shell = self.shell(text);
        shell.stdout(output.try_clone()?).stderr(output);
        let child = shell.spawn().context("failed to start bash")?;
        self.background.push(Background { child, log });
        Ok(())
    }

    /// In a process group of its own: what it starts ends with it.
    fn shell(&self, text: &str) -> Command {
        let mut shell = std::process::Command::new("bash");
        shell
            .args(["-euo", "pipefail", "-c", text])
            .current_dir(&self.folder)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .process_group(0);
        let mut shell = Command::from(shell);
        shell.kill_on_drop(true);
        shell
    }

    fn last_words(&self) -> String {
        let logs = self.background.iter();
        let told = logs.map(|background| {
            let text = fs::read_to_string(&background.log).unwrap_or_default();
            let lines: Vec<_> = text.lines().collect();
            let last = &lines[lines.len().saturating_sub(40)..];
            format!("in the background:\n{}\n", last.join("\n"))
        });
        told.collect()
    }
}

impl Background {
    fn terminate(&self) {
        let group = self.child.id().and_then(|id| i32::try_from(id).ok());
        // One that has ended by itself is gone, which is as well.
        let _ = group.map(|id| killpg(Pid::from_raw(id), Signal::SIGTERM));
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.background.iter().for_each(Background::terminate);
    }
}

#[cfg(test)]
mod tests {
    use super::{Ask, blocks};

    const GUIDE: &str = "
# Title
```sh
one
two
```
```sh python
three
```
```rust file=src/a.rs
four
```
```sh background
five
```
```text
six
```
```rust
seven
```
";

    #[test]
    fn each_language_gets_its_blocks_in_order() {
        let asks = |language| -> Vec<_> {
            let blocks = blocks(GUIDE, language).into_iter();
            blocks.map(|block| (block.ask, block.text)).collect()
        };
        let one = (Ask::Run, "one\ntwo\n".to_owned());
        let five = (Ask::Background, "five\n".to_owned());
        let three = (Ask::Run, "three\n".to_owned());
        let four = (Ask::File("src/a.rs".into()), "four\n".to_owned());
        assert_eq!(asks("rust"), [one.clone(), four, five.clone()]);
        assert_eq!(asks("python"), [one, three, five]);
    }
}
