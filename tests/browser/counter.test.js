// The counter as people use it, in Chromium.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "./chromium.js";
import { Server } from "./server.js";

let browser;
let server;

before(async () => {
  browser = await launch();
  server = await Server.start(new URL("../../apps/counter", import.meta.url).pathname);
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

// A visitor of its own, with one page open.
async function visitor(options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  await page.goto(server.url);
  return { context, page };
}

const count = (page) => page.locator("output").textContent();
const more = (page) => page.getByRole("button", { name: "one more" }).click();
const less = (page) => page.getByRole("button", { name: "one less" }).click();

test("clicks count up and down", async () => {
  const { page, context } = await visitor();
  assert.equal(await count(page), "0");
  await more(page);
  await more(page);
  await less(page);
  await more(page);
  assert.equal(await count(page), "2");
  await context.close();
});

test("back and reload click nothing again", async () => {
  const { page, context } = await visitor();
  // A browser that would have to send a form again asks first.
  page.on("dialog", (dialog) => assert.fail(`the browser asks: ${dialog.message()}`));
  await more(page);
  await more(page);
  await page.goBack();
  await page.reload();
  assert.equal(await count(page), "2");
  await more(page);
  assert.equal(await count(page), "3");
  await page.reload();
  assert.equal(await count(page), "3");
  await context.close();
});

test("two windows of one visitor share a count, two visitors do not", async () => {
  const { page, context } = await visitor();
  const window = await context.newPage();
  const stranger = await visitor();
  await window.goto(server.url);
  await more(page);
  await more(window);
  await more(page);
  await window.reload();
  assert.equal(await count(window), "3");
  assert.equal(await count(stranger.page), "0");
  await context.close();
  await stranger.context.close();
});

test("a server that is killed between two clicks goes on where it was", async () => {
  const { page, context } = await visitor();
  for (let clicks = 1; clicks <= 5; clicks++) {
    await more(page);
    await server.killAndRestart();
    assert.equal(await count(page), String(clicks), "the page that was there");
  }
  await page.reload();
  assert.equal(await count(page), "5");
  await context.close();
});

test("it works without JavaScript", async () => {
  const { page, context } = await visitor({ javaScriptEnabled: false });
  await more(page);
  await less(page);
  await more(page);
  assert.equal(await count(page), "1");
  await context.close();
});
