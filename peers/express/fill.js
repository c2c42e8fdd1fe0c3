// Makes the tables in an empty database, and fills them. usage: node fill.js SOCKET_FOLDER
import pg from "pg";

const schema = `
  CREATE TABLE session (
    sid varchar PRIMARY KEY, sess json NOT NULL, expire timestamp(6) NOT NULL
  );
  CREATE INDEX ON session (expire);
  CREATE TABLE notes (
    key text PRIMARY KEY, title text NOT NULL, body text NOT NULL, stars int NOT NULL
  );
  CREATE TABLE stock (key text PRIMARY KEY, left_over int NOT NULL) WITH (fillfactor = 50);
  CREATE TABLE orders (
    id bigserial PRIMARY KEY, item text NOT NULL, quantity int NOT NULL, note text NOT NULL
  );
  CREATE TABLE journal (
    id bigserial PRIMARY KEY, order_id bigint NOT NULL, left_over int NOT NULL
  );
  CREATE TABLE accounts (key text PRIMARY KEY, balance int NOT NULL) WITH (fillfactor = 50);
  CREATE TABLE transfers (
    id bigserial PRIMARY KEY, source text NOT NULL, target text NOT NULL, amount int NOT NULL
  );
`;

const NUMBERS = "FROM generate_series(0, 9999) AS n";
const NOTES = "n::text, 'Note ' || n, repeat('What <b> & \"c\" say. ', 10), n % 7";

const client = new pg.Client({ host: process.argv[2], user: "postgres", database: "postgres" });
await client.connect();
await client.query(schema);
await client.query(`INSERT INTO notes SELECT ${NOTES} ${NUMBERS}`);
await client.query(`INSERT INTO stock SELECT n::text, 100000000 ${NUMBERS}`);
await client.query(`INSERT INTO accounts SELECT n::text, 100000000 ${NUMBERS}`);
await client.query("VACUUM ANALYZE");
await client.end();
