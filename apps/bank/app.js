// A small bank: transfers between accounts. The invariant, that no money is made or lost, needs no
// code of its own: a transfer is one transaction, so it happens whole or not at all, and of two
// that would spend the same money the second sees what the first has left.
import { App, HttpError, html, redirect } from "sarsen";

const app = new App();

// Amounts are whole cents: no sum of them is ever rounded.
const AMOUNT = /^(\d{1,9})(?:\.(\d\d))?$/;
const NAME = /^[a-z]{1,20}$/;

app.get("/", ({ db, flashes }) => {
  const accounts = db.accounts.range().toArray();
  const sum = accounts.reduce((sum, [, { cents }]) => sum + cents, 0);
  return page("Accounts", flashes(), html`
    <table>
      ${accounts.map(([name, { cents }]) => html`<tr>
        <td><a href="/accounts/${name}">${name}</a><td class="amount">${shown(cents)}`)}
      <tr><th>all<th class="amount" id="sum">${shown(sum)}
    </table>
    <form method="post" action="/transfers">
      <input name="from" aria-label="from" placeholder="from" required>
      <input name="to" aria-label="to" placeholder="to" required>
      <input name="amount" aria-label="amount" placeholder="12.50" required>
      <button>Transfer</button>
    </form>
    <form method="post" action="/accounts">
      <input name="name" aria-label="name" placeholder="name" required>
      <input name="amount" aria-label="amount" placeholder="100.00" required>
      <button>Open an account</button>
    </form>`);
});

app.get("/accounts/:name", ({ db, params }) => {
  const account = db.accounts.get(params.name);
  if (account === undefined) throw new HttpError(404, "no such account");
  const history = db.transfers.query`from = ${params.name} OR to = ${params.name}`
    .order("@created desc")
    .limit(50);
  return page(params.name, [], html`
    <p>Balance: <b>${shown(account.cents)}</b></p>
    <table>${history.map(([, { from, to, cents }]) => html`<tr>
      <td>${from === params.name ? `to ${to}` : `from ${from}`}
      <td class="amount">${from === params.name ? "-" : ""}${shown(cents)}`)}</table>
    <p><a href="/">All accounts</a></p>`);
});

app.post("/accounts", ({ db, request, flash }) => {
  const { name, amount } = fields(request);
  if (!NAME.test(name)) throw new HttpError(422, "a name has 1 to 20 letters from a to z");
  if (db.accounts.has(name)) throw new HttpError(409, `${name} has an account already`);
  db.accounts.insert(name, { cents: cents(amount) });
  flash(`The account of ${name} is open.`);
  return redirect("/");
});

app.post("/transfers", ({ db, request, flash }) => {
  const { from, to, amount } = fields(request);
  transfer(db, from, to, cents(amount));
  flash(`${amount} went from ${from} to ${to}.`);
  return redirect("/");
});

function transfer(db, from, to, amount) {
  if (from === to) throw new HttpError(422, "a transfer is between two accounts");
  if (amount === 0) throw new HttpError(422, "a transfer moves at least 0.01");
  const payer = account(db, from);
  const payee = account(db, to);
  if (payer.cents < amount) {
    const has = `${from} has ${shown(payer.cents)}`;
    throw new HttpError(422, `${has}, which is less than ${shown(amount)}`);
  }
  payer.cents -= amount;
  payee.cents += amount;
  db.transfers.insert({ from, to, cents: amount });
}

function account(db, name) {
  const found = NAME.test(name) ? db.accounts.get(name) : undefined;
  if (found === undefined) throw new HttpError(422, "there is no account of that name");
  return found;
}

// The fields of the form as texts; one that is not there is an empty one.
function fields(request) {
  const form = request.form();
  const text = (name) => (typeof form[name] === "string" ? form[name].trim() : "");
  return { name: text("name"), from: text("from"), to: text("to"), amount: text("amount") };
}

// "12.50" in cents.
function cents(amount) {
  const found = AMOUNT.exec(amount);
  if (found === null) throw new HttpError(422, "an amount is written like 12 or 12.50");
  return Number(found[1]) * 100 + Number(found[2] ?? 0);
}

function shown(cents) {
  return `${Math.trunc(cents / 100)}.${String(cents % 100).padStart(2, "0")}`;
}

const page = (title, messages, body) => html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="stylesheet" href="/style.css">
<h1>${title}</h1>
${messages.map(({ message }) => html`<p role="status">${message}</p>`)}
${body}
</html>
`;

export default app;
