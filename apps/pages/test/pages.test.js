// `sarsen test apps/pages`: each page does what is measured of it.
import { client, db, expect, test } from "sarsen:test";

const fill = () => client().post("/fill?first=0");

test("the counter counts for each visitor", async () => {
  const visitor = client();
  for (const count of [1, 2, 3]) {
    expect((await visitor.get("/counter")).text()).toContain(`<output>${count}</output>`);
  }
  expect((await client().get("/counter")).text()).toContain("<output>1</output>");
});

test("a page has 20 notes in the order of their keys, escaped", async () => {
  expect((await fill()).status).toBe(204);
  const page = (await client().get("/notes?from=77")).text();
  const keys = [...page.matchAll(/<li id="(\d+)">/g)].map((found) => found[1]);
  expect(keys).toHaveLength(20);
  expect(keys.slice(0, 4)).toEqual(["77", "770", "771", "772"].filter((key) => +key < 1000));
  expect(page).toContain("What &lt;b&gt; &amp; &quot;c&quot; say. ");
});

test("an order takes from stock, is kept and written down", async () => {
  await fill();
  const order = (quantity) =>
    client().post("/orders", { form: { item: "5", quantity, note: "at the door" } });
  const made = await order(3);
  expect(made.status).toBe(201);
  const key = made.headers.location.replace("/orders/", "");
  expect(db.orders.get(key)).toEqual({ item: "5", quantity: 3, note: "at the door" });
  expect(db.stock.get("5").left).toBe(99999997);
  expect((await order(99999998)).status).toBe(409);
  expect((await order("x")).status).toBe(400);
  expect([db.orders.count(), db.journal.count()]).toEqual([1, 1]);
});

test("a transfer moves money and makes none", async () => {
  await fill();
  const transfer = (from, to, amount) =>
    client().post("/transfer", { form: { from, to, amount } });
  const done = await transfer("1", "2", 40);
  expect(done.text()).toContain("40 from 1, which has 99999960, to 2");
  const refused = [await transfer("1", "1", 1), await transfer("1", "2", 0)];
  expect(refused.map((reply) => reply.status)).toEqual([400, 400]);
  expect((await transfer("1", "2", 99999961)).status).toBe(409);
  const balance = (key) => db.accounts.get(key).balance;
  expect([balance("1"), balance("2")]).toEqual([99999960, 100000040]);
  expect(db.transfers.count()).toBe(1);
});
