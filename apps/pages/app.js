// Five pages that most applications have, written to be measured: a fixed page, a counter in the
// session, a list of 20, a form that writes three documents, and a transfer. peers/express has the
// same ones on another stack, with the same bytes.
import { App, html, reply } from "sarsen";

const app = new App();

app.get("/hello", () => page("Hello", html`<p>Hello, world</p>`));

app.get("/counter", ({ session }) => {
  session.count = (session.count ?? 0) + 1;
  return page("Counter", html`<output>${session.count}</output>`);
});

app.get("/notes", ({ db, query }) => {
  const notes = db.notes.range({ from: query.from ?? "", limit: 20 });
  return page("Notes", html`<ul>${[...notes].map(note)}</ul>`);
});

const note = ([key, { title, body, stars }]) =>
  html`<li id="${key}"><h2>${title}</h2><p>${body}</p><b>${stars}</b></li>`;

// Takes from stock, keeps the order, and writes down what was left: all of it or nothing.
app.post("/orders", ({ db, request }) => {
  const { item, quantity, note } = request.form();
  const count = Number(quantity);
  if (!Number.isInteger(count) || count < 1) return refused(400, "quantity");
  const stock = db.stock.get(item);
  if (stock === undefined || stock.left < count) return refused(409, "sold out");
  stock.left -= count;
  const order = db.orders.insert({ item, quantity: count, note });
  db.journal.insert({ order, left: stock.left });
  const body = page("Thank you", html`<p>${count} of ${item} are on their way</p>`);
  return reply({ status: 201, headers: { location: `/orders/${order}` }, body });
});

// Whatever happens at the same time, no money is made or lost.
app.post("/transfer", ({ db, request }) => {
  const { from, to, amount: given } = request.form();
  const amount = Number(given);
  if (!Number.isInteger(amount) || amount < 1 || from === to) return refused(400, "amount");
  const source = db.accounts.get(from);
  const target = db.accounts.get(to);
  if (!source || !target || source.balance < amount) return refused(409, "overdraft");
  source.balance -= amount;
  target.balance += amount;
  db.transfers.insert({ from, to, amount });
  return page("Done", html`<p>${amount} from ${from}, which has ${source.balance}, to ${to}</p>`);
});

// What is there before anything is measured, a thousand of each at a time.
app.post("/fill", ({ db, query }) => {
  const first = Number(query.first);
  for (let n = first; n < first + 1000; n++) {
    const body = 'What <b> & "c" say. '.repeat(10);
    db.notes.put(String(n), { title: `Note ${n}`, body, stars: n % 7 });
    db.stock.put(String(n), { left: 100000000 });
    db.accounts.put(String(n), { balance: 100000000 });
  }
});

const refused = (status, why) => reply({ status, body: why });

const page = (title, body) => html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${title}</title>
<h1>${title}</h1>
${body}
</html>
`;

export default app;
