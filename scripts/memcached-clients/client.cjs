// What an application does with a cache, by the Node client `memcached`: memcached-clients.sh starts
// the server.
"use strict";

const assert = require("node:assert");
const { promisify } = require("node:util");
const Memcached = require("memcached");

const client = new Memcached(`127.0.0.1:${process.argv[2]}`, { timeout: 60000, poolSize: 4 });
const call = (name, ...values) => promisify(client[name]).apply(client, values);

async function main() {
  await call("flush");
  assert.strictEqual(await call("get", "none"), undefined);
  assert.strictEqual(await call("set", "text", "word", 0), true);
  assert.strictEqual(await call("get", "text"), "word");
  const object = { list: [1, 2, 3], name: "Zoë" };
  await call("set", "object", object, 100);
  assert.deepStrictEqual(await call("get", "object"), object);
  const bytes = Buffer.from([0, 13, 10, 255]);
  await call("set", "bytes", bytes, 100);
  assert.deepStrictEqual(await call("get", "bytes"), bytes);
  await assert.rejects(call("add", "text", "other", 0));
  await call("replace", "text", "other", 0);
  await call("append", "text", "!");
  await call("prepend", "text", "an");
  assert.strictEqual(await call("get", "text"), "another!");
  const many = await call("getMulti", ["text", "bytes", "none"]);
  assert.deepStrictEqual(Object.keys(many).sort(), ["bytes", "text"]);
  const { cas } = await call("gets", "text");
  assert.strictEqual(await call("cas", "text", "first", cas, 0), true);
  assert.strictEqual(await call("cas", "text", "second", cas, 0), false);
  await call("set", "number", 10, 0);
  assert.strictEqual(await call("incr", "number", 5), 15);
  assert.strictEqual(await call("decr", "number", 20), 0);
  assert.strictEqual(await call("incr", "none", 1), false);
  assert.strictEqual(await call("touch", "number", 100), true);
  assert.strictEqual(await call("del", "number"), true);
  assert.strictEqual(await call("del", "number"), false);
  const large = "x".repeat(1000000);
  await call("set", "large", large, 0);
  assert.strictEqual(await call("get", "large"), large);
  // Many at once, on all of its connections.
  const numbers = [...Array(2000).keys()];
  await Promise.all(numbers.map((i) => call("set", `k${i}`, `v${i}`, 0)));
  const got = await Promise.all(numbers.map((i) => call("get", `k${i}`)));
  assert.deepStrictEqual(got, numbers.map((i) => `v${i}`));
  const [version] = await call("version");
  assert.match(version.version, /^1\.6\./);
  const [stats] = await call("stats");
  assert.ok(stats.curr_items > 2000);
  await call("settings");
  // Each class has figures; beside them are memcached's two figures of all.
  const [slabs] = await call("slabs");
  assert.ok(slabs[1].used_chunks > 2000, JSON.stringify(slabs));
  const names = Object.keys(slabs).filter((name) => !/^\d+$/.test(name)).sort();
  assert.deepStrictEqual(names, ["active_slabs", "server", "total_malloced"]);
  const [items] = await call("items");
  assert.ok(items[1].number > 2000, JSON.stringify(items));
  client.end();
  console.log("memcached of Node: content");
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
