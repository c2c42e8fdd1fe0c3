// Tasks that fail as long as they are told to, for the tests of `sarsen tasks`.
import { App } from "sarsen";

const app = new App();

app.task("job", { attempts: 1 }, ({ db, payload }) => {
  if (db.switches.get("on") === undefined) throw new Error(`it is off for ${payload}`);
  db.done.put(payload, true);
});

app.cron("0 0 29 2 *", "leap", () => {});

app.post("/jobs/:name", ({ params, task }) => task("job", params.name));

app.post("/later/:name", ({ params, task }) =>
  task("job", params.name, { delay: "1h", key: params.name }));

export default app;
