// Users with passwords, sessions and a signed cookie that remembers the name.
import { App, password, redirect, reply } from "sarsen";

const app = new App();

// Somebody to verify against where the name is unknown, so that it takes as long.
const NOBODY =
  "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$" +
  "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE";

app.post("/join", async ({ db, request }) => {
  const { name, secret } = request.form();
  db.users.insert(name, { hash: await password.hash(secret) });
});

app.post("/login", async ({ db, request, session, login, flash, cookies }) => {
  const { name, secret } = request.form();
  const user = db.users.get(name);
  if (!(await password.verify(secret, user?.hash ?? NOBODY))) {
    flash("Wrong name or password.", "error");
    return reply({ status: 303, headers: { location: "/" } });
  }
  login({ user: name, visits: session.visits });
  cookies.set("last", name, { signed: true, maxAge: "30d" });
  return redirect("/");
});

app.post("/logout", ({ logout, flash }) => {
  flash("Bye.");
  logout();
  return redirect("/");
});

app.get("/", ({ session, flashes, cookies }) => ({
  user: session.user ?? null,
  last: cookies.get("last", { signed: true }) ?? null,
  said: flashes().map(({ message }) => message),
}));

export default app;
