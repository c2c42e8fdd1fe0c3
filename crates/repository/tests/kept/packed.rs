//! A folder as one text: a line per file, then its bytes in lines of hexadecimal digits, where
//! `*N` stands for N zero bytes. Most of a segment is zeros.

use std::fmt::Write;
use std::path::{Path, PathBuf};

const LINE_BYTES: usize = 48;

/// Shorter runs of zeros are written out.
const ZEROS_MIN: usize = 16;

pub fn pack(folder: &Path) -> String {
    let mut files = Vec::new();
    collect(folder, Path::new(""), &mut files);
    files.sort();
    let mut out = String::new();
    for file in files {
        let bytes = std::fs::read(folder.join(&file)).unwrap();
        writeln!(out, "file {}", file.display()).unwrap();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let zeros = rest.iter().take_while(|byte| **byte == 0).count();
            if zeros >= ZEROS_MIN {
                writeln!(out, "*{zeros}").unwrap();
                rest = &rest[zeros..];
                continue;
            }
            let run = rest.windows(ZEROS_MIN).position(|run| run.iter().all(|byte| *byte == 0));
            let length = run.unwrap_or(rest.len()).min(LINE_BYTES);
            let line: String = rest[..length].iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(out, "{line}").unwrap();
            rest = &rest[length..];
        }
    }
    out
}

fn collect(folder: &Path, below: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder.join(below)).unwrap() {
        let entry = entry.unwrap();
        let path = below.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => collect(folder, &path, files),
            false => files.push(path),
        }
    }
}

pub fn unpack(packed: &str, folder: &Path) {
    let mut file: Option<(PathBuf, Vec<u8>)> = None;
    for line in packed.lines() {
        if let Some(name) = line.strip_prefix("file ") {
            write(file.replace((folder.join(name), Vec::new())));
            continue;
        }
        let (_, bytes) = file.as_mut().unwrap();
        match line.strip_prefix('*') {
            Some(zeros) => bytes.resize(bytes.len() + zeros.parse::<usize>().unwrap(), 0),
            None => bytes.extend(
                (0..line.len() / 2).map(|i| u8::from_str_radix(&line[2 * i..][..2], 16).unwrap()),
            ),
        }
    }
    write(file);
}

fn write(file: Option<(PathBuf, Vec<u8>)>) {
    let Some((path, bytes)) = file else { return };
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}
