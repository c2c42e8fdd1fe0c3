// A counter for each visitor, and one tally for all: state without a database to set up.
import { App, html, redirect } from "sarsen";

const app = new App();

// A visitor's own number lives in the session: a plain object, kept when it has changed.
app.get("/", ({ db, session }) => {
  session.count ??= 0;
  hit(db);
  return page(session.count, db.tally.peek("hits"));
});

app.post("/increment", (request) => step(request, 1));
app.post("/decrement", (request) => step(request, -1));

// After a click the browser is sent back to the page, so that a reload does not click again.
function step({ db, session }, by) {
  session.count = (session.count ?? 0) + by;
  hit(db);
  return redirect("/");
}

// `add` never conflicts, however many visitors come at once; `peek` reads without conflict, too.
function hit(db) {
  db.tally.add("hits", 1);
}

const page = (count, hits) => html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Counter</title>
<style>
  :root { color-scheme: light dark; font: 1.1rem system-ui, sans-serif }
  body { min-height: 90vh; display: grid; place-content: center; text-align: center }
  output { font-size: 30vmin; font-variant-numeric: tabular-nums }
  button { font: inherit; font-size: 2rem; min-width: 5rem; padding: .3em; margin: .2em }
  p { opacity: .7 }
</style>
<output aria-label="your count">${count}</output>
<div>
  <form method="post">
    <button formaction="/decrement" aria-label="one less">&minus;&minus;</button>
    <button formaction="/increment" aria-label="one more">++</button>
  </form>
</div>
<p>${hits} hits by everyone</p>
</html>
`;

export default app;
