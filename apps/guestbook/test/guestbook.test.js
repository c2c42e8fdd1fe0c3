// `sarsen test apps/guestbook`: signing, leafing through, and moderation.
import { client, clock, db, expect, request, test, transaction } from "sarsen:test";

const sign = (visitor, name, text) => visitor.post("/entries", { form: { name, text } });

// The texts of the entries on a page, in their order.
const texts = (page) => [...page.text().matchAll(/<article>\s*<p>(.*?)<\/p>/g)].map((m) => m[1]);

// Somebody who has logged in first, and so chose the password.
async function moderator() {
  const visitor = client();
  const page = await visitor.post("/login", { form: { secret: "correct horse" } });
  expect(page.url).toBe("/");
  return visitor;
}

test("an entry is kept with its date and shown, the newest first", async () => {
  const visitor = client();
  await sign(visitor, "Ada", "first");
  const page = await sign(visitor, "Bob", "<b>second</b>");
  expect(page.url).toBe("/");
  expect(page.text()).toContain("Thank you, Bob.");
  expect(page.text()).toContain("2 entries");
  expect(texts(page)).toEqual(["&lt;b&gt;second&lt;/b&gt;", "first"]);
  const [entry] = db.entries.range({ limit: 1 });
  expect(entry[1]).toMatchObject({ name: "Ada", text: "first" });
  expect(entry[1].written).toEqual(new Date(clock.now() - 3));
});

test("what is no entry is not kept, and the visitor is told once", async () => {
  const visitor = client();
  for (const [name, text, told] of [
    ["", "words", "Please give your name"],
    ["Ada", "   ", "Please give your name"],
    ["x".repeat(41), "words", "at most 40 characters"],
    ["Ada", "x".repeat(501), "at most 500 characters"],
  ]) {
    expect((await sign(visitor, name, text)).text()).toContain(told);
    expect((await visitor.get("/")).text()).not.toContain(told);
  }
  expect(db.entries.count()).toBe(0);
});

test("a page has ten entries and leads to those before", async () => {
  transaction(({ db }) => {
    for (let i = 10; i < 35; i++) {
      db.entries.put(`entry-${i}`, { name: "Ada", text: `entry ${i}`, written: new Date(0) });
    }
  });
  const visitor = client();
  const seen = [];
  let next = "/";
  while (next !== undefined) {
    const page = await visitor.get(next);
    seen.push(texts(page));
    next = /<a href="(.*?)">older/.exec(page.text())?.[1];
  }
  expect(seen.map((entries) => entries.length)).toEqual([10, 10, 5]);
  expect([seen[0][0], seen[1][0], seen[2][4]]).toEqual(["entry 34", "entry 24", "entry 10"]);
});

test("only the moderator hides and deletes", async () => {
  await sign(client(), "Eve", "rude words");
  const [[id]] = db.entries.range();
  const stranger = await client().post(`/moderate/${id}/hide`);
  expect(stranger.url).toBe("/login");
  expect(db.entries.get(id).hidden).toBeUndefined();
  const boss = await moderator();
  expect((await boss.post(`/moderate/${id}/hide`)).text()).toContain("(hidden)");
  expect((await client().get("/")).text()).not.toContain("rude words");
  await boss.post(`/moderate/${id}/hide`);
  expect((await client().get("/")).text()).toContain("rude words");
  const page = await boss.post(`/moderate/${id}/delete`);
  expect(page.text()).toContain("0 entries");
  expect(db.entries.get(id)).toBeUndefined();
  expect((await boss.post(`/moderate/${id}/hide`)).status).toBe(404);
});

test("who logs in first chooses the password, and who does not know it stays outside", async () => {
  const short = await client().post("/login", { form: { secret: "short" } });
  expect(short.text()).toContain("at least 8 characters");
  const boss = await moderator();
  expect(db.users.get("moderator").hash).toMatch(/^\$argon2id\$/);
  const guess = await client().post("/login", { form: { secret: "wrong horse" } });
  expect(guess.text()).toContain("That is not the password.");
  const again = await client().post("/login", { form: { secret: "correct horse" } });
  expect(again.text()).toContain("Log out");
  expect((await boss.post("/logout")).text()).not.toContain("Log out");
});

test("a moderator who stays away for long has to log in again", async () => {
  const boss = await moderator();
  clock.advance("29m");
  expect((await boss.get("/")).text()).toContain("Log out");
  clock.advance("40m");
  expect((await boss.get("/")).text()).not.toContain("Log out");
});

test("the same entries are there as JSON", async () => {
  await sign(client(), "Ada", "hello");
  const reply = await request("GET", "/db/entries", { query: { fields: "name,text" } });
  expect(reply.json().documents[0].value).toEqual({ name: "Ada", text: "hello" });
});
