// One document that everybody reads and writes.
import { App } from "sarsen";

const app = new App();

app.post("/hit", ({ db }) => {
  const tally = db.tallies.get("one") ?? { hits: 0 };
  db.tallies.put("one", { hits: tally.hits + 1 });
  return "hit";
});
app.get("/hits", ({ db }) => db.tallies.get("one") ?? { hits: 0 });

export default app;
