// The application object: it collects routes while the application's modules load. Matching a
// request against them is not done here: the engine takes the list once and compiles it.
import { native } from "sarsen:native";

// Gives the engine the routes of an application and closes the list.
export let take;

export class App {
  #routes = [];
  #taken = false;

  static {
    take = (app) => {
      if (typeof app !== "object" || app === null || !(#routes in app)) return undefined;
      app.#taken = true;
      return app.#routes;
    };
  }

  // Answers GET and HEAD on `pattern`: literal segments, `:name`, and `*` as the last segment.
  get(pattern, handler) {
    return this.#add("GET", pattern, handler);
  }

  // Answers POST on `pattern`.
  post(pattern, handler) {
    return this.#add("POST", pattern, handler);
  }

  #add(method, pattern, handler) {
    const call = `app.${method.toLowerCase()}`;
    if (this.#taken) {
      throw new Error(`${call}: routes are registered while the application loads, not later`);
    }
    if (typeof pattern !== "string") {
      throw new TypeError(`${call}: expected a path such as "/notes/:id", got ${typeof pattern}`);
    }
    if (typeof handler !== "function") {
      throw new TypeError(`${call}("${pattern}"): expected a function, got ${typeof handler}`);
    }
    native.checkPattern(pattern);
    this.#routes.push({ method, pattern, handler });
    return this;
  }
}
