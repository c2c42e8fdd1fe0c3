// Tests that pass: what `sarsen:test` can do.
import { assert, client, clock, db, expect, request, test, transaction } from "sarsen:test";

test("what the server stores can be read, and what the test stores is served", async () => {
  await client().post("/notes/a", { json: { stars: 1 } });
  expect(db.notes.get("a")).toEqual({ stars: 1 });
  transaction(({ db }) => {
    db.notes.get("a").stars += 1;
    db.notes.put("b", { stars: 5 });
  });
  expect((await request("GET", "/notes/a")).json()).toEqual({ stars: 2 });
  expect((await request("GET", "/notes/b")).json()).toEqual({ stars: 5 });
});

test("each test has a repository of its own", async () => {
  expect(db.notes.get("a")).toBeUndefined();
  expect((await client().get("/notes/a")).status).toBe(204);
});

test("a transaction that throws changes nothing", () => {
  const fails = () =>
    transaction(({ db }) => {
      db.notes.put("a", {});
      throw new Error("no");
    });
  expect(fails).toThrow("no");
  expect(db.notes.get("a")).toBeUndefined();
});

test("ranges and queries give what they give in handlers", () => {
  for (const stars of [3, 1, 2]) db.notes.put(`n${stars}`, { stars });
  expect([...db.notes.range()].map(([key]) => key)).toEqual(["n1", "n2", "n3"]);
  expect(db.notes.range({ from: "n2" }).first()).toEqual(["n2", { stars: 2 }]);
  expect([...db.notes.keys({ reverse: true })]).toEqual(["n3", "n2", "n1"]);
  const best = db.notes.query`stars > ${1}`.order("stars desc").limit(1);
  expect(best.toArray()).toEqual([["n3", { stars: 3 }]]);
  expect(best.after(best.next).map(([key]) => key)).toEqual(["n2"]);
  expect([best.count(), db.notes.query().count(), db.notes.count()]).toEqual([2, 3, 3]);
  expect([...db.notes.query().documents()][0].version).toBeGreaterThan(0);
  expect(() => db.notes.query("stars = 1").count()).toThrow("called with a template");
});

test("cookies are kept by client, and redirects followed or not", async () => {
  const ada = client();
  const reply = await ada.get("/name/ada");
  expect(reply.text()).toBe("name=ada");
  expect([reply.url, reply.redirects]).toEqual(["/who", ["/name/ada"]]);
  expect(ada.cookies).toEqual({ name: "ada" });
  expect((await client().get("/who")).text()).toBe("nobody");
  const stays = await client({ redirects: false }).get("/name/bob");
  expect(stays.status).toBe(303);
});

test("bodies: forms, JSON, text, bytes, files", async () => {
  const visitor = client();
  const form = await visitor.post("/echo", { form: { a: "b c&d", list: ["1", "ü"] } });
  expect(form.text()).toBe("a=b+c%26d&list=1&list=%C3%BC");
  expect(form.headers["content-type"]).toBe("application/x-www-form-urlencoded");
  expect((await visitor.post("/echo", { json: [1, "ü"] })).json()).toEqual([1, "ü"]);
  expect((await visitor.post("/echo", { text: "ü" })).bytes()).toEqual(Uint8Array.of(195, 188));
  const bytes = await visitor.post("/echo", { bytes: Uint8Array.of(97, 98) });
  expect(bytes.text()).toBe("ab");
  const files = { photo: { name: "a.txt", type: "text/plain", text: "hello" } };
  const upload = await visitor.post("/echo", { form: { title: "x" }, files });
  expect(upload.headers["content-type"]).toMatch(/^multipart\/form-data; boundary=/);
  expect(upload.text()).toContain('name="photo"; filename="a.txt"\r\ncontent-type: text/plain');
});

test("the clock stands still but for requests and for what it is advanced by", async () => {
  const before = clock.now();
  clock.advance("2h");
  expect(clock.now() - before).toBe(2 * 3600_000);
  expect(Date.now()).toBe(clock.now());
  expect((await client().get("/time")).json().time).toBe(clock.now());
});

test("tasks and crons run when they are due, and not before", async () => {
  await client().post("/mark/now");
  await client().post("/mark/later?delay=2h");
  clock.settle();
  expect([db.marks.get("now"), db.marks.get("later")]).toEqual([1, undefined]);
  clock.advance("119m");
  expect(db.marks.get("later")).toBeUndefined();
  clock.advance("2m");
  expect(db.marks.get("later")).toBe(1);
  expect(db.marks.get("ticks")).toBeGreaterThan(0);
});

test("what has expired is seen to when the clock has been advanced", () => {
  const holds = 300;
  transaction(({ db }) => {
    for (let i = 0; i < holds; i++) db.holds.put(`h${i}`, { fails: false }, { expiresIn: "1h" });
  });
  clock.advance("59m");
  expect(db.marks.get("asked")).toBeUndefined();
  clock.advance("2m");
  expect([db.marks.get("ended"), db.marks.get("told")]).toEqual([holds, holds]);
});

test("an onExpire that throws is waited for once, and again when it is due again", () => {
  db.holds.put("a", { fails: true }, { expiresIn: "1h" });
  clock.advance("61m");
  // What it did had no effect.
  expect(db.marks.get("asked")).toBeUndefined();
  db.marks.put("repaired", 1);
  clock.settle();
  expect(db.marks.get("ended")).toBeUndefined();
  clock.advance("1h");
  expect([db.marks.get("ended"), db.marks.get("told")]).toEqual([1, 1]);
});

test("expectations", () => {
  expect({ a: 1, b: undefined }).toEqual({ a: 1 });
  expect({ a: { b: 1, c: 2 } }).toMatchObject({ a: { b: 1 } });
  expect([{ a: 1 }]).toContain({ a: 1 });
  expect(new Date(5)).toEqual(new Date(5));
  expect([1]).not.toEqual([1, 2]);
  expect([1, 2]).toHaveLength(2);
  expect(2).toBeGreaterThan(1);
  expect(1).toBeLessThan(2);
  assert(true);
  for (const wrong of [
    () => expect(1).toBe(2),
    () => expect(1).not.toBe(1),
    () => expect({ a: 1 }).toEqual({ a: 1, b: 2 }),
    () => expect({ a: 1 }).toMatchObject({ b: 1 }),
    () => expect("abc").toContain("d"),
    () => expect("abc").toMatch(/d/),
    () => expect(() => {}).toThrow(),
    () => expect(() => { throw new Error("a"); }).toThrow("b"),
    () => expect(new Date(5)).toEqual(new Date(6)),
    () => expect(0).toBeTruthy(),
    () => assert(false),
  ]) {
    expect(wrong).toThrow();
  }
});
