// Tasks of which each is to take effect once, however often the server dies: what a run changes by
// reading and writing would be there twice if a run that had committed came again.
import { App } from "sarsen";

const app = new App();

app.task("send", { attempts: 100, backoff: "1ms" }, ({ db, task, payload, attempt }) => {
  const mail = db.mails.get(payload.mail) ?? { sent: 0 };
  db.mails.put(payload.mail, { sent: mail.sent + 1 });
  db.counts.add("runs", 1);
  // Every third fails once, after its changes: these must not stay.
  if (Number(payload.mail) % 3 === 0 && attempt === 1) throw new Error("it fails once");
  task("note", { mail: payload.mail });
});

app.task("note", { backoff: "1ms" }, ({ db, payload }) => {
  db.notes.insert(payload.mail, true);
});

app.post("/mails/:mail", ({ params, task }) => {
  task("send", { mail: params.mail });
});

app.get("/sent", ({ db }) => ({
  runs: db.counts.peek("runs") ?? 0,
  once: db.mails.query`sent = 1`.count(),
  mails: db.mails.count(),
  notes: db.notes.count(),
}));

export default app;
