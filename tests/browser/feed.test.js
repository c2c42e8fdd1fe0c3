// The feed of commits as a browser reads it: EventSource, which connects again by itself and says
// what it saw last.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "./chromium.js";
import { Server } from "./server.js";

let browser;
let server;

before(async () => {
  browser = await launch();
  server = await Server.start(new URL("../../apps/guestbook", import.meta.url).pathname);
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

async function put(key) {
  const reply = await fetch(new URL(`/db/notes/${key}`, server.url), {
    method: "PUT",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ key }),
  });
  assert.equal(reply.status, 201);
}

test("a page sees each commit once, in order, and those while the server was gone", async () => {
  const page = await browser.newPage();
  await page.goto(server.url);
  await put("a0");
  await page.evaluate(() => {
    globalThis.seen = [];
    globalThis.opened = 0;
    const source = new EventSource("/db/notes?feed&after=0");
    source.addEventListener("open", () => (globalThis.opened += 1));
    source.addEventListener("commit", (event) => {
      for (const change of JSON.parse(event.data).changes) {
        if (change.change === "put") globalThis.seen.push(change.key);
      }
    });
  });
  const seen = (count) => page.waitForFunction((n) => globalThis.seen.length >= n, count);
  const keys = ["a0"];
  for (let i = 1; i <= 20; i++) {
    await put(`a${i}`);
    keys.push(`a${i}`);
    if (i % 5 === 0) {
      await seen(keys.length);
      await server.killAndRestart();
    }
  }
  await put("last");
  keys.push("last");
  await seen(keys.length);
  assert.deepEqual(await page.evaluate(() => globalThis.seen), keys);
  assert.ok((await page.evaluate(() => globalThis.opened)) >= 2, "it has connected again");
  await page.close();
});
