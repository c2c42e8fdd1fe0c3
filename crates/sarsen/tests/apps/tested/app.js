// Answers what the tests of `sarsen test` need to see.
import { App, reply } from "sarsen";

const app = new App();
app.get("/notes/:id", ({ db, params }) => db.notes.get(params.id));
app.post("/notes/:id", ({ db, params, request }) => {
  db.notes.put(params.id, request.json());
});
app.post("/echo", ({ request }) =>
  reply({ body: request.text(), type: request.header("content-type") }));
app.get("/who", ({ request }) => request.header("cookie") ?? "nobody");
app.get("/name/:name", ({ params }) =>
  reply({ status: 303, headers: { location: "/who", "set-cookie": `name=${params.name}` } }));
app.get("/time", ({ time }) => ({ time }));
app.task("mark", ({ db, payload }) => {
  db.marks.add(payload, 1);
});
app.cron("0 * * * *", "tick", ({ db }) => {
  db.marks.add("ticks", 1);
});
app.post("/mark/:key", ({ task, params, query }) => {
  task("mark", params.key, { delay: query.delay ?? 0 });
});
app.service("holds", {
  onExpire: ({ db, key, doc, task }) => {
    db.marks.add("asked", 1);
    if (doc.fails && db.marks.get("repaired") === undefined) throw new Error("not yet");
    db.marks.add("ended", 1);
    task("mark", "told");
  },
});
app.get("/fails", () => {
  console.log("on the way to the mistake");
  throw new Error("a mistake");
});
export default app;
