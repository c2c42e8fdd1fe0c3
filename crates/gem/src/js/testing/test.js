// The module "sarsen:test", which an application's own tests import; `sarsen test` runs them.
export { client, request } from "sarsen:testing/client";
export { assert, expect } from "sarsen:testing/expect";
export { clock, db, transaction } from "sarsen:testing/stage";
export { test } from "sarsen:testing/tests";
