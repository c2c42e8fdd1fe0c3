//! The command line of a measuring program: `[FOLDER] [--name VALUE]... [--smoke]`.

use std::path::{Path, PathBuf};

/// A value that can be given.
pub struct Flag {
    pub name: &'static str,
    /// The value where none is given.
    pub default: &'static str,
    /// The same with `--smoke`, which only shows that the program runs.
    pub smoke: &'static str,
    pub what: &'static str,
}

/// What was given.
pub struct Arguments {
    /// Made by the program, and removed when it begins: a folder of its own in the one given.
    pub folder: PathBuf,
    pub is_smoke: bool,
    values: Vec<(&'static str, String)>,
}

impl Arguments {
    /// Reads the command line of the program `name`; ends the process at a mistake.
    pub fn read(name: &str, flags: &[Flag]) -> Self {
        // Cargo adds `--bench`.
        let given: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
        Self::parse(name, flags, &given).unwrap_or_else(|mistake| {
            eprintln!("{mistake}\n\n{}", usage(name, flags));
            std::process::exit(2);
        })
    }

    fn parse(name: &str, flags: &[Flag], given: &[String]) -> Result<Self, String> {
        let is_smoke = given.iter().any(|argument| argument == "--smoke");
        let default = |flag: &Flag| if is_smoke { flag.smoke } else { flag.default };
        let mut values: Vec<(&'static str, String)> =
            flags.iter().map(|flag| (flag.name, default(flag).to_owned())).collect();
        let mut parent = Path::new(env!("CARGO_TARGET_TMPDIR")).to_owned();
        let mut rest = given.iter().filter(|argument| *argument != "--smoke");
        while let Some(argument) = rest.next() {
            let Some(option) = argument.strip_prefix("--") else {
                parent = PathBuf::from(argument);
                continue;
            };
            let value = values.iter_mut().find(|(known, _)| *known == option);
            let value = value.ok_or_else(|| format!("--{option} is not known"))?;
            value.1 = rest.next().ok_or_else(|| format!("--{option} needs a value"))?.clone();
        }
        Ok(Self { folder: parent.join(format!("measure-{name}")), is_smoke, values })
    }

    pub fn text(&self, name: &str) -> &str {
        &self.values.iter().find(|(known, _)| *known == name).unwrap().1
    }

    pub fn number(&self, name: &str) -> f64 {
        self.text(name).parse().unwrap_or_else(|_| panic!("--{name} is a number"))
    }

    /// A whole number.
    pub fn count(&self, name: &str) -> u64 {
        self.number(name) as u64
    }

    /// Writes a result into the folder given as `--plots`, from the root of the repository; if it
    /// is empty, next to the folder that is measured in.
    pub fn save(&self, name: &str, text: &str) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folder = match self.text("plots") {
            "" => self.folder.with_extension("results"),
            plots => root.join(plots),
        };
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name), text).unwrap();
        eprintln!("wrote {}", folder.join(name).display());
    }

    /// Removes what the last run left.
    pub fn clear(&self) {
        if self.folder.exists() {
            std::fs::remove_dir_all(&self.folder).unwrap();
        }
    }
}

fn usage(name: &str, flags: &[Flag]) -> String {
    let mut text = format!(
        "usage: cargo bench -p repository --bench {name} -- [FOLDER] [OPTIONS]\n\
         FOLDER should be on the disk that is to be measured; it gets a folder of ours.\n"
    );
    for Flag { name, default, what, .. } in flags {
        let option = format!("--{name} {default}");
        text += &format!("  {option:<22} {what}\n");
    }
    text + "  --smoke                tiny sizes: shows that the program runs, measures nothing"
}
