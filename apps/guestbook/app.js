// A guestbook: the application that docs/tutorial.md makes step by step.
import { App, HttpError, password, redirect } from "sarsen";
import { entryOf } from "./entry.js";
import { bookPage, loginPage } from "./pages.js";

const app = new App();

// As many entries as a page shows.
const PAGE = 10;

// A key that Sarsen makes sorts by time, so the last keys are the newest entries.
const book = ({ db, query, session, flashes }, form = {}, mistake = undefined) => {
  const range = { before: query.before || undefined, reverse: true, limit: PAGE };
  const entries = db.entries.range(range).toArray();
  const older = entries.length === PAGE ? entries.at(-1)[0] : undefined;
  const count = db.tally.peek("entries") ?? 0;
  const isModerator = session.moderator === true;
  return bookPage({ entries, older, count, isModerator, messages: flashes(), form, mistake });
};

app.get("/", (context) => book(context));

app.post("/entries", (context) => {
  const { db, request, flash, status } = context;
  const form = request.form();
  const { entry, mistake } = entryOf(form);
  if (mistake !== undefined) {
    status(422);
    return book(context, form, mistake); // What was typed is still there.
  }
  db.entries.insert({ ...entry, written: new Date() });
  db.tally.add("entries", 1); // However many write at once, none waits for another here.
  flash(`Thank you, ${entry.name}.`);
  return redirect("/");
});

app.get("/login", ({ flashes }) => loginPage(flashes()));

// The first one to log in chooses the moderator's password.
app.post("/login", async ({ db, request, login, flash }) => {
  const secret = String(request.form().secret ?? "");
  const moderator = db.users.get("moderator");
  if (moderator === undefined && secret.length < 8) {
    flash("The password has at least 8 characters.", "error");
    return redirect("/login");
  }
  if (moderator === undefined) {
    db.users.put("moderator", { hash: await password.hash(secret) });
  } else if (!(await password.verify(secret, moderator.hash))) {
    flash("That is not the password.", "error");
    return redirect("/login");
  }
  login({ moderator: true });
  return redirect("/");
});

app.post("/logout", ({ logout }) => {
  logout();
  return redirect("/");
});

// What only the moderator may do. The middleware stands before all that the group registers.
app.group("/moderate", (group) => {
  group.use(({ session }, next) => (session.moderator === true ? next() : redirect("/login")));

  group.post("/:id/hide", ({ db, params }) => {
    const entry = db.entries.get(params.id);
    if (entry === undefined) throw new HttpError(404, "no such entry");
    entry.hidden = !entry.hidden;
    return redirect("/");
  });

  group.post("/:id/delete", ({ db, params }) => {
    if (db.entries.has(params.id)) db.tally.add("entries", -1);
    db.entries.delete(params.id);
    return redirect("/");
  });
});

export default app;
