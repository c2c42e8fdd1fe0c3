// The crash test's application: a commit that writes two documents and a tally, so that half of a
// commit would show.
import { App } from "sarsen";

const app = new App();

app.post("/pairs/:writer/:number", ({ db, params }) => {
  const number = Number(params.number);
  db.left.put(params.writer, { number });
  db.right.put(params.writer, { number });
  db.tally.add("pairs", 1);
});

export default app;
