// An application with a mistake in line 4, for the test of the message.
import { App } from "sarsen";
const app = new App();
app.get("/", ( => "never");
export default app;
