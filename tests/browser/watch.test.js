// An application that is edited while its page is open (`sarsen serve --watch`): the page shows
// what was saved without a click, and what is wrong with an edit until it is repaired.
import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { launch } from "./chromium.js";
import { Server } from "./server.js";

const MISTAKE = "#sarsen-mistake";

let browser;
let folder;
let server;
let context;
let page;

before(async () => {
  browser = await launch();
});

after(() => browser?.close());

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sarsen-edited-"));
  await cp(new URL("../../apps/guestbook", import.meta.url), folder, { recursive: true });
  server = await Server.start(folder, "--watch");
  context = await browser.newContext();
  page = await context.newPage();
  await page.goto(server.url);
});

afterEach(async () => {
  await context.close();
  await server.stop();
  await rm(folder, { recursive: true });
});

// Saves `file` with `from` replaced, as an editor does.
async function edit(file, from, to) {
  const path = join(folder, file);
  const text = await readFile(path, "utf8");
  assert.ok(text.includes(from), `${file} has no ${from}`);
  await writeFile(path, text.replace(from, to));
}

const heading = (text) => page.getByRole("heading", { name: text, exact: true }).waitFor();

const background = (colour) =>
  page.waitForFunction((c) => getComputedStyle(document.body).backgroundColor === c, colour);

test("an open page shows an edit of a handler, of a template and of a style", async () => {
  await edit("pages.js", 'layout("Guestbook"', 'layout("Visitors"');
  await heading("Visitors");
  await edit("app.js", "const app = new App();", 'const app = new App();\nconst ROOM = "Hall";');
  await edit("app.js", "const count =", "throw new Error(`closed: ${ROOM}`);\n  const count =");
  // What a handler throws is shown on the page that it answers.
  await page.getByText("closed: Hall").first().waitFor();
  await edit("app.js", "throw new Error(`closed: ${ROOM}`);\n", "");
  await heading("Visitors");
  await edit("public/style.css", "body {", "body { background: rgb(1, 2, 3);");
  await background("rgb(1, 2, 3)");
  await edit("public/style.css", "rgb(1, 2, 3)", "rgb(4, 5, 6)");
  await background("rgb(4, 5, 6)");
});

test("a mistake is shown with its place, and goes when it is repaired", async () => {
  await edit("app.js", "const PAGE = 10;", "const PAGE = ;");
  const shown = page.locator(MISTAKE);
  await shown.waitFor();
  const told = await shown.textContent();
  const line = (await readFile(join(folder, "app.js"), "utf8"))
    .split("\n")
    .findIndex((text) => text === "const PAGE = ;");
  assert.ok(told.startsWith(`${join(folder, "app.js")}:${line + 1}:14: `), told);
  assert.match(told, new RegExp(`> +${line + 1} \\| const PAGE = ;\n`));
  // A page that is opened meanwhile is what was there before, and shows the mistake, too.
  const second = await context.newPage();
  await second.goto(server.url);
  await second.locator(MISTAKE).waitFor();
  assert.equal(await second.getByRole("heading").textContent(), "Guestbook");
  await second.close();
  await page.bringToFront();
  await shown.waitFor();
  await edit("app.js", "const PAGE = ;", "const PAGE = 10;");
  await shown.waitFor({ state: "detached" });
  await heading("Guestbook");
});

test("a page that is open finds the server again after it was killed", async () => {
  await edit("pages.js", 'layout("Guestbook"', 'layout("First"');
  await heading("First");
  await server.killAndRestart();
  await edit("pages.js", 'layout("First"', 'layout("Second"');
  await heading("Second");
  await edit("pages.js", 'layout("Second"', "layout((");
  await page.locator(MISTAKE).waitFor();
});

test("a page of public/ shows its own edits, and loads again only for them", async () => {
  const rules = await context.newPage();
  await rules.goto(new URL("/rules.html", server.url).href);
  await page.close();
  const words = "still ".repeat(500);
  await writeFile(join(folder, "public", "rules.html"), `<!doctype html><p id="rule">${words}`);
  const rule = rules.locator("#rule");
  await rule.filter({ hasText: /^still/ }).waitFor();
  await edit("public/rules.html", "still", "edited");
  await rule.filter({ hasText: /^edited/ }).waitFor();
  // An edit of something else is seen, too, and then the page rests.
  const loads = [];
  rules.on("load", () => loads.push(rules.url()));
  const again = rules.waitForEvent("load");
  await edit("pages.js", 'layout("Guestbook"', 'layout("Else"');
  await again;
  await edit("app.js", "const PAGE = 10;", "const PAGE = ;");
  await rules.locator(MISTAKE).waitFor();
  assert.equal(loads.length, 1);
});
