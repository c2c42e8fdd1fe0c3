// The counter over TLS, by Sarsen's own port: the session's cookie is one that only this host can
// set, and only over TLS (`__Host-`, RFC 6265bis §4.1.3.2), as Chromium takes it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch } from "./chromium.js";
import { Server } from "./server.js";

const COOKIE = "__Host-sarsen_session";

let browser;
let folder;
let server;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "sarsen-tls-"));
  const [certificate, key] = ["crt", "key"].map((kind) => join(folder, `server.${kind}`));
  execFileSync("openssl", [
    ..."req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2".split(" "),
    ..."-subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1".split(" "),
    ...["-keyout", key, "-out", certificate],
  ], { stdio: "ignore" });
  browser = await launch();
  server = await Server.start(
    new URL("../../apps/counter", import.meta.url).pathname,
    ...["--tls-cert", certificate, "--tls-key", key, "--tls-listen", "127.0.0.1:0"],
  );
});

after(async () => {
  await browser?.close();
  await server?.stop();
  await rm(folder, { recursive: true });
});

const count = (page) => page.locator("output").textContent();
const more = (page) => page.getByRole("button", { name: "one more" }).click();

test("over TLS the session's cookie is this host's alone", async () => {
  // Nobody has signed the certificate but itself.
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  await page.goto(server.tls);
  await more(page);
  await more(page);
  assert.equal(await count(page), "2");
  const [cookie, ...others] = await context.cookies();
  assert.deepEqual(others, []);
  const { name, domain, path, secure, httpOnly, sameSite } = cookie;
  assert.deepEqual(
    { name, domain, path, secure, httpOnly, sameSite },
    { name: COOKIE, domain: "127.0.0.1", path: "/", secure: true, httpOnly: true, sameSite: "Lax" },
  );
  assert.equal(await page.evaluate(() => document.cookie), "", "no script sees it");

  // Without TLS the same host is another visitor's, and cannot plant the cookie.
  const plain = await context.newPage();
  await plain.goto(server.url);
  assert.equal(await count(plain), "0");
  await plain.evaluate((name) => {
    document.cookie = `${name}=AAAAAAAAAAAAAAAAAAAAAA; Path=/`;
    document.cookie = `${name}=AAAAAAAAAAAAAAAAAAAAAA; Path=/; Secure`;
  }, COOKIE);
  const named = (await context.cookies()).filter((one) => one.name === COOKIE);
  assert.deepEqual(named.map((one) => one.value), [cookie.value]);
  await page.reload();
  assert.equal(await count(page), "2");

  await server.killAndRestart();
  await page.goto(server.tls);
  await more(page);
  assert.equal(await count(page), "3", "the session is where it was");
  await context.close();
});
