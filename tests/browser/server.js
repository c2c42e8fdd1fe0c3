// The real server with an application, on a folder and a port of its own; it can be killed and
// started again. The binary is $SARSEN.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export class Server {
  // Starts the application in the folder `application`. `flags` are more of `sarsen serve`.
  static async start(application, ...flags) {
    const server = new Server();
    server.application = application;
    server.flags = flags;
    server.folder = await mkdtemp(join(tmpdir(), "sarsen-browser-"));
    await server.#start("127.0.0.1:0");
    return server;
  }

  async #start(address) {
    const data = join(this.folder, "data");
    const line = ["serve", this.application, "--data", data, "--listen", address, ...this.flags];
    const stdio = ["ignore", "pipe", "inherit"];
    this.process = spawn(process.env.SARSEN, [...line, "--log", "error"], { stdio });
    for await (const said of createInterface({ input: this.process.stdout })) {
      if (said.startsWith("tls")) this.tls = said.split(/\s+/).at(-1);
      if (!said.startsWith("url")) continue;
      this.url = said.slice("url".length).trim();
      this.process.stdout.resume();
      return;
    }
    throw new Error(`${process.env.SARSEN} ${line.join(" ")} ended before it served`);
  }

  // Ends it as a loss of power of the process would, and starts it again where it was.
  async killAndRestart() {
    await this.#end("SIGKILL");
    await this.#start(new URL(this.url).host);
  }

  async stop() {
    await this.#end("SIGTERM");
    await rm(this.folder, { recursive: true });
  }

  async #end(signal) {
    const ended = once(this.process, "exit");
    this.process.kill(signal);
    await ended;
  }
}
