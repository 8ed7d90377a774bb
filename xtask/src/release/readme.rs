//! The commands of the README, run with the installed program.

/// Sizes and times of the README, and those of the check.
const SMALLER: [(&str, &str); 4] = [("-c1G", "-c16M"), ("-c4G", "-c16M"), ("-d10", "-d1 -W0"), ("-d60", "-d1 -W0")];

/// Command lines of the program in the code blocks of a page, on smaller files and for shorter times.
pub(super) fn commands(page: &str) -> Vec<String> {
    let blocks = page.split("\n```").skip(1).step_by(2);
    let lines = blocks.flat_map(|block| block.lines().skip(1));
    let commands =
        lines.map(|line| line.strip_prefix("$ ").unwrap_or(line)).filter(|line| line.starts_with("diskspd "));
    commands.map(|line| SMALLER.iter().fold(line.to_owned(), |line, (from, to)| line.replace(from, to))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_those_in_code_blocks() {
        let page = "diskspd no\n\n```sh\ncargo build\ndiskspd -d60 -c4G a\n```\n\ndiskspd no\n\n\
                    ```text\n$ diskspd b\nout\n```\n";
        assert_eq!(commands(page), ["diskspd -d1 -W0 -c16M a", "diskspd b"]);
    }

    #[test]
    fn the_readme_has_a_check_a_run_a_sweep_and_its_page() {
        let commands = commands(include_str!("../../../README.md"));
        for part in ["diskspd check ", "--require ", "diskspd sweep ", "diskspd report ", "-L -D "] {
            assert!(commands.iter().any(|line| line.contains(part)), "{part} is not in {commands:?}");
        }
        assert!(commands.iter().all(|line| !line.contains("0G") && !line.contains("-d60")), "{commands:?}");
    }
}
