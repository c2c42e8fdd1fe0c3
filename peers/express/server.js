// The five pages of apps/pages on Express, with sessions and data in PostgreSQL.
// usage: node server.js SOCKET_FOLDER PORT WORKERS
import cluster from "node:cluster";
import express from "express";
import session from "express-session";
import connectPg from "connect-pg-simple";
import pg from "pg";
import { counter, hello, notes, ordered, transferred } from "./pages.js";

const [socket, port, workers] = process.argv.slice(2);
const CONNECTIONS = 20;
const SESSION_MS = 30 * 60 * 1000;

const pool = new pg.Pool({
  host: socket,
  user: "postgres",
  database: "postgres",
  max: Math.ceil(CONNECTIONS / Number(workers)),
});

// One transaction on one connection. A deadlock or a serialization failure runs it again.
async function transaction(body) {
  const client = await pool.connect();
  try {
    for (let tries = 1; ; tries++) {
      try {
        await client.query("BEGIN");
        const result = await body(client);
        await client.query("COMMIT");
        return result;
      } catch (error) {
        await client.query("ROLLBACK");
        if (!["40001", "40P01"].includes(error.code) || tries === 10) throw error;
      }
    }
  } finally {
    client.release();
  }
}

// A named statement is parsed and planned once on each connection.
const named = (name, text) => (values) => ({ name, text, values });
const NOTES = named(
  "notes",
  "SELECT key, title, body, stars FROM notes WHERE key >= $1 ORDER BY key LIMIT 20",
);
const TAKE = named(
  "take",
  `UPDATE stock SET left_over = left_over - $2 WHERE key = $1 AND left_over >= $2
   RETURNING left_over`,
);
const ORDER = named(
  "order",
  "INSERT INTO orders (item, quantity, note) VALUES ($1, $2, $3) RETURNING id",
);
const LOG = named("log", "INSERT INTO journal (order_id, left_over) VALUES ($1, $2)");
const LOCK = named(
  "lock",
  "SELECT key, balance FROM accounts WHERE key IN ($1, $2) ORDER BY key FOR UPDATE",
);
const BALANCE = named(
  "balance",
  "UPDATE accounts SET balance = balance + $2 WHERE key = $1",
);
const MOVED = named(
  "moved",
  "INSERT INTO transfers (source, target, amount) VALUES ($1, $2, $3)",
);

function application() {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.use(express.urlencoded({ extended: false }));
  const Store = connectPg(session);
  const sessions = session({
    store: new Store({ pool, tableName: "session", pruneSessionInterval: 15 * 60 }),
    secret: "only for measuring",
    resave: false,
    saveUninitialized: false,
    cookie: { maxAge: SESSION_MS, sameSite: "lax" },
  });

  app.get("/hello", (request, response) => {
    response.type("html").send(hello());
  });

  app.get("/counter", sessions, (request, response) => {
    request.session.count = (request.session.count ?? 0) + 1;
    response.type("html").send(counter(request.session.count));
  });

  app.get("/notes", async (request, response) => {
    const { rows } = await pool.query(NOTES([request.query.from ?? ""]));
    response.type("html").send(notes(rows));
  });

  app.post("/orders", async (request, response) => {
    const { item, quantity, note } = request.body;
    const count = Number(quantity);
    if (!Number.isInteger(count) || count < 1) return response.status(400).send("quantity");
    const id = await transaction(async (client) => {
      const { rows } = await client.query(TAKE([item, count]));
      if (rows.length === 0) return undefined;
      const order = await client.query(ORDER([item, count, note]));
      await client.query(LOG([order.rows[0].id, rows[0].left_over]));
      return order.rows[0].id;
    });
    if (id === undefined) return response.status(409).send("sold out");
    response.status(201).location(`/orders/${id}`).type("html").send(ordered(item, count));
  });

  app.post("/transfer", async (request, response) => {
    const { from, to, amount: given } = request.body;
    const amount = Number(given);
    if (!Number.isInteger(amount) || amount < 1 || from === to) {
      return response.status(400).send("amount");
    }
    const left = await transaction(async (client) => {
      const { rows } = await client.query(LOCK([from, to]));
      const source = rows.find((row) => row.key === from);
      if (rows.length !== 2 || source.balance < amount) return undefined;
      await client.query(BALANCE([from, -amount]));
      await client.query(BALANCE([to, amount]));
      await client.query(MOVED([from, to, amount]));
      return source.balance - amount;
    });
    if (left === undefined) return response.status(409).send("overdraft");
    response.type("html").send(transferred(from, to, amount, left));
  });

  app.get("/sum", async (request, response) => {
    const { rows } = await pool.query("SELECT sum(balance)::int AS sum FROM accounts");
    response.json(rows[0].sum);
  });
  return app;
}

if (cluster.isPrimary) {
  let ready = 0;
  for (let i = 0; i < Number(workers); i++) {
    cluster.fork().on("message", () => {
      ready += 1;
      if (ready === Number(workers)) console.log(`url http://127.0.0.1:${port}/`);
    });
  }
  process.on("SIGTERM", () => {
    for (const worker of Object.values(cluster.workers)) worker.kill("SIGKILL");
    process.exit(0);
  });
} else {
  application().listen(Number(port), "127.0.0.1", 511, () => process.send("ready"));
}
