// A value that is computed from documents and kept in the cache.
import { App } from "sarsen";

const app = new App();

app.put("/scores/:n", ({ cache, db, params }) => {
  db.scores.put("last", { n: Number(params.n) });
  cache.set("last", Number(params.n));
  cache.delete("board");
  return "";
});

app.get("/last", ({ cache }) => [cache.get("last") ?? -1]);

app.get("/board", async ({ cache, db }) => {
  const board = await cache.fetch("board", "1m", () => db.scores.get("last").n);
  return [board];
});

app.get("/theirs", ({ cache }) => [cache.incr("visits") ?? 0, cache.getText("greeting") ?? ""]);

export default app;
