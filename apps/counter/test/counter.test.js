// `sarsen test apps/counter` runs these, each on a server and a repository of its own.
import { client, clock, db, expect, test } from "sarsen:test";

const count = async (visitor) => {
  const page = (await visitor.get("/")).text();
  return Number(/<output[^>]*>(.*?)<\/output>/.exec(page)[1]);
};

test("a visitor counts up and down", async () => {
  const visitor = client();
  expect(await count(visitor)).toBe(0);
  await visitor.post("/increment");
  await visitor.post("/increment");
  await visitor.post("/decrement");
  expect(await count(visitor)).toBe(1);
});

test("a click leads back to the page", async () => {
  const reply = await client({ redirects: false }).post("/increment");
  expect(reply.status).toBe(303);
  expect(reply.headers.location).toBe("/");
});

test("two visitors count for themselves, and the tally for all", async () => {
  const [one, other] = [client(), client()];
  await one.post("/increment");
  await other.post("/decrement");
  expect([await count(one), await count(other)]).toEqual([1, -1]);
  // Each click leads to the page, which is a hit as well.
  expect(db.tally.get("hits")).toBe(6);
});

test("a visitor who stays away for long begins anew", async () => {
  const visitor = client();
  await visitor.post("/increment");
  clock.advance("29m");
  expect(await count(visitor)).toBe(1);
  clock.advance("40m");
  expect(await count(visitor)).toBe(0);
});
