// `sarsen test apps/bank`: money moves, whole, and is neither made nor lost.
import { client, db, expect, test, transaction } from "sarsen:test";

const NAMES = ["ada", "bob", "cyd", "dan"];

// Accounts with 100.00 each.
function open() {
  transaction(({ db }) => {
    for (const name of NAMES) db.accounts.put(name, { cents: 10_000 });
  });
}

const balance = (name) => db.accounts.get(name).cents;
const sum = () => NAMES.reduce((sum, name) => sum + balance(name), 0);

const transfer = (from, to, amount) => client().post("/transfers", { form: { from, to, amount } });

test("an account is opened once", async () => {
  const visitor = client();
  const page = await visitor.post("/accounts", { form: { name: "ada", amount: "12.50" } });
  expect(page.text()).toContain("The account of ada is open.");
  expect(db.accounts.get("ada")).toEqual({ cents: 1250 });
  const again = await visitor.post("/accounts", { form: { name: "ada", amount: "99" } });
  expect(again.status).toBe(409);
  expect(balance("ada")).toBe(1250);
});

test("a transfer takes from one and gives to the other, in the history of both", async () => {
  open();
  const page = await transfer("ada", "bob", "12.50");
  expect(page.text()).toContain('id="sum">400.00');
  expect([balance("ada"), balance("bob")]).toEqual([8750, 11_250]);
  const [ada, bob] = [await client().get("/accounts/ada"), await client().get("/accounts/bob")];
  expect(ada.text()).toMatch(/to bob\s*<td class="amount">-12\.50/);
  expect(bob.text()).toMatch(/from ada\s*<td class="amount">12\.50/);
});

test("nobody spends more than there is", async () => {
  open();
  const refused = await transfer("ada", "bob", "100.01");
  expect(refused.status).toBe(422);
  expect(refused.text()).toContain("ada has 100.00, which is less than 100.01");
  expect(db.transfers.count()).toBe(0);
  expect((await transfer("ada", "bob", "100.00")).status).toBe(200);
  expect([balance("ada"), balance("bob")]).toEqual([0, 20_000]);
});

test("amounts and names that are none are refused and change nothing", async () => {
  open();
  const amounts = ["", " ", "-1", "0", "0.00", "1e3", "1.5", "0x10", "1,50", "9".repeat(10)];
  for (const amount of amounts) {
    expect((await transfer("ada", "bob", amount)).status).toBe(422);
  }
  for (const pair of ["ada ada", "ada eve", "eve ada", "ada ", "ada ../bob"]) {
    expect((await transfer(...pair.split(" "), "1")).status).toBe(422);
  }
  expect(NAMES.map(balance)).toEqual([10_000, 10_000, 10_000, 10_000]);
});

test("the sum stays the same whatever is transferred", async () => {
  open();
  for (let i = 0; i < 40; i++) {
    const [from, to] = [NAMES[i % 4], NAMES[(i * 7 + 1) % 4]];
    const { status } = await transfer(from, to, String((i * 37) % 90));
    expect([200, 422]).toContain(status);
    expect(sum()).toBe(40_000);
  }
});
