// Orders that expire soon: each is to be seen once, however often the server dies.
import { App } from "sarsen";

const app = new App();

app.service("orders", {
  onExpire: ({ db, key }) => {
    db.seen.insert(key, true);
    db.counts.add("seen", 1);
  },
});

app.post("/orders/:key", ({ db, params }) => {
  db.orders.put(params.key, {}, { expiresIn: 100 });
});

app.get("/seen", ({ db }) => ({ count: db.counts.peek("seen") ?? 0, keys: db.seen.count() }));

export default app;
