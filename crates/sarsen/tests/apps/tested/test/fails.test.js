// Tests that fail, each in another way.
import { client, expect, test } from "sarsen:test";

test("a value differs", () => {
  const notes = { one: "the first of the notes", two: "the second of the notes", three: 3 };
  expect(notes).toEqual({ ...notes, two: "another" });
});

test("a handler throws", async () => {
  expect((await client().get("/fails")).status).toBe(200);
});

test("it does not end", () => {
  for (;;);
});

test("it waits for what never comes", () => new Promise(() => {}));

test("what follows runs all the same", async () => {
  expect((await client().get("/who")).text()).toBe("nobody");
});
