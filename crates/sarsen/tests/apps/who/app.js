// Answers with what the application is told of its client.
import { App } from "sarsen";

const app = new App();
const NAMES = ["x-forwarded-for", "x-forwarded-proto", "host"];

app.get("/who", ({ request }) => NAMES.map((name) => request.header(name) ?? "-").join(" "));
app.get("/session", ({ session }) => {
  session.visits = 1;
  return "ok";
});

export default app;
