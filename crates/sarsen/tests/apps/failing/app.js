// Fails in every way that a request can.
import { App, html, reply } from "sarsen";

const app = new App();

function read(note) {
  return note.title.length;
}

app.get("/missing/:id", ({ db, params }) => read(db.notes.get(params.id)));
app.post("/writes", ({ db }) => {
  db.notes.put("a", { title: "never" });
  throw new Error("after a write", { cause: new RangeError("</code><script>") });
});
app.get("/spins", () => {
  for (;;);
});
app.get("/large", () => "x".repeat(17 << 20));
app.get("/deep", () => {
  const down = (n) => down(n + 1) + 1;
  return String(down(0));
});
app.get("/wrong", () => reply({ status: 999 }));
app.get("/fine", () => html`<p>fine</p>`);

export default app;
