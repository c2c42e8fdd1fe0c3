// The application: each function answers one kind of request, in a transaction of its own.
// Types are blanked out when it loads; your editor checks them, and so does `tsc`.
import { App, HttpError, html, redirect } from "sarsen";
import type { Results } from "sarsen";

interface Note {
  text: string;
  stars: number;
}

// What the collections hold: `db.notes.get(id)` is a Note, or undefined.
declare module "sarsen" {
  interface Collections {
    notes: Note;
  }
}

const app = new App();

// The newest notes come first: a key that Sarsen makes sorts by time.
app.get("/", ({ db, flashes }) => page(db.notes.range({ reverse: true, limit: 50 }), flashes()));

app.post("/notes", ({ db, request, flash }) => {
  const { text: written = "" } = request.form<{ text?: string }>();
  const text = written.trim();
  if (text === "" || text.length > 200) {
    flash("A note has 1 to 200 characters.");
  } else {
    db.notes.insert({ text, stars: 0 });
  }
  // The browser is sent back to the page, so that a reload does not send the form again.
  return redirect("/");
});

app.post("/notes/:id/star", ({ db, params }) => {
  const note = db.notes.get(params.id);
  if (note === undefined) throw new HttpError(404, "no such note");
  note.stars += 1; // It is stored: that is all.
  return redirect("/");
});

// Everything put into html`...` is escaped.
const page = (notes: Results<Note>, messages: { message: string }[]) => html`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Notes</title>
  <link rel="stylesheet" href="/style.css">
</head>
<body>
  <h1>Notes</h1>
  ${messages.map(({ message }) => html`<p role="alert">${message}</p>`)}
  <form method="post" action="/notes">
    <input name="text" aria-label="note" maxlength="200" required autofocus>
    <button>Add</button>
  </form>
  <ul>
    ${notes.map(
      ([id, note]) => html`<li>${note.text}
      <form method="post" action="/notes/${id}/star"><button>&#9733; ${note.stars}</button></form>
    </li>`,
    )}
  </ul>
</body>
</html>
`;

export default app;
