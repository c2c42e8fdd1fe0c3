// `sarsen test` runs these, each on a server and a repository of its own.
import { client, db, expect, test } from "sarsen:test";

test("a note is kept and shown, the newest first", async () => {
  const visitor = client();
  await visitor.post("/notes", { form: { text: "first" } });
  // The client follows the redirect, as a browser does.
  const page = await visitor.post("/notes", { form: { text: "<second>" } });
  expect(page.url).toBe("/");
  expect(page.text()).toMatch(/&lt;second&gt;[^]*first/);
});

test("a star is counted", async () => {
  const id = db.notes.insert({ text: "first", stars: 0 });
  await client().post(`/notes/${id}/star`);
  expect(db.notes.get(id)).toEqual({ text: "first", stars: 1 });
});

test("what is no note is refused, and the visitor is told once", async () => {
  const visitor = client();
  const page = await visitor.post("/notes", { form: { text: "  " } });
  expect(page.text()).toContain("A note has 1 to 200 characters.");
  expect((await visitor.get("/")).text()).not.toContain("A note has");
  expect(db.notes.count()).toBe(0);
  expect((await visitor.post("/notes/none/star")).status).toBe(404);
});
