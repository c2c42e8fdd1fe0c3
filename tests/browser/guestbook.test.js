// The guestbook as people use it, in Chromium, with JavaScript and without.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { launch } from "./chromium.js";
import { Server } from "./server.js";

let browser;
let server;

before(async () => {
  browser = await launch();
});

after(() => browser?.close());

// Each test has a guestbook of its own.
beforeEach(async () => {
  server = await Server.start(new URL("../../apps/guestbook", import.meta.url).pathname);
});

afterEach(() => server.stop());

async function visitor(options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  await page.goto(server.url);
  return page;
}

const name = (page) => page.getByLabel("your name");
const words = (page) => page.getByLabel("your words");
const entries = (page) => page.locator("article p").allTextContents();
const click = (page, button) => page.getByRole("button", { name: button, exact: true }).click();

async function sign(page, who, text) {
  await name(page).fill(who);
  await words(page).fill(text);
  await click(page, "Sign");
}

async function logIn(page, secret) {
  await page.getByRole("link", { name: "moderate" }).click();
  await page.getByLabel("password").fill(secret);
  await click(page, "Log in");
}

for (const javaScriptEnabled of [true, false]) {
  const how = javaScriptEnabled ? "" : ", without JavaScript";

  test(`an entry is shown, and the thanks for it once${how}`, async () => {
    const page = await visitor({ javaScriptEnabled });
    const thanks = page.getByRole("status");
    await sign(page, "Ada", "first");
    assert.deepEqual(await thanks.allTextContents(), ["Thank you, Ada."]);
    await page.reload();
    assert.deepEqual(await thanks.allTextContents(), []);
    await sign(page, "Bob", "<b>second</b>\nof two");
    assert.deepEqual(await thanks.allTextContents(), ["Thank you, Bob."]);
    assert.deepEqual(await entries(page), ["<b>second</b>\nof two", "first"]);
    assert.equal(await page.getByText("2 entries").count(), 1);
    await page.context().close();
  });

  test(`what is no entry is told, and what was typed stays${how}`, async () => {
    const page = await visitor({ javaScriptEnabled });
    const typed = '\n  "long" & <b>careful</b>\n  words ';
    await sign(page, "   ", typed);
    const mistake = await page.getByRole("alert").textContent();
    assert.equal(mistake, "Please give your name and a few words.");
    assert.equal(await words(page).inputValue(), typed);
    assert.equal(await name(page).inputValue(), "   ");
    assert.deepEqual(await entries(page), []);
    await name(page).fill("Ada");
    await click(page, "Sign");
    assert.deepEqual(await page.getByRole("alert").allTextContents(), []);
    assert.deepEqual(await entries(page), [typed.trim()]);
    assert.equal(await words(page).inputValue(), "");
    await page.context().close();
  });

  test(`older entries are a click away${how}`, async () => {
    const page = await visitor({ javaScriptEnabled });
    for (let i = 1; i <= 12; i++) await sign(page, "Ada", `entry ${i}`);
    const texts = (from, to) => {
      const length = from - to + 1;
      return Array.from({ length }, (_, i) => `entry ${from - i}`);
    };
    assert.deepEqual(await entries(page), texts(12, 3));
    await page.getByRole("link", { name: "older" }).click();
    assert.deepEqual(await entries(page), texts(2, 1));
    assert.equal(await page.getByRole("link", { name: "older" }).count(), 0);
    await page.goBack();
    assert.deepEqual(await entries(page), texts(12, 3));
    await page.context().close();
  });

  test(`a moderator logs in, hides, deletes and logs out${how}`, async () => {
    const page = await visitor({ javaScriptEnabled });
    for (const text of ["one", "two", "three"]) await sign(page, "Ada", text);
    const boss = await visitor({ javaScriptEnabled });
    await logIn(boss, "short");
    assert.match(await boss.getByRole("status").textContent(), /at least 8 characters/);
    await boss.goto(server.url);
    await logIn(boss, "correct horse");
    const entry = (text) => boss.locator("article").filter({ hasText: text });
    await entry("two").getByRole("button", { name: "Hide" }).click();
    assert.equal(await entry("two").getByRole("button", { name: "Show" }).count(), 1);
    await page.reload();
    assert.deepEqual(await entries(page), ["three", "one"]);
    assert.equal(await page.getByRole("button", { name: "Hide" }).count(), 0);
    await entry("two").getByRole("button", { name: "Show" }).click();
    await entry("one").getByRole("button", { name: "Delete" }).click();
    await page.reload();
    assert.deepEqual(await entries(page), ["three", "two"]);
    await click(boss, "Log out");
    assert.equal(await boss.getByRole("button", { name: "Hide" }).count(), 0);
    await logIn(boss, "another horse");
    assert.equal(await boss.getByRole("status").textContent(), "That is not the password.");
    assert.equal(await boss.getByRole("button", { name: "Log out" }).count(), 0);
    await page.context().close();
    await boss.context().close();
  });
}


// A page of another site, which sends a form to the guestbook by itself, or when it is clicked.
async function elsewhere(target) {
  const form = `<!doctype html><form method="post" action="${target}">
    <input name="name" value="Eve"><input name="text" value="not from here">
    <button>Win</button></form>`;
  const site = createServer((_, reply) => reply.setHeader("content-type", "text/html").end(form));
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  return site;
}

test("a form on a page of another origin is refused and changes nothing", async () => {
  const site = await elsewhere(new URL("/entries", server.url).href);
  const { port } = site.address();
  const boss = await visitor();
  await logIn(boss, "correct horse");
  // Another site, and another port of the same one.
  for (const host of ["localhost", "127.0.0.1"]) {
    await boss.goto(`http://${host}:${port}/`);
    const [reply] = await Promise.all([
      boss.waitForResponse((reply) => reply.request().method() === "POST"),
      click(boss, "Win"),
    ]);
    assert.equal(reply.status(), 403);
  }
  await boss.goto(server.url);
  assert.deepEqual(await entries(boss), []);
  // The same form on the guestbook's own page is taken.
  await sign(boss, "Eve", "from here");
  assert.deepEqual(await entries(boss), ["from here"]);
  await boss.context().close();
  site.close();
});
