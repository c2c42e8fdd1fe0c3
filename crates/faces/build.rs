//! Renders the pages of `docs/errors` to HTML, for the binary to serve. What a page says is in the
//! page; a test compares the pages with the kinds of problems.

use pulldown_cmark::{Event, LinkType, Parser, Tag, html};
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

/// The list of all pages; served as `/errors`.
const LIST: &str = "README.md";

const STYLE: &str = "body{font:1rem/1.6 system-ui,sans-serif;max-width:42rem;margin:2rem auto;\
    padding:0 1rem;color:#222;background:#fff}\
    code,pre{font-family:ui-monospace,monospace;font-size:.9em}\
    pre{background:#f4f4f4;padding:.8rem;overflow:auto}\
    @media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}\
    pre{background:#222}a{color:#8bf}}";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../docs/errors");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<_> = fs::read_dir(&folder)?.collect::<Result<Vec<_>, _>>()?;
    files.sort_by_key(fs::DirEntry::file_name);
    let mut table = String::from("/// Every page.\nconst PAGES: &[Page] = &[\n");
    for file in files {
        let name = file.file_name().to_string_lossy().into_owned();
        let Some(stem) = name.strip_suffix(".md") else { continue };
        let markdown = fs::read_to_string(file.path())?;
        let name = if name == LIST { "" } else { stem };
        let html = page(&markdown);
        writeln!(table, "Page {{ name: {name:?}, html: {html:?}, markdown: {markdown:?} }},")?;
    }
    table.push_str("];\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("problem_pages.rs"), table)?;
    Ok(())
}

fn page(markdown: &str) -> String {
    let title = markdown.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default();
    let mut body = String::new();
    html::push_html(&mut body, Parser::new(markdown).map(absolute));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title} | Sarsen</title>\n\
         <style>{STYLE}</style>\n<main>\n{body}</main>\n</html>\n"
    )
}

/// A link from one page to another works on disk, where pages end with `.md`, and here, whether
/// the list was asked for with a slash at its end or without.
fn absolute(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Start(Tag::Link { link_type: LinkType::Inline, dest_url, title, id })
            if !dest_url.contains('/') =>
        {
            let name = dest_url.trim_end_matches(".md").trim_end_matches("README");
            let dest_url = format!("/errors/{name}").into();
            Event::Start(Tag::Link { link_type: LinkType::Inline, dest_url, title, id })
        }
        other => other,
    }
}
