// What an application declares about itself, and what the compiler makes of it. Nothing runs here:
// each line compiles, or must not where it is said so.
import { App, HttpError, bytes, html, json, password, raw, redirect, refuse, reply, text } from "sarsen";
import type { Context, FormFile, Handler, Middleware } from "sarsen";

interface Note {
  title: string;
  stars: number;
  tags?: string[];
  written: Date;
}

declare module "sarsen" {
  interface Collections {
    notes: Note;
    tally: number;
    users: { hash: string };
  }
  interface SessionData {
    user?: string;
  }
  interface Variables {
    started?: number;
  }
}

const app = new App();

// Values of the path by the names in the pattern.
app.get("/notes/:id", ({ db, params }) => {
  const id: string = params.id;
  const note = db.notes.get(id);
  if (note === undefined) throw new HttpError(404, "no such note");
  note.stars += 1;
  // @ts-expect-error: not a member of a note.
  note.star = 1;
  // @ts-expect-error: not a collection that was declared.
  db.note.get(id);
  return html`<h1>${note.title}</h1>${note.tags?.map((tag) => html`<li>${tag}`)}${raw("<hr>")}`;
});

app.get("/:lang{en|de}/:page?", ({ params }) => {
  const lang: string = params.lang;
  // @ts-expect-error: it may be missing.
  const page: string = params.page;
  return text(lang + page);
});

app.get("/files/*", ({ params }) => params["*"] ?? "none");

// Middleware, and what it puts on the context.
const timed: Middleware = async (context, next) => {
  context.started = context.time;
  const result = await next();
  context.header("x-started", context.started);
  return result;
};
app.use(timed, (_, next) => next());
app.use("/users/:id", ({ params }, next) => (params.id ? next() : undefined));
app.get("/guarded", timed, ({ session }) => session.user ?? null);
// @ts-expect-error: a handler is a function.
app.get("/none", "text");
// @ts-expect-error: a route has a handler.
app.get("/none");
// @ts-expect-error: a result is not a number.
app.get("/number", () => 3);

// Bodies.
app.post("/login", async ({ db, request, login, flash, logout }) => {
  const { name, secret } = request.form<{ name: string; secret: string }>();
  const user = db.users.get(name);
  if (!user || !(await password.verify(secret, user.hash))) return reply({ status: 401 });
  logout();
  login({ user: name });
  flash("Welcome");
  return redirect("/");
});
app.get("/theme", ({ cookies, flashes }) => {
  const theme: string | undefined = cookies.get("theme", { signed: true });
  cookies.set("theme", theme ?? "dark", { maxAge: "30d", sameSite: "Strict", signed: true });
  // @ts-expect-error: not an option.
  cookies.set("theme", "dark", { maxage: 1 });
  cookies.delete("theme", { path: "/" });
  return flashes().map(({ kind, message }) => html`<p class=${kind}>${message}`);
});
app.post("/photo", ({ request }) => {
  const { photo } = request.form<{ photo?: FormFile }>();
  const names: string[] = request.formAll<FormFile>("photo").map((file) => file.name);
  return photo ? bytes(photo.bytes, { type: photo.type }) : json(names, { status: 400 });
});

// Documents.
const list: Handler = ({ db, query, status, header }) => {
  const key: string = db.notes.insert({ title: "a", stars: 1, written: new Date() });
  // @ts-expect-error: a member is missing.
  db.notes.insert({ title: "a" });
  db.notes.put(key, { title: "b", stars: 2, written: new Date() }, { expiresIn: "30m" });
  db.notes.add(key, "/stars", 1);
  db.tally.add("hits", 1);
  const seen = db.notes.peek(key);
  // @ts-expect-error: it is frozen.
  if (seen) seen.stars = 3;
  const rows = db.notes.query`stars >= ${3} AND written < ${new Date()}`.order("stars desc").limit(2);
  // @ts-expect-error: a filter is a template.
  db.notes.query("stars >= 3");
  for (const [at, note] of db.notes.range({ prefix: "2026-", reverse: true })) at.length + note.stars;
  status(201);
  header("x-next", rows.next ?? "none");
  return rows.map(([at, note]) => ({ at, title: note.title, size: db.notes.meta(at)?.size }));
};
app.on(["GET", "POST"], ["/list", "/all"], list);

// Groups, services, and what fails.
app.group("/admin", (group) => {
  group.get("/", (context: Context) => context.request.headers["host"] ?? "");
  group.onError((error) => json({ error: error.message }));
});
app.route("/inner", new App().get("/", () => undefined));
app.notFound(() => html`<p>nothing`);
app.service("notes", {
  onPut: ({ body, doc }) => {
    if (body.stars < doc.stars) refuse(409, "stars only rise");
    body.title = body.title.trim();
  },
});
// @ts-expect-error: not a function of a service.
app.service("notes", { onRead() {} });

console.log("loaded");

export default app;

// The cache: what it gives has the type that is asked for, or that of what computes it.
app.get("/cached", async ({ cache, db }) => {
  const stars: number | undefined = cache.get<number>("stars");
  cache.set("stars", (stars ?? 0) + 1, { expiresIn: "5m" });
  const seen = cache.gets<Note>("note");
  const swapped: boolean = seen !== undefined && cache.cas("note", seen.value.title, seen.cas);
  const hits: number | undefined = cache.incr("hits", 1, { initial: 0, expires: new Date() });
  const notes = await cache.fetch("notes", "30s", () => db.notes.get("a")?.title, { stale: "1m" });
  // @ts-expect-error: a title or undefined.
  const wrong: number = notes;
  // @ts-expect-error: not an option.
  cache.set("stars", 1, { ttl: 5 });
  return [notes ?? "", swapped, hits ?? 0, wrong, cache.getBytes("raw")?.length ?? 0];
});
