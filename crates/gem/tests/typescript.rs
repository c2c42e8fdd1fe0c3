//! Applications in TypeScript: they load, they run, and every error is where it was written.

use crate::support::{Setup, folder, load, load_error, start};

const APP: &str = r#"import { App, html } from "sarsen";
import { label, type Note } from "./lib/notes.js";
import type { Unused } from "./nowhere.ts";

interface Params { id: string }
type Handler<T> = (context: any) => T;

const app: App = new App();
const show: Handler<unknown> = ({ db, params }: { db: any; params: Params }) => {
  const note = db.notes.get(params.id) as Note | undefined;
  return html`<h1>${label(note!)}</h1>`;
};
app.get("/notes/:id", show);
app.get("/throws", (): never => { const a: any = undefined;   a.b(); throw 1 as unknown; });
export default app satisfies App;
"#;

const NOTES: &str = r#"export interface Note { title: string; stars?: number }
export function label(note: Note): string;
export function label(note: Note, prefix: string): string;
export function label(note: Note, prefix: string = "*"): string {
  return prefix + note.title;
}
"#;

#[test]
fn an_application_in_typescript_runs() {
    let site = start(folder(&[("app.ts", APP), ("lib/notes.ts", NOTES)]), Setup::default());
    site.store_json("notes", "a", "{\"title\":\"x\"}");
    assert_eq!(site.text("/notes/a"), "<h1>*x</h1>");
    let message = site.failure("/throws");
    assert!(message.contains("app.ts:14:63: TypeError: "), "{message}");
}

#[test]
fn javascript_and_typescript_import_each_other() {
    let folder = folder(&[
        (
            "app.js",
            "import { a } from './a.ts';\nimport { App } from 'sarsen';\n\
                    export default new App().get('/', () => a());",
        ),
        ("a.ts", "import { b } from './b.js'; export const a = (): string => b;"),
        ("b.js", "import './c.js';\nexport const b = 'from b.js';"),
        ("b.ts", "export const b: string = 'from b.ts';"),
        ("c.ts", "export type C = 1;"),
    ]);
    assert_eq!(start(folder, Setup::default()).text("/"), "from b.js");
}

#[test]
fn there_is_one_main_module() {
    let message = load_error(&[("app.js", ""), ("app.ts", "")]);
    assert_eq!(message, "app.ts: there is app.js, too; an application starts with one of them");
}

#[test]
fn mistakes_are_named_in_the_file_they_are_in() {
    let message = load_error(&[("app.ts", "const a: string = ;\n")]);
    assert!(message.starts_with("app.ts:1:19: SyntaxError: "), "{message}");
    let imported = |text: &str| load_error(&[("app.ts", "import './a.js';"), ("a.ts", text)]);
    let message = imported("\n  enum A { B }");
    assert!(message.starts_with("a.ts:2:3: an enum is code"), "{message}");
    let message = imported("type A = 1;\nconst a: A = nothing;");
    assert!(message.starts_with("a.ts:2:14: ReferenceError: "), "{message}");
    // What only the engine finds.
    let message = imported("const a: 1 = 1;\nlet   a: 2 = 2;");
    assert!(message.starts_with("a.ts:2:"), "{message}");
}

#[test]
fn a_type_that_is_imported_as_a_value_is_named() {
    let message = load_error(&[
        ("app.ts", "import { App } from 'sarsen';\nimport { a, A } from './a.js';\n"),
        ("a.ts", "export type A = 1; export const a = 1;"),
    ]);
    let why = "exports no A; if that is a type, say so: import { type A }";
    assert!(message.starts_with("app.ts:2:13: ") && message.ends_with(why), "{message}");
    let message = load_error(&[("app.ts", "import { App, Context } from 'sarsen';\n")]);
    assert!(message.starts_with("app.ts:1:15: sarsen exports no Context; "), "{message}");
}

#[test]
fn imports_without_extension_name_the_file() {
    let message = load_error(&[("app.ts", "import './a';"), ("a.ts", "")]);
    assert!(message.starts_with("app.ts:1:8: cannot import \"./a\": "), "{message}");
    assert!(message.ends_with("did you mean a.ts?"), "{message}");
    let message = load_error(&[("app.ts", "import './b.ts';"), ("b.js", "")]);
    assert!(message.ends_with("did you mean b.js?"), "{message}");
}

#[test]
fn typescript_out_of_the_folder_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("x.ts"), "export const x = 1;").unwrap();
    let folder = folder(&[("app.ts", "import './x.js';")]);
    let link = folder.path().join("x.ts");
    std::os::unix::fs::symlink(outside.path().join("x.ts"), link).unwrap();
    let error = load(folder.path()).err().unwrap().to_string();
    assert!(error.contains("it is a link out of the application's folder"), "{error}");
}
